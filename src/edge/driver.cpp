#include "edge/driver.h"
#include "base/fnv.h"
#include "edge/site_call.h"
#include "edge/site_rules.h"
#include "lb/questions.h"

#include <algorithm>
#include <numeric>
#include <thread>

namespace berth::edge {
namespace {

// Between two looks whether connections are left.
constexpr Duration kDrainLook = std::chrono::milliseconds{50};

std::size_t default_threads() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMaxDefaultThreads);
}

// TCP without somebody for new connections turns clients away; sessions of UDP need the socket for
// as long as they go on.
bool needs_sockets(const ForwardSpec& spec, const std::vector<model::WeightedTarget>& targets) {
  if (spec.transport == model::Transport::udp) return !targets.empty();
  return std::ranges::any_of(targets, [](const auto& target) { return target.weight > 0; });
}

std::size_t or_default(std::size_t value, std::size_t otherwise) {
  return value == 0 ? otherwise : value;
}

SeatBounds seat_bounds(const EdgeOptions& options, std::size_t all) {
  const SeatBounds by_default = default_seat_bounds(all);
  return {
      .per_listener = or_default(options.connections_per_listener, by_default.per_listener),
      .per_client = or_default(options.connections_per_client, by_default.per_client),
  };
}

DataPlane::Options plane_options(const EdgeOptions& options) {
  constexpr std::size_t kFilesPerConnection = 2;
  const std::size_t files = or_default(options.fd_budget, default_fd_budget());
  const std::size_t listening =
      std::min(files, or_default(options.listening_files, default_listening_files(files)));
  const std::size_t others = files - listening;
  const std::size_t sessions = or_default(options.max_udp_sessions, default_udp_sessions(others));
  return {.threads = or_default(options.threads, default_threads()),
          .fd_budget = files,
          .listening_files = listening,
          .tcp = seat_bounds(options, others / kFilesPerConnection),
          .udp = seat_bounds(options, sessions),
          .udp_idle = options.udp_idle,
          .max_udp_sessions = sessions,
          .connect_patience = kConnectPatienceSeconds * options.second};
}

}  // namespace

Result<std::unique_ptr<EdgeDriver>> EdgeDriver::start(EdgeOptions options) {
  const LowPorts low_ports = options.low_ports.value_or(low_ports_of_process());
  if (low_ports.limit > 0 && low_ports.limit - 1 + low_ports.offset > 65'535) {
    return fail(Code::invalid, "ports below {} do not fit at an offset of {}", low_ports.limit,
                low_ports.offset);
  }
  Result<std::unique_ptr<DataPlane>> plane = DataPlane::start(plane_options(options));
  if (!plane) return pass(plane);
  Result<std::unique_ptr<HealthChecker>> health =
      HealthChecker::start((*plane)->budget(), options.second);
  if (!health) return pass(health);
  return std::unique_ptr<EdgeDriver>(
      new EdgeDriver(std::move(options), low_ports, std::move(*plane), std::move(*health)));
}

EdgeDriver::EdgeDriver(EdgeOptions options, LowPorts low_ports, std::unique_ptr<DataPlane> plane,
                       std::unique_ptr<HealthChecker> health)
    : options_(std::move(options)),
      low_ports_(low_ports),
      table_(low_ports, options_.listener_quota),
      followers_([this](const lb::Place& place, const lb::RuleRef& rule) {
        std::vector<lb::TargetHealth> out;
        const MutexLock lock(mu_);
        if (const ListenerRecord* const record = table_.find(place.lb, rule.listener))
          add_health(*record, rule.key, out);
        return out;
      }),
      plane_(std::move(plane)),
      health_(std::move(health)) {}

EdgeDriver::~EdgeDriver() = default;

const model::Abilities& EdgeDriver::abilities() const {
  return model::traits_of(model::Provider::edge).abilities;
}

// Of what it is, so that it is the same after a restart, and one that somebody noted down before
// never names another listener.
model::ListenerId EdgeDriver::id_for(const model::LoadBalancerRef& lb, const ForwardSpec& spec) {
  std::string text =
      fmt::format("{} {} {}-{} {}", model::canonical(lb), model::to_string(spec.protocol),
                  spec.ports.first, spec.ports.last, spec.name);
  for (;;) {
    model::ListenerId id(fmt::format("edge-{:016x}", Fnv1a64().add(text).value()));
    if (table_.find(lb, id) == nullptr) return id;
    text += '+';  // two that have met in 64 bits
  }
}

