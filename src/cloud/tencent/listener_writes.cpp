#include "cloud/tencent/listener_writes.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "cloud/tencent/requests.h"
#include "lb/alike.h"

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
        return one.size() < kPortsPerCreate && lb::are_alike(wanted_[one.front()], wanted_[i]);
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
    if (group.size() == 1 || !may_concern_some(error)) return give_up(group, error);
    if (calls_left_ <= 0) return give_up(group, refused_together(error));
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

class Removal {
 public:
  Removal(const Line& line, std::span<const ListenerId> ids)
      : line_(line), ids_(ids), results_(ids.size()) {}

  std::vector<Result<>> run() {
    Indices all;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i].empty()) {
        results_[i] = fail(Code::invalid, "a listener without an id cannot be removed");
      } else {
        all.push_back(i);
      }
    }
    for (std::size_t begin = 0; begin < all.size(); begin += kListenersPerRemoval) {
      calls_left_ = kMostCalls;
      remove(part_of(all, begin, std::min(begin + kListenersPerRemoval, all.size())), true);
    }
    for (const std::size_t i : all) line_.book.forget(line_.place.lb, ids_[i]);
    return std::move(results_);
  }

 private:
  static Indices part_of(const Indices& all, std::size_t begin, std::size_t end) {
    return {all.begin() + static_cast<std::ptrdiff_t>(begin),
            all.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  // All in one call. If some may be at fault: without those that are gone, then in halves.
  void remove(const Indices& group, bool may_look) {
    if (group.empty()) return;
    --calls_left_;
    const Result<wire::Object> body = delete_listeners_body(line_.lb(), named(group));
    if (!body) return give_up(group, body.error());
    const Result<Answer> answer = line_.write("DeleteLoadBalancerListeners", *body);
    if (answer) return;
    const Error& error = answer.error();
    if (!may_concern_some(error)) return give_up(group, error);
    if (may_look) {
      const Result<Indices> left = still_there(group);
      if (!left) return give_up(group, is_of_task(error) ? in_doubt(left.error()) : left.error());
      if (left->size() < group.size()) return remove(*left, false);
    }
    if (group.size() == 1) return give_up(group, error);
    if (calls_left_ <= 0) return give_up(group, refused_together(error));
    remove(part_of(group, 0, group.size() / 2), false);
    remove(part_of(group, group.size() / 2, group.size()), false);
  }

  std::vector<ListenerId> named(const Indices& group) const {
    std::vector<ListenerId> out;
    for (const std::size_t i : group) out.push_back(ids_[i]);
    return out;
  }

  // An answer may have more than was asked for: that is nobody's to remove.
  Result<Indices> still_there(const Indices& group) const {
    const auto there = describe_some(line_, named(group));
    if (!there) return fail(there.error());
    Indices out;
    std::ranges::copy_if(group, std::back_inserter(out), [&](std::size_t i) {
      return std::ranges::any_of(*there,
                                 [&](const CloudListener& one) { return one.seen.id == ids_[i]; });
    });
    return out;
  }

  void give_up(const Indices& group, const Error& error) {
    for (const std::size_t i : group) results_[i] = fail(error);
  }

  const Line& line_;
  const std::span<const ListenerId> ids_;
  std::vector<Result<>> results_;
  int calls_left_ = 0;
};

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
  return Removal(line, ids).run();
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
