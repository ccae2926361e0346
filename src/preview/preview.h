// What applying an object would cause: refusals and warnings of the webhooks, Listeners that come,
// change and go, and the calls that load balancers get for it. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/ingress.h"
#include "lb/cost.h"
#include "preview/house.h"

namespace berth::preview {

// What the controller is told by its flags.
struct Options {
  model::LoadBalancerDefaults defaults{};
  api::ListenerNames names = api::ListenerNames::plain;
  WallTime now{};
};

// On one load balancer.
struct OnBalancer {
  model::LoadBalancerRef lb{};
  std::size_t created = 0;
  std::size_t changed = 0;
  std::size_t removed = 0;
  std::size_t kept = 0;  // as they are
  lb::Calls calls{};
};

struct ObjectPreview {
  std::string object{};  // "PortPool games/rooms"
  bool is_new = true;
  std::optional<Error> refused{};  // as the webhook would
  std::vector<std::string> warnings{};
  // What would not come to be although nobody refuses it: ports that another has, names that are
  // not known, rules that lead nowhere.
  std::vector<std::string> notes{};
  std::vector<OnBalancer> balancers{};
};

struct Preview {
  std::vector<ObjectPreview> objects{};
  std::vector<std::string> others{};  // that cost nothing here
  std::vector<std::string> unseen{};
  lb::Calls calls{};   // of all
  double seconds = 0;  // at the least

  bool is_refused() const;
};

// In their order: a later one sees what an earlier one would have.
Preview preview(const Documents& documents, const House& house, const Options& options);

}  // namespace berth::preview