Result<std::vector<SocketAddress>> EdgeDriver::vips_of(const model::LoadBalancerRef& lb) const {
  const Result<std::vector<std::string>> texts = options_.addresses(lb);
  if (!texts) return fail(texts.error());
  std::vector<SocketAddress> vips;
  for (const std::string& text : *texts) {
    const Result<SocketAddress> vip = SocketAddress::of({text, 0});
    if (!vip) return fail(vip.error());
    // Datagrams would be answered from whichever address the kernel picks.
    if (vip->is_any())
      return fail(Code::invalid, "a load balancer cannot have the address {}", text);
    if (!std::ranges::count(vips, *vip)) vips.push_back(*vip);
  }
  return vips;
}

std::vector<Result<model::LoadBalancerInfo>> EdgeDriver::describe(
    const Context& context, const model::CredentialId&,
    std::span<const model::LoadBalancerRef> lbs) {
  if (context.expired())
    return all_failed<model::LoadBalancerInfo>(lbs.size(), context.end_error());
  std::vector<Result<model::LoadBalancerInfo>> outcomes;
  for (const model::LoadBalancerRef& lb : lbs) outcomes.push_back(describe_one(lb));
  return outcomes;
}

Result<std::vector<lb::FoundLoadBalancer>> EdgeDriver::search(const Context& context,
                                                              const model::CredentialId&,
                                                              const lb::DirectoryQuery& query) {
  if (context.expired()) return fail(context.end_error());
  std::vector<lb::FoundLoadBalancer> found;
  if (query.name.empty() || !query.tags.empty()) return found;
  const model::LoadBalancerRef lb{.id = query.name};
  if (Result<model::LoadBalancerInfo> info = describe_one(lb))
    found.push_back({.ref = lb, .info = std::move(*info)});
  return found;
}

Result<model::LoadBalancerInfo> EdgeDriver::describe_one(const model::LoadBalancerRef& lb) const {
  Result<std::vector<SocketAddress>> vips = vips_of(lb);
  if (!vips) return pass(vips);
  model::LoadBalancerInfo info{.name = lb.id,
                               .type = options_.type,
                               .listener_quota = options_.listener_quota,
                               .low_port_limit = low_ports_.limit,
                               .low_port_offset = low_ports_.offset};
  for (const SocketAddress& vip : *vips) info.vips.push_back(vip.to_target().ip);
  return info;
}

Result<std::vector<lb::ObservedListener>> EdgeDriver::list(const Context& context,
                                                           const lb::Place& place) {
  if (context.expired()) return fail(context.end_error());
  if (Result<std::vector<SocketAddress>> vips = vips_of(place.lb); !vips) return pass(vips);
  renew_certificates(context, place.lb);
  std::vector<lb::ObservedListener> out;
  const MutexLock lock(mu_);
  for (const ListenerRecord* record : table_.of(place.lb))
    out.push_back({record->id, listener_of(record->spec)});
  return out;
}

Result<std::vector<lb::ObservedListener>> EdgeDriver::look_up(
    const Context& context, const lb::Place& place, std::span<const lb::Question> questions) {
  Result<std::vector<lb::ObservedListener>> all = list(context, place);
  if (!all) return all;
  return lb::answers_among(std::move(*all), questions);
}

std::vector<Result<model::ListenerId>> EdgeDriver::create(
    const Context& context, const lb::Place& place, std::span<const model::ListenerSpec> wanted) {
  if (context.expired()) return all_failed<model::ListenerId>(wanted.size(), context.end_error());
  const Result<std::vector<SocketAddress>> vips = vips_of(place.lb);
  if (!vips) return all_failed<model::ListenerId>(wanted.size(), vips.error());
  std::vector<Result<model::ListenerId>> outcomes;
  CertificatesOnce source(options_.certificates.get());
  for (const model::ListenerSpec& spec : wanted) {
    Result<SiteCertificates> certificates = certificates_of(context, spec, source.get());
    const MutexLock lock(mu_);
    outcomes.push_back(certificates ? create_one(place.lb, *vips, spec, std::move(*certificates))
                                    : Result<model::ListenerId>(pass(certificates)));
  }
  return outcomes;
}

ListenerPtr EdgeDriver::carrier_of(const ListenerRecord& record) const {
  const model::Transport transport = record.spec.transport;
  auto out = std::make_shared<Listener>(Listener::Options{
      .id = record.id.value,
      .protocol = transport,
      .workers = plane_->threads(),
      .second = options_.second,
      .on_end = [book = book_, key = TallyKey{record.lb, transport}](const Tally& last) {
        book->add(key, last);
      }});
  out->set_attributes(record.spec.attributes);
  return out;
}

