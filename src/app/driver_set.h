// DriverSet: the drivers of a process, and what is done around them: what they did is measured,
// they let go of what they carry when another replica leads, and nobody is led to servers of ours.
// Built once by whoever owns the drivers; the controller, the playground and the simulated world
// use the same. What a feed of health must do by itself, the App runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/app.h"

namespace berth::app {

// Where servers of this process and the API server are; URLs.
struct OwnServers {
  std::string api_server{};
  std::string webhooks{};
  std::string ops{};
  std::vector<std::string> others{};
};

// One driver with what must be done for it. Functions may be missing.
struct DriverPart {
  std::vector<model::Provider> serves{};  // none: all that no other part serves
  lb::Driver seams{};
  std::shared_ptr<void> owner{};  // of what the seams point to
  // Shows what it does while that which is returned lives.
  std::function<std::shared_ptr<void>(metrics::Registry& registry)> measure{};
  // Takes nothing new, and returns when all connections have ended or the context has: how many are
  // left.
  std::function<std::size_t(const Context& context)> drain{};
  std::function<void(const OwnServers& servers)> avoid{};
};

class DriverSet {
 public:
  DriverSet() = default;
  explicit DriverSet(std::vector<DriverPart> parts) : parts_(std::move(parts)) {}

  lb::Drivers seams() const;

  // What ends before the App does.
  using Attached = std::vector<std::shared_ptr<void>>;
  // Before the App runs; the set outlives it. `drain` is what connections have left when it is
  // deposed; none: the drivers serve another App after it.
  [[nodiscard]] Attached attach(App& app, std::optional<Duration> drain);
  // Nobody is led there. A target that is there already is left.
  void avoid(const OwnServers& servers);

 private:
  std::size_t drain_all(const Context& context);

  std::vector<DriverPart> parts_;
};

}  // namespace berth::app
