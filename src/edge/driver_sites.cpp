// Sites: listeners with rules by domain and path, and those whose TLS ends here. What is wished of
// them is kept in the table as of any other; HAProxy is told, and the calls wait for it.
#include <algorithm>

#include "base/log.h"
#include "edge/driver.h"
#include "edge/site_call.h"
#include "edge/site_rules.h"

namespace berth::edge {
namespace {

// A worker that ends lets go of its ports in a moment.
constexpr Duration kLongestClose = std::chrono::seconds{5};
constexpr Duration kCloseLook = std::chrono::milliseconds{5};

// A rule of a site as a listener of its own: for rules about targets.
ForwardSpec forward_of(const ForwardSpec& site, const model::Rule& rule) {
  return {.protocol = site.protocol,
          .transport = site.transport,
          .ports = site.ports,
          .name = site.name,
          .attributes = rule.attributes,
          .targets = rule.targets};
}

std::vector<model::Rule>::iterator place_of(std::vector<model::Rule>& rules,
                                            const model::RuleKey& key) {
  return std::ranges::lower_bound(rules, key, {}, &model::Rule::key);
}

bool has_rule(const ForwardSpec& spec, const model::RuleKey& key) {
  return std::ranges::binary_search(spec.rules, key, {}, &model::Rule::key);
}

}  // namespace

// Installed later, it is found with the next listener.
Result<haproxy::Supervisor*> EdgeDriver::supervisor() {
  const MutexLock lock(mu_);
  if (supervisor_) return supervisor_.get();
  std::string program = options_.haproxy();
  if (program.empty())
    return fail(error_of(Code::unsupported,
                         "HTTP, HTTPS and TLS are carried by HAProxy, which is not installed on "
                         "this machine")
                    .with_hint("install the package haproxy"));
  Result<std::unique_ptr<haproxy::Supervisor>> started = haproxy::Supervisor::start(
      {.program = std::move(program), .look = options_.second}, [this] { return site_state(); },
      [this](int worker, const std::vector<haproxy::Stat>& stats) { note_stats(worker, stats); });
  if (!started) return pass(started);
  supervisor_ = std::move(*started);
  return supervisor_.get();
}

std::shared_ptr<const haproxy::State> EdgeDriver::site_state() const {
  const auto out = std::make_shared<haproxy::State>();
  out->second = options_.second;
  out->bounds = {.connections_per_listener = options_.connections_per_listener,
                 .connections_per_client = options_.connections_per_client};
  const MutexLock lock(mu_);
  for (const ListenerRecord* record : table_.all()) {
    if (!is_site(record->spec.protocol) || !record->open) continue;
    out->sites.push_back(site_of(*record, low_ports_));
    out->files.insert(record->site.whole.files.begin(), record->site.whole.files.end());
    for (const auto& [key, own] : record->site.by_rule)
      out->files.insert(own.files.begin(), own.files.end());
  }
  return out;
}

Result<SiteCertificates> EdgeDriver::certificates_of(const Context& context,
                                                     const model::ListenerSpec& wanted,
                                                     lb::CertificateSource* source) {
  if (!is_site(wanted.protocol)) return SiteCertificates{};
  if (const Result<haproxy::Supervisor*> there = supervisor(); !there) return fail(there.error());
  const Result<ForwardSpec> spec = forward_of(wanted);
  if (!spec) return fail(spec.error());
  if (Result<> good = check_site(*spec); !good) return pass(good);
  for (const model::Rule& rule : spec->rules)
    if (Result<> good = check_rule(*spec, rule.key, rule.attributes); !good) return pass(good);
  return read_certificates(context, source, wanted.attributes.tls);
}

Result<ListenerRecord*> EdgeDriver::find_site(const model::LoadBalancerRef& lb,
                                              const model::ListenerId& id) {
  ListenerRecord* const record = table_.find(lb, id);
  if (record == nullptr) return no_such_listener(lb, id);
  if (!model::is_layer7(record->spec.protocol))
    return fail(Code::invalid, "a listener of {} has no rules by domain and path",
                model::to_string(record->spec.protocol));
  return record;
}

// Whether its ports are to be had is found out here: a port that another program has is this
// listener's error, and nobody else's. What is open stays so, and says that it knows no such rule.
Result<> EdgeDriver::open_site(ListenerRecord& record) {
  if (record.open || !is_wide_open(record.spec)) return {};
  for (const SocketAddress& vip : record.vips) {
    const Result<Fd> free =
        listen_tcp(vip.with_port(low_ports_.opened_at(record.spec.ports.first)));
    if (free) continue;
    Error error = free.error();
    if (error.code == Code::conflict) error.code = Code::already_exists;
    return fail(std::move(error));
  }
  record.open = true;
  leave_own_places(table_.leading_to(record.vips));
  return {};
}

Result<> EdgeDriver::set_rules(ListenerRecord& record, std::vector<model::Rule> rules) {
  std::vector<model::Rule> before = record.spec.rules;
  table_.set_rules(record, std::move(rules));
  Result<> opened = open_site(record);
  if (!opened) table_.set_rules(record, std::move(before));
  return opened;
}

Result<> EdgeDriver::put_rule(ListenerRecord& record, const lb::RuleRef& rule,
                              const model::RuleAttributes& attributes,
                              SiteCertificates certificates) {
  if (Result<> good = check_rule(record.spec, rule.key, attributes); !good) return good;
  model::Rule next{.key = rule.key, .attributes = attributes};
  std::vector<model::Rule> rules = record.spec.rules;
  const auto at = place_of(rules, rule.key);
  if (at != rules.end() && at->key == rule.key) {
    next.targets = at->targets;
    if (Result<> good = check_targets(record, next, next.targets); !good) return good;
    *at = std::move(next);
  } else {
    rules.insert(at, std::move(next));
  }
  if (Result<> set = set_rules(record, std::move(rules)); !set) return set;
  record.site.by_rule[rule.key] = std::move(certificates);
  return {};
}

Result<> EdgeDriver::check_targets(const ListenerRecord& record, const model::Rule& rule,
                                   std::span<const model::WeightedTarget> targets) const {
  const ForwardSpec as_forward = forward_of(record.spec, rule);
  for (const model::WeightedTarget& one : targets)
    if (Result<> good = check_target(record, as_forward, one.target); !good) return good;
  return {};
}

Result<> EdgeDriver::retarget_rule(ListenerRecord& record, const lb::TargetChange& change) {
  std::vector<model::Rule> rules = record.spec.rules;
  const auto at = place_of(rules, change.rule.key);
  if (at == rules.end() || at->key != change.rule.key) return no_such_rule(record.lb, change.rule);
  Result<std::vector<model::WeightedTarget>> targets = changed_targets(at->targets, 1, change);
  if (!targets) return pass(targets);
  if (Result<> good = check_targets(record, *at, change.add); !good) return good;
  at->targets = std::move(*targets);
  return set_rules(record, std::move(rules));
}

void EdgeDriver::leave_own_places_in_rules(ListenerRecord& record) {
  std::vector<model::Rule> rules = record.spec.rules;
  for (model::Rule& rule : rules)
    rule.targets = not_own_places(record, forward_of(record.spec, rule));
  if (rules == record.spec.rules) return;
  table_.set_rules(record, std::move(rules));
  if (supervisor_) supervisor_->poke();
}

std::vector<Result<>> EdgeDriver::create_rules(const Context& context, const lb::Place& place,
                                               std::span<const lb::NewRule> wanted) {
  if (context.expired()) return all_failed<void>(wanted.size(), context.end_error());
  std::vector<Result<>> outcomes(wanted.size());
  SiteCall call;
  CertificatesOnce source(options_.certificates.get());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const lb::NewRule& rule = wanted[i];
    Result<SiteCertificates> certificates =
        read_certificates(context, source.get(), rule.attributes.tls);
    const MutexLock lock(mu_);
    const Result<ListenerRecord*> record = find_site(place.lb, rule.rule.listener);
    if (!record) {
      outcomes[i] = fail(record.error());
    } else if (rule.rule.key.empty()) {
      outcomes[i] = fail(Code::invalid, "a rule of {} has a domain or a path",
                         model::to_string((*record)->spec.protocol));
    } else if (!certificates) {
      outcomes[i] = pass(certificates);
    } else {
      call.note(**record, i);
      outcomes[i] = put_rule(**record, rule.rule, rule.attributes, std::move(*certificates));
    }
  }
  settle(context, call, outcomes);
  return outcomes;
}

