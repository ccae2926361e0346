// Contenders: what owners of every kind want of load balancers, so that of two that want one port
// the older goes first. Who has a port is decided elsewhere, by compare-and-swap: what is missing
// here costs fairness, never a port. What is too much here holds others back, so whoever looks at a
// name takes those off that had it before.
//
// Fed by the front ends, when an owner changes and when it is looked at. Thread-safe; owned by the
// composition root.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "frontend/owner.h"
#include "frontend/wants.h"

namespace berth::frontend {

class Contenders {
 public:
  // In place of what it wanted before; nothing is wanted by one that is being deleted.
  void put(const Owner& owner, const std::vector<WantedGrant>& wanted);
  void erase(const std::string& owner_uid);
  // Those that had this name and are not the one of this uid: they are gone. `key` is a
  // `listeners_key`.
  void erase_former(std::string_view kind, const kube::ObjectKey& key, const std::string& uid);
  // Those of a kind, before they are all told anew: while somebody else led, some may have gone.
  void forget(std::string_view kind);

  // One that is older than `owner` and wants one of the same ports. Cost: the wants on that load
  // balancer.
  std::optional<Owner> older_than(const Owner& owner, const WantedGrant& wanted) const;

 private:
  struct Want {
    model::Transport transport = model::Transport::tcp;
    model::PortRange ports{};
  };
  struct Contender {
    Owner owner{};
    std::map<model::LoadBalancerRef, std::vector<Want>> wants{};
  };
  void drop(const std::string& owner_uid) REQUIRES(mu_);

  mutable Mutex mu_;
  std::map<std::string, Contender> contenders_ GUARDED_BY(mu_);  // by uid
  std::map<model::LoadBalancerRef, std::set<std::string>> by_lb_ GUARDED_BY(mu_);
  std::map<std::string, std::set<std::string>> by_name_ GUARDED_BY(mu_);  // by claims::owner_key
};

}  // namespace berth::frontend
