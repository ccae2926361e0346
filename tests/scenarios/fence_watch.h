// Watches what replicas send to the API server: what only the leader may write, nobody sends who
// may not write at that moment.
//
// Until when a replica may, is worked out here, from the renewals of its Lease that pass by, and
// not asked of it. It sits nearest to the network, so that it sees what is sent, whichever client
// it was given to. It can also keep renewals from the server, while all else goes through: then the
// time of a leader runs out in the middle of its work.
//
// Outlives the world; used by its thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pool_trouble.h"

namespace berth::scenario {

class FenceWatch {
 public:
  FenceWatch();
  ~FenceWatch();

  // Of a world that is not made yet. What was put around transports before stays around this.
  void plant_into(world::WorldOptions& options);
  void refuse_renewals(bool refuse);

  // What was sent too late: "PATCH pods (1.20 s late)".
  const std::vector<std::string>& late() const;
  // What leaders wrote in time, and how often: "pods", "listeners".
  const std::map<std::string, std::size_t>& in_time() const;

 private:
  struct Notes;
  class Network;
  std::shared_ptr<Notes> notes_;
};

// A busy house whose leaders cannot renew their Lease again and again. Fails when the house does.
Result<> live_with_lost_leases(std::uint64_t seed, FenceWatch& watch, const Plant& plant = {});

}  // namespace berth::scenario
