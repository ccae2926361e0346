// Random lives in a PoolHouse with people about who lay hands on it, next to all that goes wrong
// anyway (pool_trouble.h).
//
// Beside the games there are `calm`, whose rooms nobody touches, and two namespaces of a tenant.
// When the hands rest, people tidy up what they made themselves, and then everything must be in
// order: no port is lost, nobody writes any more, and at the end nothing is left.
//
// Against tenants the books of the games stay open: their rooms notice nothing. Operators and
// administrators write to the games' own objects; what that may cost is said here, in full:
//
//   what is edited                     what it may cost                             for how long
//   a Pod, its annotations or status   its own Ready                                until put right
//   a PortBinding                      Ready of its Pod                             until made anew
//   a Listener (spec, claim, marks)    Ready of the Pod that has the port           until put right
//   a Listener's claim, forged         the port, until the Listener is deleted      for ever
//   a pool, an item, an Ingress        what its owner can do himself                -
//   a LoadBalancer, its grants         nothing                                      -
//   a PortBlock                        nothing                                      -
//   the status of a LoadBalancer       the address that Pods are told               until read anew
//   a listener at the provider         what is reached at its port                  until an audit
//   the Lease                          writes pause, another replica leads          a lease
//   our Secret, our webhooks           refused creations                            until made anew
//   the label of the namespace         Pods without ports                           while it is off
//   a namespace, deleted               what lies in it, and ports of its pools      for ever
//   the CRD of LoadBalancers           nothing                                      -
//   the CRD of PortBindings            ports that are kept for names                for ever
//   one kind put back as it was        Ready of Pods that came or went since        until an audit
//   everything put back as it was      the same                                     until an audit
//
// Nobody's edit, of whatever kind, costs another Pod its port, or gives a port to two.
#pragma once

#include "hands.h"
#include "ingress_book.h"
#include "pool_trouble.h"
#include "written_book.h"

namespace berth::scenario {

struct HandsCount {
  std::uint64_t words = 0;  // Pods that were told Ready
  std::uint64_t moves = 0;
};

Result<sim::RunReport> live_with_hands(std::uint64_t seed, world::Role role,
                                       const Plant& plant = {}, HandsCount* count = nullptr);

// All modules are on: calm and lobby have an Ingress each, and grants lie in PortBlocks. People lay
// hands on those, too.
Plant in_a_wide_house();

// The house with its neighbours, for scenarios that make single moves. All of its pools are Ready,
// and so are the rooms of `calm`.
class HandsHouse {
 public:
  HandsHouse(std::uint64_t seed, world::WorldOptions options, world::Role role);

  ~HandsHouse();

  PoolHouse& house() { return house_; }
  world::World& world() { return house_.world(); }
  TrustBook& trust() { return trust_; }
  Diary& diary() { return diary_; }
  const std::vector<world::Person>& people() const { return people_; }

  Result<> open();
  // People remove what they made, and put their pools back.
  Result<> tidy_up();
  // Every port of the tenant's pool can be had.
  Result<> fill_lobby();
  // All go.
  Result<> close();

 private:
  Result<> play_out(const std::string& name,
                    std::function<void(User& user, std::string& complaint)> deed);

  const world::Role role_;
  std::vector<world::Person> people_;
  PoolHouse house_;
  TrustBook trust_;
  WrittenBook written_;
  IngressBook ingresses_;
  Diary diary_;
};

// The people of a suite: two tenants, or one of the others beside a tenant.
std::vector<world::Person> people_for(world::Role role);

}  // namespace berth::scenario
