#include "cloud/tencent/rule_writes.h"

#include <algorithm>
#include <map>

#include "cloud/tencent/requests.h"

namespace berth::cloud::tencent {
namespace {

using lb::NewRule;
using lb::RuleChange;
using lb::RuleRef;
using model::ListenerId;

using Indices = std::vector<std::size_t>;

// Calls that one batch is cut into at the most, to find the entries that are at fault.
constexpr int kMostCalls = 16;

const ListenerId& listener_of(const RuleRef& rule) { return rule.listener; }
const ListenerId& listener_of(const NewRule& rule) { return rule.rule.listener; }
const ListenerId& listener_of(const RuleChange& change) { return change.rule.listener; }

// The listeners of a batch as they are now, and which of its entries concern each.
struct Concerned {
  std::map<ListenerId, CloudListener> there{};
  std::map<ListenerId, Indices> entries{};

  const CloudListener* find(const ListenerId& id) const {
    const auto it = there.find(id);
    return it == there.end() ? nullptr : &it->second;
  }
};

template <class Entry>
Result<Concerned> look_at(const Line& line, std::span<const Entry> batch) {
  Concerned out;
  for (std::size_t i = 0; i < batch.size(); ++i) out.entries[listener_of(batch[i])].push_back(i);
  std::vector<ListenerId> ids;
  for (const auto& [id, entries] : out.entries) ids.push_back(id);
  auto listeners = describe_some(line, ids);
  if (!listeners) return pass(listeners);
  for (CloudListener& one : *listeners) {
    const ListenerId id = one.seen.id;
    out.there.emplace(id, std::move(one));
  }
  return out;
}

std::vector<Result<>> all_fail(std::size_t count, const Error& error) {
  return std::vector<Result<>>(count, Result<>(fail(error)));
}

Failure no_listener(const ListenerId& id) {
  return fail(Code::not_found, "there is no listener {}", id);
}

Result<> write(const Line& line, std::string_view action, const std::optional<wire::Object>& body) {
  if (!body) return {};
  const Result<Answer> answer = line.write(action, *body);
  if (!answer) return fail(answer.error());
  return {};
}

Result<> change_rule(const Line& line, const CloudListener& there, const RuleChange& change) {
  const model::ListenerSpec& spec = there.seen.spec;
  const model::Rule* const rule = model::find_rule(spec, change.rule.key);
  if (!rule) {
    return fail(Code::not_found, "listener {} has no rule {}", change.rule.listener,
                to_string(change.rule.key));
  }
  if (Result<> good = check_rule(spec.protocol, change.attributes); !good) return good;
  const model::RuleAttributes& before = rule->attributes;
  const ListenerId& id = change.rule.listener;
  if (!is_layer7(spec.protocol)) {
    return write(line, "ModifyListener",
                 modify_plain_rule_body(line.lb(), id, spec.protocol, before, change.attributes));
  }
  const std::optional<wire::Object> body = modify_rule_body(
      line.lb(), id, there.locations.at(change.rule.key), before, change.attributes);
  Result<> changed = write(line, "ModifyRule", body);
  if (!changed || spec.protocol != model::Protocol::https) return changed;
  model::RuleAttributes of_domain = change.attributes;
  if (!spec.attributes.by_server_name) of_domain.tls = before.tls;
  changed = write(line, "ModifyDomainAttributes",
                  modify_domain_body(line.lb(), change.rule, before, of_domain));
  if (!changed && body) return fail(in_doubt(std::move(changed.error())));
  return changed;
}

bool has_domain(const CloudListener& listener, std::string_view domain) {
  return std::ranges::any_of(listener.seen.spec.rules,
                             [&](const model::Rule& rule) { return rule.key.domain() == domain; });
}

class RuleCreation {
 public:
  RuleCreation(const Line& line, std::span<const NewRule> wanted)
      : line_(line), wanted_(wanted), results_(wanted.size()) {}

  std::vector<Result<>> run() {
    Result<Concerned> concerned = look_at(line_, wanted_);
    if (!concerned) return all_fail(wanted_.size(), concerned.error());
    for (const auto& [id, entries] : concerned->entries) {
      const CloudListener* const there = concerned->find(id);
      if (!there) {
        for (const std::size_t i : entries) results_[i] = no_listener(id);
        continue;
      }
      calls_left_ = kMostCalls;
      make(id, new_among(*there, entries));
    }
    return std::move(results_);
  }

 private:
  // What is there already is changed, what cannot be falls out.
  Indices new_among(const CloudListener& there, const Indices& entries) {
    Indices out;
    for (const std::size_t i : entries) {
      const NewRule& rule = wanted_[i];
      if (Result<> good = check(there, rule); !good) {
        results_[i] = good;
      } else if (model::find_rule(there.seen.spec, rule.rule.key)) {
        results_[i] = change_rule(line_, there, {rule.rule, rule.attributes});
      } else {
        out.push_back(i);
      }
    }
    return out;
  }

  static Result<> check(const CloudListener& there, const NewRule& rule) {
    const model::ListenerSpec& spec = there.seen.spec;
    if (!is_layer7(spec.protocol))
      return fail(Code::invalid, "a listener of {} has no rules", model::to_string(spec.protocol));
    if (rule.rule.key.domain().empty() || rule.rule.key.path().empty()) {
      return fail(error_of(Code::invalid, "a rule of CLB needs a domain and a path")
                      .with_hint("/ is the path of all requests"));
    }
    const bool has_certificate = rule.attributes.tls && !rule.attributes.tls->certificates.empty();
    if (spec.attributes.by_server_name && !has_certificate &&
        !has_domain(there, rule.rule.key.domain())) {
      return fail(error_of(Code::invalid, "domain {} has no certificate", rule.rule.key.domain())
                      .with_hint("the listener chooses certificates by server name"));
    }
    if (!spec.attributes.by_server_name && has_certificate) {
      return fail(error_of(Code::invalid, "the rule has a certificate, and its listener another")
                      .with_hint("switch on certificates by server name (sniSwitch: 1)"));
    }
    return check_rule(spec.protocol, rule.attributes);
  }

