#include "cloud/tencent/health.h"

#include <algorithm>
#include <set>

#include "cloud/tencent/answers.h"
#include "cloud/tencent/line.h"
#include "cloud/tencent/requests.h"

namespace berth::cloud::tencent {
namespace {

std::vector<model::ListenerId> listeners_of(std::span<const lb::RuleRef> rules) {
  std::set<model::ListenerId> ids;
  for (const lb::RuleRef& rule : rules) ids.insert(rule.listener);
  return {ids.begin(), ids.end()};
}

Result<std::vector<lb::TargetHealth>> ask(Api& api, const Context& context, const lb::Place& place,
                                          std::span<const lb::RuleRef> rules) {
  const auto describe = [&](std::span<const model::ListenerId> ids) {
    return api.read(context, caller_of(api, place), "DescribeTargetHealth",
                    health_body(place.lb.id, ids));
  };
  Result<Answer> answer = describe(listeners_of(rules));
  // One that is gone hides no others.
  if (!answer && !rules.empty() && may_concern_some(answer.error())) answer = describe({});
  if (!answer) return pass(answer);
  std::vector<lb::TargetHealth> out = decode_health(answer->response);
  if (rules.empty()) return out;
  const std::set<lb::RuleRef> asked(rules.begin(), rules.end());
  std::erase_if(out, [&](const lb::TargetHealth& one) { return !asked.contains(one.rule); });
  return out;
}

}  // namespace

lb::PolledHealth::Ask ask_health(Api& api) {
  return [&api](const Context& context, const lb::Place& place,
                std::span<const lb::RuleRef> rules) { return ask(api, context, place, rules); };
}

}  // namespace berth::cloud::tencent
