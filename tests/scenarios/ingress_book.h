// Watches over ports of Ingresses while people write what they like: from the objects of the API
// server and the state of the provider alone.
//
// An Ingress that is called Ready leads where its Services do, at each of its ports and nowhere
// else; one that wants something new, or that somebody laid hands on, on itself or on its
// Listeners, has some time in which that is put in order. Ports of guarded ones, which nobody may
// touch, lead there throughout.
//
// Not thread-safe; the world and the TrustBook outlive it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/ingress.h"
#include "trust_book.h"

namespace berth::scenario {

// The status of an Ingress is of what it wanted before, until grants, Listeners and calls have
// followed one after the other, each by another leader perhaps. Its owner knows what he has just
// written.
inline constexpr Duration kNewWants = std::chrono::minutes{5};

// A Service of the calm: all Ingresses lead to its Pods, which never change.
inline const std::string kCalmService = "quiet";

// A port that an Ingress shall have, and whom it leads to: "10.0.0.1:8000".
struct IngressPort {
  Place place{};
  std::string part{};  // of its grant
  std::set<std::string> targets{};

  friend bool operator==(const IngressPort&, const IngressPort&) = default;
};
std::vector<IngressPort> ports_wanted(world::World& world, const api::Ingress& ingress);
// All that there are; none where the kind is not served.
std::vector<api::Ingress> ingresses_in(world::World& world);
std::set<std::string> targets_at(world::World& world, const Place& place);

class IngressBook {
 public:
  IngressBook(world::World& world, const TrustBook& trust) : world_(world), trust_(trust) {}

  // Those of this namespace are as they shall be, and stay so.
  void guard(const std::string& ns);
  // What they lead to goes: from now on it says nothing.
  void close() { closed_ = true; }

  void see_change(const sim::lb::Change& change);
  // Once in a while.
  void check_all();

 private:
  // What one was seen to want, since when.
  struct Wants {
    std::vector<IngressPort> ports{};
    Instant since{};
  };

  bool is_new(const api::Ingress& ingress, const std::vector<IngressPort>& ports);
  bool is_touched(const api::Ingress& ingress) const;

  world::World& world_;
  const TrustBook& trust_;
  std::map<Place, std::set<std::string>> guarded_;
  std::map<std::string, Wants> wants_;  // by uid
  bool closed_ = false;
};

}  // namespace berth::scenario
