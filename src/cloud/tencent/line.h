// Line: one call of a seam to one load balancer, with what it needs; and the reads that several
// calls share. Lives as long as the call.
#pragma once

#include <span>
#include <vector>

#include "cloud/tencent/answers.h"
#include "cloud/tencent/api.h"
#include "cloud/tencent/rule_book.h"

namespace berth::cloud::tencent {

struct Line {
  const Context& context;
  const lb::Place& place;
  Api& api;
  RuleBook& book;

  const std::string& lb() const { return place.lb.id; }
  Result<Answer> read(std::string_view action, const wire::Object& body) const;
  Result<Answer> write(std::string_view action, const wire::Object& body) const;
};

Caller caller_of(const Api& api, const lb::Place& place);

// Without their targets. Ids that are not there are left out.
Result<std::vector<CloudListener>> describe_all(const Line& line);
Result<std::vector<CloudListener>> describe_some(const Line& line,
                                                 std::span<const model::ListenerId> ids);
// Reads the targets of these listeners into the book, and returns them. A listener that the cloud
// leaves out twice, and shows among its listeners after that, has none.
Result<std::vector<ListenerTargets>> read_targets(const Line& line,
                                                  std::span<const model::ListenerId> ids);
// Adds to the book what it lacks of the rules of these listeners: those without targets, which the
// cloud may leave out when it tells targets.
Result<> add_silent_rules(const Line& line, std::span<const model::ListenerId> ids);
// The same listeners as the seams show them, with targets. One that is gone meanwhile is left out.
Result<std::vector<lb::ObservedListener>> with_targets(const Line& line,
                                                       std::vector<CloudListener> listeners);

}  // namespace berth::cloud::tencent