Result<model::ListenerId> EdgeDriver::create_one(const model::LoadBalancerRef& lb,
                                                 const std::vector<SocketAddress>& vips,
                                                 const model::ListenerSpec& wanted,
                                                 SiteCertificates certificates) {
  if (Result<> good = check_ports(wanted.ports); !good) return pass(good);
  Result<ForwardSpec> spec = forward_of(wanted);
  if (!spec) return pass(spec);
  Result<ListenerRecord*> holder = table_.holder(lb, *spec, vips);
  if (!holder) return pass(holder);
  if (*holder != nullptr) return (*holder)->id;

  ListenerRecord record{.lb = lb,
                        .id = id_for(lb, *spec),
                        .spec = std::move(*spec),
                        .vips = vips,
                        .site = {.whole = std::move(certificates)}};
  if (is_site(record.spec.protocol))
    site_book_.name(site_name(record), {lb, record.spec.protocol});
  else
    record.listener = carrier_of(record);
  model::ListenerId id = record.id;
  if (Result<> added = table_.add(std::move(record)); !added) return pass(added);
  return id;
}

std::vector<Result<>> EdgeDriver::remove(const Context& context, const lb::Place& place,
                                         std::span<const model::ListenerId> ids) {
  if (context.expired()) return all_failed<void>(ids.size(), context.end_error());
  std::vector<SocketAddress> sites;
  {
    const MutexLock lock(mu_);
    for (const model::ListenerId& id : ids) {
      ListenerRecord* const record = table_.find(place.lb, id);
      if (record == nullptr) continue;
      if (record->open && is_site(record->spec.protocol))
        for (const SocketAddress& vip : record->vips)
          sites.push_back(vip.with_port(low_ports_.opened_at(record->spec.ports.first)));
      remove_one(*record);
    }
  }
  settle(context);
  if (!sites.empty()) wait_until_free(context, sites);
  return std::vector<Result<>>(ids.size());
}

void EdgeDriver::remove_one(ListenerRecord& record) {
  if (is_site(record.spec.protocol)) {
    site_book_.forget(site_name(record));
    table_.remove(record);
    return;
  }
  if (is_checked(record.spec)) health_->forget(record.listener);
  if (auto gone = record.listener->set_targets({})) plane_->release(std::move(*gone));
  close_sockets(record);
  table_.remove(record);
}

std::vector<Result<>> EdgeDriver::change_targets(const Context& context, const lb::Place& place,
                                                 std::span<const lb::TargetChange> changes) {
  if (context.expired()) return all_failed<void>(changes.size(), context.end_error());
  std::vector<Result<>> outcomes(changes.size());
  std::vector<std::size_t> left(changes.size());
  std::iota(left.begin(), left.end(), 0);
  SiteCall sites;
  for (;;) {
    std::vector<std::size_t> again;
    {
      const MutexLock lock(mu_);
      for (const std::size_t i : left) {
        outcomes[i] = change_one(place.lb, changes[i], sites, i);
        if (outcomes[i] || outcomes[i].error().code != Code::conflict) continue;
        // A socket that a call of ours is about to close frees its port in a moment.
        if (closes_done_ < closes_asked_) again.push_back(i);
        outcomes[i].error().code = Code::already_exists;
      }
    }
    settle(context);
    if (again.empty() || context.expired()) break;
    left = std::move(again);
  }
  settle(context, sites, outcomes);
  for (const lb::TargetChange& change : changes) followers_.note_change(place.lb, change.rule);
  return outcomes;
}

void EdgeDriver::check_health(const ListenerRecord& record) {
  health_->set(record.listener, record.spec.attributes.health_check,
               [this, lb = record.lb, rule = lb::RuleRef{record.id, {}}] {
                 followers_.note_change(lb, rule);
               });
}

// Returns when the threads have done what was posted to them, and says that sockets are closed.
void EdgeDriver::settle(const Context& context) {
  std::uint64_t asked = 0;
  {
    const MutexLock lock(mu_);
    asked = closes_asked_;
  }
  plane_->settle(context.tasks);
  const MutexLock lock(mu_);
  closes_done_ = std::max(closes_done_, asked);
}

void EdgeDriver::close_sockets(ListenerRecord& record) {
  if (!record.open) return;
  record.open = false;
  ++closes_asked_;
  plane_->close(record.listener);
}