std::vector<Result<>> EdgeDriver::remove_rules(const Context& context, const lb::Place& place,
                                               std::span<const lb::RuleRef> rules) {
  if (context.expired()) return all_failed<void>(rules.size(), context.end_error());
  std::vector<Result<>> outcomes(rules.size());
  SiteCall call;
  {
    const MutexLock lock(mu_);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      ListenerRecord* const record = table_.find(place.lb, rules[i].listener);
      if (record == nullptr) continue;
      if (!model::is_layer7(record->spec.protocol)) {
        outcomes[i] =
            fail(Code::unsupported, "the only rule of listener {} goes with it", rules[i].listener);
        continue;
      }
      call.note(*record, i);
      std::vector<model::Rule> left = record->spec.rules;
      std::erase_if(left, [&](const model::Rule& one) { return one.key == rules[i].key; });
      table_.set_rules(*record, std::move(left));
      record->site.by_rule.erase(rules[i].key);
    }
  }
  settle(context, call, outcomes);
  return outcomes;
}

std::vector<Result<>> EdgeDriver::change_rules(const Context& context, const lb::Place& place,
                                               std::span<const lb::RuleChange> changes) {
  if (context.expired()) return all_failed<void>(changes.size(), context.end_error());
  std::vector<Result<>> outcomes(changes.size());
  SiteCall call;
  CertificatesOnce source(options_.certificates.get());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const lb::RuleChange& change = changes[i];
    Result<SiteCertificates> certificates =
        read_certificates(context, source.get(), change.attributes.tls);
    const MutexLock lock(mu_);
    ListenerRecord* const record = table_.find(place.lb, change.rule.listener);
    if (record == nullptr || !is_site(record->spec.protocol)) {
      outcomes[i] = change_one(place.lb, change);
    } else if (!has_rule(record->spec, change.rule.key)) {
      outcomes[i] = no_such_rule(place.lb, change.rule);
    } else if (!certificates) {
      outcomes[i] = pass(certificates);
    } else {
      call.note(*record, i);
      outcomes[i] = put_rule(*record, change.rule, change.attributes, std::move(*certificates));
    }
  }
  settle(context, call, outcomes);
  for (const lb::RuleChange& change : changes) followers_.note_change(place.lb, change.rule);
  return outcomes;
}

