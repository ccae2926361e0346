#include "cloud/tencent/line.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "cloud/tencent/requests.h"

namespace berth::cloud::tencent {
namespace {

using model::ListenerId;

// Beyond so many, one question for all of them is less than many for twenty each.
constexpr std::size_t kManyListeners = 5 * kListenersPerTargets;

template <class Part>
Result<> in_chunks(std::span<const ListenerId> ids, std::size_t size, Part part) {
  for (std::size_t begin = 0; begin < ids.size(); begin += size) {
    if (Result<> done = part(ids.subspan(begin, std::min(size, ids.size() - begin))); !done)
      return done;
  }
  return {};
}

Result<> read_chunk(const Line& line, std::span<const ListenerId> ids,
                    std::vector<ListenerTargets>& out) {
  const Result<Answer> answer = line.read("DescribeTargets", of_listeners_body(line.lb(), ids));
  if (!answer) return fail(answer.error());
  std::ranges::move(decode_targets(answer->response), std::back_inserter(out));
  return {};
}

// What an answer for all did not bring is asked for by name.
std::vector<ListenerId> missing(std::span<const ListenerId> ids,
                                const std::vector<ListenerTargets>& read) {
  std::vector<ListenerId> have;
  for (const ListenerTargets& one : read) have.push_back(one.listener);
  std::ranges::sort(have);
  std::vector<ListenerId> out;
  std::ranges::copy_if(ids, std::back_inserter(out),
                       [&](const ListenerId& id) { return !std::ranges::binary_search(have, id); });
  return out;
}

// A listener without any target, as it is described.
ListenerTargets without_targets(const CloudListener& listener) {
  const model::ListenerSpec& spec = listener.seen.spec;
  ListenerTargets out{.listener = listener.seen.id, .is_layer7 = is_layer7(spec.protocol)};
  if (!out.is_layer7) {
    out.rules.push_back({.rule = {out.listener, {}}});
    return out;
  }
  for (const auto& [key, location] : listener.locations)
    out.rules.push_back({.rule = {out.listener, key}, .location = location});
  return out;
}

// The book's rules of a listener are those that it is described with.
void add_lacking(const Line& line, const CloudListener& listener) {
  for (const RuleTargets& one : without_targets(listener).rules)
    if (!line.book.find(line.place.lb, one.rule))
      line.book.add_rule(line.place.lb, one.rule, one.location);
}

void add_targets(lb::ObservedListener& listener, const ListenerTargets& read) {
  for (const RuleTargets& rule : read.rules) {
    if (model::Rule* const there = model::find_rule(listener.spec, rule.rule.key))
      there->targets = rule.targets;
  }
}

}  // namespace

Caller caller_of(const Api& api, const lb::Place& place) {
  return {place.credential, place.lb.region.empty() ? api.options().region : place.lb.region};
}

Result<Answer> Line::read(std::string_view action, const wire::Object& body) const {
  return api.read(context, caller_of(api, place), action, body);
}

Result<Answer> Line::write(std::string_view action, const wire::Object& body) const {
  return api.write(context, caller_of(api, place), action, body);
}

Result<std::vector<CloudListener>> describe_all(const Line& line) {
  const Result<Answer> answer = line.read("DescribeListeners", of_listeners_body(line.lb(), {}));
  if (!answer) return fail(answer.error());
  auto out = decode_listeners(answer->response);
  const std::int64_t total = wire::int_at(answer->response, "/TotalCount").value_or(0);
  if (out && std::cmp_less(out->size(), total)) {
    Error error = error_of(Code::internal, "the cloud told {} of {} listeners", out->size(), total);
    error.request_id = answer->request_id;
    return fail(std::move(error));
  }
  return out;
}

Result<std::vector<CloudListener>> describe_some(const Line& line,
                                                 std::span<const ListenerId> ids) {
  std::vector<CloudListener> out;
  Result<> read = in_chunks(ids, kListenersPerDescribe, [&](auto chunk) -> Result<> {
    const Result<Answer> answer =
        line.read("DescribeListeners", of_listeners_body(line.lb(), chunk));
    if (!answer) return fail(answer.error());
    auto some = decode_listeners(answer->response);
    if (!some) return pass(some);
    std::ranges::move(*some, std::back_inserter(out));
    return {};
  });
  if (!read) return pass(read);
  return out;
}

Result<std::vector<ListenerTargets>> read_targets(const Line& line,
                                                  std::span<const ListenerId> ids) {
  std::vector<ListenerTargets> out;
  const bool are_many = ids.size() > kManyListeners;
  if (are_many) {
    if (Result<> all = read_chunk(line, {}, out); !all) return pass(all);
  }
  // Two questions for each, the last one by name: an answer may have been cut.
  for (int question = are_many ? 1 : 0; question < 2; ++question) {
    const std::vector<ListenerId> left = missing(ids, out);
    Result<> read = in_chunks(std::span(left), kListenersPerTargets,
                              [&](auto chunk) { return read_chunk(line, chunk, out); });
    if (!read) return pass(read);
  }
  if (const std::vector<ListenerId> silent = missing(ids, out); !silent.empty()) {
    const auto there = describe_some(line, silent);
    if (!there) return fail(there.error());
    std::ranges::transform(*there, std::back_inserter(out), without_targets);
  }
  for (const ListenerId& id : ids) line.book.forget(line.place.lb, id);
  for (const ListenerTargets& one : out) line.book.note(line.place.lb, one);
  return out;
}

Result<> add_silent_rules(const Line& line, std::span<const ListenerId> ids) {
  const auto there = describe_some(line, ids);
  if (!there) return fail(there.error());
  for (const CloudListener& one : *there) add_lacking(line, one);
  return {};
}

Result<std::vector<lb::ObservedListener>> with_targets(const Line& line,
                                                       std::vector<CloudListener> listeners) {
  std::vector<ListenerId> ids;
  for (const CloudListener& one : listeners) ids.push_back(one.seen.id);
  const Result<std::vector<ListenerTargets>> read = read_targets(line, ids);
  if (!read) return fail(read.error());
  std::map<ListenerId, const ListenerTargets*> by_id;
  for (const ListenerTargets& one : *read) by_id[one.listener] = &one;
  std::vector<lb::ObservedListener> out;
  for (CloudListener& one : listeners) {
    const auto it = by_id.find(one.seen.id);
    if (it == by_id.end()) continue;
    add_targets(one.seen, *it->second);
    add_lacking(line, one);
    out.push_back(std::move(one.seen));
  }
  return out;
}

}  // namespace berth::cloud::tencent
