#include "cloud/tencent/listener_writes.h"

#include <algorithm>
#include <optional>

#include "cloud/tencent/requests.h"

namespace berth::cloud::tencent {
namespace {

using model::ListenerId;
using model::ListenerSpec;

using Indices = std::vector<std::size_t>;

// Calls that one batch is cut into at the most, to find the entries that are at fault.
constexpr int kMostCalls = 24;

bool share_a_port(const ListenerSpec& a, const ListenerSpec& b) {
  return a.ports.overlaps(b.ports) &&
         std::ranges::any_of(model::transports_of(a.protocol), [&](model::Transport transport) {
           return model::takes(b.protocol, transport);
         });
}

class Creation {
 public:
  Creation(const Line& line, std::span<const ListenerSpec> wanted)
      : line_(line), wanted_(wanted), results_(wanted.size()) {}

  std::vector<Result<ListenerId>> run() {
    for (const Indices& group : groups()) {
      calls_left_ = kMostCalls;
      make(group);
    }
    return std::move(results_);
  }

 private:
  // What fits one call each. What the cloud cannot have falls out.
  std::vector<Indices> groups() {
    std::vector<Indices> out;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (Result<> good = check_listener(wanted_[i]); !good) {
        results_[i] = pass(good);
        continue;
      }
      const auto group = std::ranges::find_if(out, [&](const Indices& one) {
        return one.size() < kPortsPerCreate && fit_one_call(wanted_[one.front()], wanted_[i]);
      });
      if (group == out.end()) {
        out.push_back({i});
      } else {
        group->push_back(i);
      }
    }
    return out;
  }

  void make(const Indices& group) {
    if (group.empty()) return;
    if (full_) return give_up(group, *full_);
    --calls_left_;
    std::vector<const ListenerSpec*> specs;
    for (const std::size_t i : group) specs.push_back(&wanted_[i]);
    const Result<Answer> answer =
        line_.write("CreateListener", create_listeners_body(line_.lb(), specs));
    if (answer) return take_ids(group, *answer);
    const Error& error = answer.error();
    if (group.size() == 1 && error.code == Code::exhausted) full_ = error;
    if (group.size() == 1 || calls_left_ <= 0 || !may_concern_some(error))
      return give_up(group, error);
    const Indices left = error.code == Code::already_exists ? without_taken(group, error) : group;
    if (left.size() < group.size()) return make(left);
    const auto middle = left.begin() + static_cast<std::ptrdiff_t>(left.size() / 2);
    make({left.begin(), middle});
    make({middle, left.end()});
  }

  void take_ids(const Indices& group, const Answer& answer) {
    std::vector<std::string> ids = decode_texts(answer.response, "/ListenerIds");
    if (ids.size() != group.size()) {
      Error error = error_of(Code::conflict, "{} listeners were asked for, and {} made",
                             group.size(), ids.size());
      error.request_id = answer.request_id;
      return give_up(group, error);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      const ListenerId id(std::move(ids[i]));
      line_.book.add_listener(line_.place.lb, id, is_layer7(wanted_[group[i]].protocol));
      results_[group[i]] = id;
    }
  }

  // Those whose port nobody has.
  Indices without_taken(const Indices& group, const Error& error) {
    const auto there = describe_all(line_);
    Indices out;
    for (const std::size_t i : group) {
      const bool is_taken = there && std::ranges::any_of(*there, [&](const CloudListener& one) {
                              return share_a_port(one.seen.spec, wanted_[i]);
                            });
      if (is_taken) {
        results_[i] = fail(error);
      } else {
        out.push_back(i);
      }
    }
    return out;
  }

  void give_up(const Indices& group, const Error& error) {
    for (const std::size_t i : group) results_[i] = fail(error);
  }

  const Line& line_;
  const std::span<const ListenerSpec> wanted_;
  std::vector<Result<ListenerId>> results_;
  int calls_left_ = 0;
  std::optional<Error> full_{};  // there is no room for one more
};

// Those of the ids that are there.
Result<std::vector<ListenerId>> still_there(const Line& line, std::span<const ListenerId> ids) {
  const auto there = describe_some(line, ids);
  if (!there) return fail(there.error());
  std::vector<ListenerId> out;
  for (const CloudListener& one : *there) out.push_back(one.seen.id);
  return out;
}

// Listeners that could not be removed, and why; the others are gone.
struct Stayed {
  std::vector<ListenerId> ids{};
  Error error{};
};

Stayed remove_chunk(const Line& line, std::span<const ListenerId> ids) {
  std::vector<ListenerId> left(ids.begin(), ids.end());
  const auto remove_left = [&] {
    return line.write("DeleteLoadBalancerListeners", delete_listeners_body(line.lb(), left));
  };
  Result<Answer> removed = remove_left();
  if (removed) return {};
  // One that is gone keeps all others.
  if (!may_concern_some(removed.error())) return {std::move(left), removed.error()};
  const Result<std::vector<ListenerId>> there = still_there(line, ids);
  if (!there) return {std::move(left), there.error()};
  if (there->empty()) return {};
  left = *there;
  removed = remove_left();
  if (removed) return {};
  return {std::move(left), removed.error()};
}

Result<> change_one(const Line& line, const CloudListener& there,
                    const lb::ListenerChange& change) {
  const model::ListenerSpec& spec = there.seen.spec;
  if (Result<> good = check_attributes(spec.protocol, change.attributes); !good) return good;
  if (!can_change_listener(spec.attributes, change.attributes))
    return fail(Code::unsupported, "certificates by server name cannot be switched off");
  const auto body =
      modify_listener_body(line.lb(), change.listener, spec.attributes, change.attributes);
  if (!body) return {};
  const Result<Answer> answer = line.write("ModifyListener", *body);
  if (!answer) return fail(answer.error());
  return {};
}

}  // namespace

std::vector<Result<ListenerId>> create_listeners(const Line& line,
                                                 std::span<const ListenerSpec> wanted) {
  return Creation(line, wanted).run();
}

std::vector<Result<>> remove_listeners(const Line& line, std::span<const ListenerId> ids) {
  std::vector<Result<>> out(ids.size());
  for (std::size_t begin = 0; begin < ids.size(); begin += kListenersPerRemoval) {
    const auto chunk = ids.subspan(begin, std::min(kListenersPerRemoval, ids.size() - begin));
    const Stayed stayed = remove_chunk(line, chunk);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      if (std::ranges::find(stayed.ids, chunk[i]) != stayed.ids.end())
        out[begin + i] = fail(stayed.error);
      line.book.forget(line.place.lb, chunk[i]);
    }
  }
  return out;
}

std::vector<Result<>> change_listeners(const Line& line,
                                       std::span<const lb::ListenerChange> changes) {
  if (changes.empty()) return {};
  std::vector<ListenerId> ids;
  for (const lb::ListenerChange& change : changes) ids.push_back(change.listener);
  const auto there = describe_some(line, ids);
  if (!there) return std::vector<Result<>>(changes.size(), Result<>(fail(there.error())));
  std::vector<Result<>> out;
  for (const lb::ListenerChange& change : changes) {
    const auto it = std::ranges::find(*there, change.listener,
                                      [](const CloudListener& one) { return one.seen.id; });
    if (it == there->end()) {
      out.emplace_back(fail(Code::not_found, "there is no listener {}", change.listener));
    } else {
      out.push_back(change_one(line, *it, change));
    }
  }
  return out;
}

bool can_change_listener(const model::ListenerAttributes& there,
                         const model::ListenerAttributes& wished) {
  return wished.by_server_name || !there.by_server_name;
}

}  // namespace berth::cloud::tencent
