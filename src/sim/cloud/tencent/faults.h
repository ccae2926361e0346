// What shall go wrong, on demand. A fault waits for a call that it fits, and is used up by as many
// as `count` says. Owned by `Cloud` under its lock.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sim/cloud/tencent/api_error.h"

namespace berth::sim::tencent {

enum class FaultKind {
  refuse,          // `error` instead of an effect: throttling, InternalError, ...
  gateway,         // HTTP 502 without an effect
  lose_reply,      // the effect takes place, the answer never arrives
  fail_task,       // the call is accepted, its task ends badly (`error.message` says why)
  slow_task,       // its task takes `duration`
  fail_listeners,  // Batch* calls: these `listeners` fail, or, if none are named, the first one
  gateway_after,   // the effect takes place, the answer is HTTP 502
  short_answer,    // the lists of an answer that has some lack their last member
  long_answer,     // they have their last member twice
};

inline constexpr std::array kFaultKinds{
    FaultKind::refuse,        FaultKind::gateway,      FaultKind::lose_reply,
    FaultKind::fail_task,     FaultKind::slow_task,    FaultKind::fail_listeners,
    FaultKind::gateway_after, FaultKind::short_answer, FaultKind::long_answer};
// As a setup names it: "lose_reply".
std::string_view to_string(FaultKind kind);

// How often a kind of fault befell an action.
using FaultsTaken = std::map<std::pair<std::string, FaultKind>, std::uint64_t>;

struct Fault {
  FaultKind kind = FaultKind::refuse;
  std::string action{};         // empty: every one
  std::string load_balancer{};  // empty: on every one
  ApiError error{"InternalError", "An internal error has occurred. Retry your request."};
  Duration duration{};
  std::vector<std::string> listeners{};
  int count = 1;
};

class Faults {
 public:
  void add(Fault fault) { faults_.push_back(std::move(fault)); }
  void clear() { faults_.clear(); }
  // The next of this kind that fits, and one time less of it.
  std::optional<Fault> take(FaultKind kind, std::string_view action,
                            std::string_view load_balancer);
  std::size_t waiting() const { return faults_.size(); }
  const FaultsTaken& taken() const { return taken_; }

 private:
  std::deque<Fault> faults_;
  FaultsTaken taken_;
};

}  // namespace berth::sim::tencent