  void make(const ListenerId& id, const Indices& fresh) {
    if (fresh.empty()) return;
    --calls_left_;
    std::vector<const NewRule*> rules;
    for (const std::size_t i : fresh) rules.push_back(&wanted_[i]);
    const Result<Answer> answer =
        line_.write("CreateRule", create_rules_body(line_.lb(), id, rules));
    if (answer) return take_locations(id, fresh, *answer);
    const bool may_be_some = fresh.size() > 1 && may_concern_some(answer.error());
    if (!may_be_some || calls_left_ <= 0) {
      const Error error = may_be_some ? refused_together(answer.error()) : answer.error();
      for (const std::size_t i : fresh) results_[i] = fail(error);
      return;
    }
    const auto middle = fresh.begin() + static_cast<std::ptrdiff_t>(fresh.size() / 2);
    make(id, {fresh.begin(), middle});
    make(id, {middle, fresh.end()});
  }

  // Ids come without their rules, and of several the order is not promised: those are read, by
  // domain and path, when somebody needs them.
  void take_locations(const ListenerId& id, const Indices& fresh, const Answer& answer) {
    std::vector<std::string> locations = decode_texts(answer.response, "/LocationIds");
    if (locations.size() != 1 || fresh.size() != 1) return line_.book.forget(line_.place.lb, id);
    line_.book.add_rule(line_.place.lb, wanted_[fresh.front()].rule, std::move(locations.front()));
  }

  const Line& line_;
  const std::span<const NewRule> wanted_;
  std::vector<Result<>> results_;
  int calls_left_ = 0;
};

// A listener with rules has a default domain: the first that stays, if its own goes.
std::string_view new_default(const CloudListener& there, const std::vector<model::RuleKey>& gone) {
  std::string_view other;
  for (const model::Rule& rule : there.seen.spec.rules) {
    if (std::ranges::find(gone, rule.key) != gone.end()) continue;
    if (rule.key.domain() == there.default_domain) return {};
    if (other.empty()) other = rule.key.domain();
  }
  return there.default_domain.empty() ? std::string_view{} : other;
}

// Rules of one listener that go. One that is refused keeps no others.
class RuleRemoval {
 public:
  RuleRemoval(const Line& line, const CloudListener& there, std::span<const RuleRef> rules,
              std::vector<Result<>>& results)
      : line_(line), there_(there), rules_(rules), results_(results) {}

  void run(const Indices& entries) {
    Indices present;
    for (const std::size_t i : entries)
      if (there_.locations.contains(rules_[i].key)) present.push_back(i);
    if (present.empty()) return;
    line_.book.forget(line_.place.lb, there_.seen.id);
    remove(present);
  }

 private:
  void remove(const Indices& part) {
    --calls_left_;
    std::vector<std::string> locations;
    std::vector<model::RuleKey> keys = gone_;
    for (const std::size_t i : part) {
      locations.push_back(there_.locations.at(rules_[i].key));
      keys.push_back(rules_[i].key);
    }
    const Result<Answer> answer = line_.write(
        "DeleteRule",
        delete_rules_body(line_.lb(), there_.seen.id, locations, new_default(there_, keys)));
    const bool is_alone = part.size() == 1;
    if (answer || (is_alone && is_gone(answer.error()))) {
      gone_ = std::move(keys);
      return;
    }
    const bool may_be_some = !is_alone && may_concern_some(answer.error());
    if (!may_be_some || calls_left_ <= 0) {
      const Error error = may_be_some ? refused_together(answer.error()) : answer.error();
      for (const std::size_t i : part) results_[i] = fail(error);
      return;
    }
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    remove({part.begin(), middle});
    remove({middle, part.end()});
  }

  // The rule, or the listener with all of its rules; not the load balancer.
  static bool is_gone(const Error& error) {
    return error.code == Code::not_found && !is_balancer_gone(error);
  }

  const Line& line_;
  const CloudListener& there_;
  const std::span<const RuleRef> rules_;
  std::vector<Result<>>& results_;
  std::vector<model::RuleKey> gone_;
  int calls_left_ = kMostCalls;
};

}  // namespace

std::vector<Result<>> create_rules(const Line& line, std::span<const NewRule> wanted) {
  if (wanted.empty()) return {};
  return RuleCreation(line, wanted).run();
}

std::vector<Result<>> remove_rules(const Line& line, std::span<const RuleRef> rules) {
  if (rules.empty()) return {};
  const Result<Concerned> concerned = look_at(line, rules);
  if (!concerned) return all_fail(rules.size(), concerned.error());
  std::vector<Result<>> out(rules.size());
  for (const auto& [id, entries] : concerned->entries) {
    const CloudListener* const there = concerned->find(id);
    // Without it, its rules are gone too.
    if (there) RuleRemoval(line, *there, rules, out).run(entries);
  }
  return out;
}

std::vector<Result<>> change_rules(const Line& line, std::span<const RuleChange> changes) {
  if (changes.empty()) return {};
  const Result<Concerned> concerned = look_at(line, changes);
  if (!concerned) return all_fail(changes.size(), concerned.error());
  std::vector<Result<>> out;
  for (const RuleChange& change : changes) {
    const CloudListener* const there = concerned->find(change.rule.listener);
    out.push_back(there ? change_rule(line, *there, change)
                        : Result<>(no_listener(change.rule.listener)));
  }
  return out;
}

}  // namespace berth::cloud::tencent
