// Watches over what Berth itself writes while people write what they like: what it never does,
// whatever it finds.
//
// A claim that this version cannot read is not written over. What was never a Pod is not kept. A
// Pod whose namespace does not ask for us is never called Ready. No write of ours to a LoadBalancer
// object or a PortBlock takes a Listener out of its owner's grant, and a LoadBalancer object that
// we make has grants for all that there are; Listeners that people wrote or touched do not count.
//
// Not thread-safe; the world and the TrustBook outlive it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "claims/grant_book.h"
#include "trust_book.h"

namespace berth::scenario {

class WrittenBook {
 public:
  WrittenBook(world::World& world, const TrustBook& trust);

  // Namespaces without the label: no Pod of them passes our admission.
  void never_asks(std::string ns) { unasked_.insert(std::move(ns)); }

 private:
  void see(const net::Request& request, const world::SeenReply& reply);
  void see_claims(const net::Request& request, const world::SeenReply& reply);
  void see_claim(const std::string& before, const std::string& after);
  void see_pod(const net::Request& request, const wire::Value& pod);
  void see_balancer(const net::Request& request, const wire::Value& object);
  void see_block(const net::Request& request, const wire::Value& object);
  std::vector<ledger::Grant> grants_of(const api::LoadBalancer& balancer,
                                       const std::string& written = {},
                                       const claims::BlockPtr& before = {}) const;
  void check_granted(const api::LoadBalancer& balancer,
                     const std::optional<std::vector<ledger::Grant>>& before);

  world::World& world_;
  const TrustBook& trust_;
  std::set<std::string> unasked_;
  Instant keys_back_{};  // after people deleted them, what they sealed is sealed anew by then
  std::map<std::string, api::LoadBalancer> balancers_;  // by name
  std::map<std::string, claims::BlockPtr> blocks_;
  std::shared_ptr<const world::ServerGateway::Observer> observing_;
};

}  // namespace berth::scenario