Result<ListenerRecord*> EdgeDriver::find(const model::LoadBalancerRef& lb,
                                         const lb::RuleRef& rule) {
  ListenerRecord* const record = table_.find(lb, rule.listener);
  if (record == nullptr) return no_such_listener(lb, rule.listener);
  if (!rule.key.empty()) return no_such_rule(lb, rule);
  return record;
}

Result<> EdgeDriver::change_one(const model::LoadBalancerRef& lb, const lb::TargetChange& change,
                                SiteCall& sites, std::size_t entry) {
  if (ListenerRecord* const site = table_.find(lb, change.rule.listener);
      site != nullptr && is_site(site->spec.protocol)) {
    sites.note(*site, entry);
    return retarget_rule(*site, change);
  }
  const Result<ListenerRecord*> found = find(lb, change.rule);
  if (!found) return fail(found.error());
  ListenerRecord* const record = *found;
  Result<std::vector<model::WeightedTarget>> targets =
      changed_targets(record->spec.targets, record->spec.ports.size(), change);
  if (!targets) return pass(targets);
  for (const auto& [target, weight] : change.add)
    if (Result<> good = check_target(*record, record->spec, target); !good) return good;
  return retarget(*record, std::move(*targets));
}

Result<> EdgeDriver::retarget(ListenerRecord& record, std::vector<model::WeightedTarget> targets) {
  const bool wants_sockets = needs_sockets(record.spec, targets);
  const bool opens = wants_sockets && !record.open;
  std::vector<BoundSocket> opened;
  if (opens) {
    Result<std::vector<BoundSocket>> sockets = open_sockets(record);
    if (!sockets) return pass(sockets);
    opened = std::move(*sockets);
  }
  Result<std::vector<BackendPtr>> gone = record.listener->set_targets(targets);
  if (!gone) {
    plane_->budget().give_back_listening(opened.size());
    return pass(gone);
  }
  plane_->release(std::move(*gone));
  if (opens) plane_->open(record.listener, std::move(opened));
  if (!wants_sockets) close_sockets(record);
  record.open = wants_sockets;
  table_.set_targets(record, std::move(targets));
  if (is_checked(record.spec)) check_health(record);
  // We have these ports now, so nobody else answers there.
  if (opens) leave_own_places(table_.leading_to(record.vips));
  return {};
}

// All ports on all addresses, or none.
Result<std::vector<BoundSocket>> EdgeDriver::open_sockets(const ListenerRecord& record) {
  const ForwardSpec& spec = record.spec;
  FdBudget& budget = plane_->budget();
  const std::size_t needed = record.vips.size() * spec.ports.size();
  if (!budget.take_listening(needed)) {
    return fail(error_of(Code::exhausted, "listener '{}' needs {} sockets, {} of {} are in use",
                         spec.name, needed, budget.used(), budget.most())
                    .about("load balancer " + model::to_string(record.lb))
                    .with_hint("raise the limit of open files, or spread listeners over replicas"));
  }
  std::vector<BoundSocket> sockets;
  for (const SocketAddress& vip : record.vips) {
    for (std::uint32_t nth = 0; nth < spec.ports.size(); ++nth) {
      const auto port = static_cast<model::Port>(spec.ports.first + nth);
      const SocketAddress at = vip.with_port(low_ports_.opened_at(port));
      Result<Fd> fd = spec.transport == model::Transport::tcp ? listen_tcp(at) : bind_udp(at);
      if (!fd) {
        budget.give_back_listening(needed);
        return pass(fd);
      }
      sockets.push_back({std::move(*fd), static_cast<model::Port>(nth)});
    }
  }
  return sockets;
}

Result<> EdgeDriver::change_one(const model::LoadBalancerRef& lb, const lb::RuleChange& change) {
  const Result<ListenerRecord*> found = find(lb, change.rule);
  if (!found) return fail(found.error());
  ListenerRecord& record = **found;
  if (Result<> good = check_attributes(record, change.attributes); !good) return good;
  const bool was_checked = is_checked(record.spec);
  record.spec.attributes = change.attributes;
  record.listener->set_attributes(change.attributes);
  if (was_checked || is_checked(record.spec)) check_health(record);
  return {};
}

std::size_t EdgeDriver::drain(const Context& context) {
  {
    const MutexLock lock(mu_);
    for (ListenerRecord* const one : table_.every())
      if (one->listener) close_sockets(*one);
    if (supervisor_) supervisor_->finish();
  }
  settle(context);
  while (connections() > 0 && !context.expired())
    (void)sleep_for(context.tasks, kDrainLook, context.stop);
  return connections();
}

}  // namespace berth::edge