std::vector<Result<>> EdgeDriver::change(const Context& context, const lb::Place& place,
                                         std::span<const lb::ListenerChange> changes) {
  if (context.expired()) return all_failed<void>(changes.size(), context.end_error());
  std::vector<Result<>> outcomes(changes.size());
  SiteCall call;
  CertificatesOnce source(options_.certificates.get());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const lb::ListenerChange& change = changes[i];
    Result<SiteCertificates> certificates =
        read_certificates(context, source.get(), change.attributes.tls);
    const MutexLock lock(mu_);
    ListenerRecord* const record = table_.find(place.lb, change.listener);
    if (record == nullptr) {
      outcomes[i] = no_such_listener(place.lb, change.listener);
    } else if (!is_site(record->spec.protocol)) {
      record->spec.whole = change.attributes;
    } else if (!certificates) {
      outcomes[i] = pass(certificates);
    } else {
      call.note(*record, i);
      outcomes[i] = change_site(*record, change, std::move(*certificates));
    }
  }
  settle(context, call, outcomes);
  return outcomes;
}

Result<> EdgeDriver::change_site(ListenerRecord& record, const lb::ListenerChange& change,
                                 SiteCertificates certificates) {
  ForwardSpec next = record.spec;
  next.whole = change.attributes;
  if (Result<> good = check_site(next); !good) return good;
  for (const model::Rule& rule : next.rules)
    if (Result<> good = check_rule(next, rule.key, rule.attributes); !good) return good;
  record.spec.whole = change.attributes;
  record.site.whole = std::move(certificates);
  return {};
}

