// `berth explain --probe`: whether an address answers from where the command runs: first what the
// load balancer leads to, then the load balancer itself. What the two say together tells the
// program of a Pod from a security group between. Pure, but for who knocks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/port.h"
#include "report/explain.h"

namespace berth::report {

// A person waits: so many are tried, each for so long at the most.
inline constexpr std::size_t kMostWays = 4;
inline constexpr Duration kKnockPatience = std::chrono::seconds{3};

// One way to a Pod: where the load balancer leads to, and where it is reached.
struct Way {
  std::string protocol{};
  model::Target own{};
  model::Target open_at{};

  friend bool operator==(const Way&, const Way&) = default;
};

// Of the Listeners that the explanation is about; their addresses are what objects say. Without
// those that nothing can be said of: datagrams need no answer.
std::vector<Way> ways_of(const ExplainView& view);

// `unavailable`: refused or ended; `timeout`: silence.
using Knock = std::function<Result<>(const model::Target& at)>;

Step judge(const Way& way, const Result<>& own, const Result<>& open);

// Tries the first of them and tells.
void probe(const ExplainView& view, const Knock& knock, Explanation& out);

}  // namespace berth::report
