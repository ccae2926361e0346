#include "app/driver_set.h"

#include <atomic>

#include "base/log.h"
#include "base/parallel.h"

namespace berth::app {

lb::Drivers DriverSet::seams() const {
  lb::Drivers out;
  for (const DriverPart& part : parts_)
    if (part.serves.empty()) out = lb::Drivers::always(part.seams);
  for (const DriverPart& part : parts_)
    for (const model::Provider provider : part.serves) out.set(provider, part.seams);
  return out;
}

DriverSet::Attached DriverSet::attach(App& app, std::optional<Duration> drain) {
  if (drain) {
    app.on_deposed([this, span = *drain](const Context& last) {
      const std::size_t left = drain_all(last.within(span));
      log_info("drained", {{"connections_left", std::to_string(left)}});
    });
  }
  Attached out;
  for (const DriverPart& part : parts_)
    if (part.measure) out.push_back(part.measure(app.registry()));
  return out;
}

void DriverSet::avoid(const OwnServers& servers) {
  for (const DriverPart& part : parts_)
    if (part.avoid) part.avoid(servers);
}

// All of them at one time: the time that is left is each one's.
std::size_t DriverSet::drain_all(const Context& context) {
  std::atomic<std::size_t> left = 0;
  (void)for_each_parallel(context, parts_.size(), parts_.size(),
                          [&](const Context& own, std::size_t i) -> Result<> {
                            if (parts_[i].drain) left += parts_[i].drain(own);
                            return {};
                          });
  return left;
}

}  // namespace berth::app