void EdgeDriver::settle(const Context& context, SiteCall& call, std::span<Result<>> outcomes) {
  if (call.entries.empty()) return;
  const Result<haproxy::Supervisor*> there = supervisor();
  const Result<haproxy::Refusals> applied =
      there ? (*there)->apply(context) : Result<haproxy::Refusals>(fail(there.error()));
  const MutexLock lock(mu_);
  for (const auto& [entry, id] : call.entries) {
    if (!outcomes[entry]) continue;
    if (!applied) {
      outcomes[entry] = fail(applied.error());
      continue;
    }
    ListenerRecord* const record = table_.find(call.lb, id);
    if (record == nullptr) continue;
    const auto refused = applied->find(site_name(*record));
    if (refused == applied->end()) continue;
    outcomes[entry] = fail(refused->second);
    SiteCall::Before& before = call.before.at(id);
    table_.set_rules(*record, before.spec.rules);
    record->spec.whole = before.spec.whole;
    record->site = before.site;
    record->open = before.open;
    supervisor_->poke();
  }
}

// A worker of before may have the socket for a moment longer; whoever asks for the port next should
// find it free.
void EdgeDriver::wait_until_free(const Context& context, std::span<const SocketAddress> addresses) {
  const Result<haproxy::Supervisor*> there = supervisor();
  if (!there || !(*there)->apply(context)) return;
  const Instant until = std::min(context.deadline, context.tasks.now() + kLongestClose);
  for (const SocketAddress& at : addresses)
    while (!listen_tcp(at) && context.tasks.now() < until &&
           sleep_for(context.tasks, kCloseLook, context.stop)) {
    }
}

void EdgeDriver::note_stats(int worker, const std::vector<haproxy::Stat>& stats) {
  const std::vector<std::string> changed = site_book_.note(worker, stats);
  if (changed.empty()) return;
  std::vector<std::pair<model::LoadBalancerRef, lb::RuleRef>> rules;
  {
    const MutexLock lock(mu_);
    for (const ListenerRecord* record : table_.all()) {
      if (!is_site(record->spec.protocol)) continue;
      const std::string site = site_name(*record);
      for (const model::Rule& rule : record->spec.rules)
        if (std::ranges::binary_search(changed, route_name(site, rule.key)))
          rules.push_back({record->lb, {record->id, rule.key}});
    }
  }
  for (const auto& [lb, rule] : rules) followers_.note_change(lb, rule);
}

// A Secret may have another content under the same name: whoever looks at all listeners makes us
// look at that too. What cannot be read now is left as it is.
void EdgeDriver::renew_certificates(const Context& context, const model::LoadBalancerRef& lb) {
  struct Wanted {
    model::ListenerId id;
    std::optional<model::RuleKey> key;
    Boxed<model::Tls> tls;
    haproxy::SiteTls has;
  };
  std::vector<Wanted> all;
  {
    const MutexLock lock(mu_);
    for (const ListenerRecord* record : table_.of(lb)) {
      if (!is_site(record->spec.protocol)) continue;
      if (record->spec.whole.tls)
        all.push_back({record->id, {}, record->spec.whole.tls, record->site.whole.names});
      for (const model::Rule& rule : record->spec.rules)
        if (const auto own = record->site.by_rule.find(rule.key);
            rule.attributes.tls && own != record->site.by_rule.end())
          all.push_back({record->id, rule.key, rule.attributes.tls, own->second.names});
    }
  }
  bool renewed = false;
  CertificatesOnce source(options_.certificates.get());
  for (const Wanted& one : all) {
    Result<SiteCertificates> now = read_certificates(context, source.get(), one.tls);
    if (!now || now->names == one.has) continue;
    const MutexLock lock(mu_);
    ListenerRecord* const record = table_.find(lb, one.id);
    if (record == nullptr) continue;
    (one.key ? record->site.by_rule[*one.key] : record->site.whole) = std::move(*now);
    renewed = true;
  }
  const MutexLock lock(mu_);
  if (renewed && supervisor_) supervisor_->poke();
}

}  // namespace berth::edge
