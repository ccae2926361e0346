// What people do at the load balancers themselves, past the API server: in a console, or with
// another tool. An audit finds it.
#include <boost/json.hpp>

#include "hand_moves.h"

namespace berth::scenario {
namespace {

struct CloudListener {
  Place place{};
  lb::ObservedListener listener{};
};

// Of pool and Ingress in the namespace that nobody touches, whatever their Listeners are at this
// moment.
bool is_calm(model::Port port) {
  return (port >= 32000 && port < 32002) || (port >= 35000 && port < 35002) ||
         (port >= 42000 && port < 42002);
}

// One that is not of those whom nobody touches. The port may lead anywhere until an audit.
std::optional<CloudListener> take_one(Hand& hand) {
  sim::lb::ModelProvider& provider = hand.world().provider();
  std::vector<CloudListener> all;
  for (const model::LoadBalancerRef& lb : provider.load_balancers()) {
    for (lb::ObservedListener& one : provider.listeners(lb)) {
      const Place place = place_of(lb, one);
      if (!is_calm(place.port) && !hand.trust().foreign().contains(one.id))
        all.push_back({place, std::move(one)});
    }
  }
  if (all.empty()) return std::nullopt;
  CloudListener taken = all[hand.dice().below(all.size())];
  hand.say(fmt::format("  {} at the provider", shown(taken.place)));
  hand.trust().note_place(taken.place, kAudited);
  return taken;
}

std::string address_of_somebody(Hand& hand) {
  const wire::Value pod = hand.any_in(hand.any_namespace(), "pods");
  const std::string ip(pod.is_null() ? "" : wire::string_at(pod, "/status/podIP"));
  return ip.empty() ? "192.0.2.67" : ip;
}

void make_foreign(Hand& hand, const Place& place, model::PortRange ports) {
  std::vector<model::WeightedTarget> targets;
  if (hand.chance(0.5)) targets = {{.target = {address_of_somebody(hand), 8000}}};
  const model::ListenerSpec spec =
      model::plain_listener(model::protocol_of(place.protocol), ports,
                            "by-hand-of-" + hand.person().name, std::move(targets));
  hand.trust().note_foreign(hand.world().provider().add_listener(place.lb, spec), place.lb);
}

}  // namespace

void edits_a_cloud_listener(Hand& hand) {
  const auto taken = take_one(hand);
  if (!taken) return;
  lb::TargetChange change{.rule = {taken->listener.id, {}}};
  for (const model::WeightedTarget& one : model::targets_of(taken->listener.spec))
    if (hand.chance(0.7)) change.remove.push_back(one.target);
  if (change.remove.empty() || hand.chance(0.6))
    change.add.push_back({.target = {address_of_somebody(hand), 8000}});
  (void)hand.world().provider().change_targets(taken->place.lb, {change},
                                               hand.world().kernel().now());
}

void deletes_a_cloud_listener(Hand& hand) {
  const auto taken = take_one(hand);
  if (!taken) return;
  sim::lb::ModelProvider& provider = hand.world().provider();
  provider.remove_listener(taken->place.lb, taken->listener.id);
  if (hand.chance(0.6)) return;
  // It is made again as it was, or nearly so: under another id.
  model::ListenerSpec again = taken->listener.spec;
  if (hand.chance(0.5)) again = model::without_targets(std::move(again));
  (void)provider.add_listener(taken->place.lb, again);
}

// Somebody else has the port now, with a listener of his own.
void takes_a_cloud_port(Hand& hand) {
  const auto taken = take_one(hand);
  if (!taken) return;
  hand.world().provider().remove_listener(taken->place.lb, taken->listener.id);
  make_foreign(hand, taken->place, taken->listener.spec.ports);
}

// Where no pool is, or where one may come.
void makes_a_cloud_listener(Hand& hand) {
  struct Spot {
    std::string_view lb;
    model::Port port;
  };
  constexpr std::array kSpots{Spot{"demo", 29999}, Spot{"demo", 31005}, Spot{"east", 43003},
                              Spot{"west", 44004}, Spot{"west", 45000}};
  const Spot& spot = hand.any_of(std::span<const Spot>(kSpots));
  const Place place{{.id = std::string(spot.lb)},
                    hand.chance(0.5) ? model::Transport::tcp : model::Transport::udp,
                    spot.port};
  if (hand.world().provider().find(place.lb, place.protocol, place.port)) return;
  hand.say(fmt::format("  {} at the provider", shown(place)));
  make_foreign(hand, place, {place.port, place.port});
}

}  // namespace berth::scenario
