#include "sim/world/gremlin.h"

namespace berth::world {

Gremlin::Gremlin(Cluster& cluster, GremlinOptions options)
    : cluster_(cluster),
      options_(std::move(options)),
      random_(cluster.kernel().fork_random()),
      task_(cluster.kernel().world().spawn("gremlin", [this](std::stop_token stop) {
        while (cluster_.pause(up_to(2 * options_.pause), stop)) act();
      })) {}

void Gremlin::stop() {
  task_.reset();
  cluster_.server().faults().clear();
}

Duration Gremlin::up_to(Duration most) {
  return Duration{
      static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

void Gremlin::act() {
  switch (random_.below(6)) {
    case 0: return cluster_.server().drop_watches();
    case 1: return cluster_.server().compact();
    case 2: return delay();
    case 3: return serve_stale_lists();
    default: return refuse();
  }
}

void Gremlin::refuse() {
  sim::kube::FaultTarget what = target();
  const bool write = what.verb == "create" || what.verb == "update" || what.verb == "patch";
  sim::kube::ApiError error;
  switch (random_.below(write ? 4 : 3)) {
    case 0: error = sim::kube::too_many_requests(1); break;
    case 1: error = sim::kube::internal_error("it is not your day"); break;
    case 2: error = {.code = 503, .reason = "ServiceUnavailable", .message = "later"}; break;
    default: error = sim::kube::modified_meanwhile({"", what.resource}, "some"); break;
  }
  const auto repeats = static_cast<std::uint64_t>(options_.max_repeats);
  cluster_.server().faults().refuse_next(std::move(what), std::move(error),
                                         1 + static_cast<int>(random_.below(repeats)));
}

void Gremlin::delay() {
  cluster_.server().faults().delay_next(target(), up_to(options_.max_delay));
}

void Gremlin::serve_stale_lists() {
  if (!options_.stale_lists) return;
  if (random_.chance(0.5)) return cluster_.server().faults().serve_stale_lists(std::nullopt);
  const std::uint64_t current = cluster_.server().resource_version();
  cluster_.server().faults().serve_stale_lists(current -
                                               random_.below(std::min<std::uint64_t>(current, 10)));
}

sim::kube::FaultTarget Gremlin::target() {
  return {.verb = any_of(options_.verbs),
          .resource = options_.resources.empty() ? std::string() : any_of(options_.resources)};
}

const std::string& Gremlin::any_of(const std::vector<std::string>& list) {
  return list[random_.below(list.size())];
}

}  // namespace berth::world
