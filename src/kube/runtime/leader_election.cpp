#include "kube/runtime/leader_election.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace berth::kube {

using wire::Object;
using wire::Value;

struct LeaderElector::Observed {
  Value lease;
  std::string record;  // what must change for the holder to be alive
  Instant changed_at{};
};

namespace {

// What one who gives the lease up writes into it, as client-go does.
constexpr Duration kReleasedDuration = std::chrono::seconds{1};

std::string record_of(const Value& lease) {
  const Value* spec = wire::find(lease, "/spec");
  return spec ? wire::to_json(*spec) : std::string();
}

std::string_view holder_of(const Value& lease) {
  return wire::string_at(lease, "/spec/holderIdentity");
}

// The duration that the holder promised.
Duration duration_of(const Value& lease) {
  return std::chrono::seconds{wire::int_at(lease, "/spec/leaseDurationSeconds").value_or(0)};
}

// As `write_released` leaves it. A holder that somebody wiped out by hand may still write.
bool is_released(const Value& lease) {
  return holder_of(lease).empty() && duration_of(lease) == kReleasedDuration;
}

std::string_view uid_of(const Value& lease) { return wire::string_at(lease, "/metadata/uid"); }

std::string_view notice_of(const Value& lease) {
  static const std::string kPointer =
      "/metadata/annotations/" + wire::escape_pointer_step(kNoticeAnnotation);
  return wire::string_at(lease, kPointer);
}

// A former holder's is wiped out where we have nothing to say.
void set_notice(Value& lease, const std::string& notice) {
  if (notice_of(lease) == notice) return;
  Value& metadata = lease.as_object()["metadata"];
  if (!metadata.is_object()) metadata = Object{};
  Value& all = metadata.as_object()["annotations"];
  if (!all.is_object()) all = Object{};
  if (notice.empty()) {
    all.as_object().erase(kNoticeAnnotation);
  } else {
    all.as_object()[kNoticeAnnotation] = notice;
  }
}

std::int64_t transitions_of(const Value& lease) {
  return wire::int_at(lease, "/spec/leaseTransitions").value_or(0);
}

}  // namespace

LeaderElector::LeaderElector(Client& client, LeaderElectionOptions options, Random random)
    : client_(client),
      options_(std::move(options)),
      random_(random),
      observed_(std::make_unique<Observed>()) {
  if (options_.registry) {
    status_ = &options_.registry->gauge("leader_election_master_status",
                                        "1 on the replica that leads.", {{"name", options_.name}});
    slow_path_ = &options_.registry->counter("leader_election_slowpath_total",
                                             "Renewals that had to read the lease first.",
                                             {{"name", options_.name}});
  }
}

LeaderElector::~LeaderElector() = default;

bool LeaderElector::may_write(Instant now) const { return leading_ && now < fence_end_.load(); }

LeaseHolder LeaderElector::holder() const {
  const MutexLock lock(mu_);
  return holder_;
}

void LeaderElector::set_leading(bool leading) {
  leading_ = leading;
  if (status_) status_->set(leading ? 1 : 0);
}

Error LeaderElector::taken_by_another() const {
  return error_of(Code::conflict, "the lease {}/{} is held by {}", options_.ns, options_.name,
                  holder_of(observed_->lease));
}

Result<> LeaderElector::acquire(const Context& context) {
  for (;;) {
    const Result<> leads = regain(context);
    if (leads || leads.error().code != Code::conflict) return leads;
    const Duration pause = random_.jittered(options_.retry_period, options_.retry_jitter);
    (void)sleep_for(context.tasks, pause, context.stop);
    if (context.expired()) return fail(context.end_error());
  }
}

Result<> LeaderElector::regain(const Context& context) {
  for (;;) {
    const Result<Standing> standing = try_once(context.within(options_.renew_deadline));
    if (standing && *standing == Standing::leads) {
      log_info("leading",
               {{"lease", options_.ns + "/" + options_.name}, {"identity", options_.identity}});
      return {};
    }
    if (standing && *standing == Standing::follows) return fail(taken_by_another());
    if (!standing) log_debug("lease not taken", {{"error", standing.error().to_string()}});
    const Duration pause = random_.jittered(options_.retry_period, options_.retry_jitter);
    (void)sleep_for(context.tasks, pause, context.stop);
    if (context.expired()) return fail(context.end_error());
  }
}

Result<> LeaderElector::hold(const Context& context) {
  for (;;) {
    if (!sleep_for(context.tasks, options_.retry_period, context.stop)) return {};
    Context attempt = context;
    attempt.deadline = std::min(context.deadline, fence_end_.load());
    const Result<Standing> standing = try_once(attempt);
    if (context.stop.stop_requested()) return {};
    if (standing && *standing == Standing::leads) continue;
    // An attempt that finds the Lease gone or with another ends the lead by itself.
    const bool taken_away = !leading_;
    if (!taken_away && context.tasks.now() < fence_end_.load()) continue;
    set_leading(false);
    if (standing && *standing == Standing::follows) return fail(taken_by_another());
    Error lost = error_of(Code::unavailable, "the lease {}/{} {}", options_.ns, options_.name,
                          taken_away ? "was taken away" : "could not be renewed in time");
    if (!standing) lost.cause = std::make_shared<const Error>(standing.error());
    return fail(std::move(lost));
  }
}

Result<LeaderElector::Standing> LeaderElector::try_once(const Context& context) {
  const Instant begun = context.tasks.now();
  Result<Standing> tried = renew_or_look(context);
  if (context.stop.stop_requested()) return tried;
  note_answer(tried, tried ? context.tasks.now() : begun);
  return tried;
}

void LeaderElector::note_answer(const Result<Standing>& tried, Instant now) {
  const bool is_silent =
      !tried && (tried.error().code == Code::unavailable || tried.error().code == Code::timeout);
  if (is_silent) {
    if (!silent_since_) silent_since_ = now;
    return;
  }
  const auto since = std::exchange(silent_since_, std::nullopt);
  if (since && now - *since >= options_.renew_deadline) options_.on_answer_again();
}

Result<LeaderElector::Standing> LeaderElector::renew_or_look(const Context& context) {
  // The usual case: nobody wrote since our last renewal, so the copy that we have is the current
  // one.
  if (holder_of(observed_->lease) == options_.identity) {
    Result<Standing> renewed = write(context, observed_->lease, true, context.tasks.now());
    // That it is gone has no code of its own: the server takes an update for a creation then, and
    // says that something is wrong with it.
    if (renewed || context.expired()) return renewed;
    if (slow_path_) slow_path_->increment();
  }
  return look_and_take(context);
}

Result<LeaderElector::Standing> LeaderElector::look_and_take(const Context& context) {
  const Instant begun = context.tasks.now();
  Result<Value> found = client_.get(context, types::kLease, {options_.ns, options_.name});
  if (!found && found.error().code != Code::not_found) return pass(found);
  const Instant now = context.tasks.now();
  if (!found) {
    set_leading(false);  // another may be making it at this moment
    // Who would have to wait in any case lets those go first that need not.
    const bool first_look = !std::exchange(missing_, true);
    if (first_look && now < leads_after_making_it(now)) return Standing::waits;
    return write(context, Value(Object{}), false, begun);
  }
  missing_ = false;
  const std::string_view holder = holder_of(*found);
  // Ours, by a call whose answer we did not get.
  if (holder == options_.identity && uid_of(*found) != uid_of(observed_->lease))
    leads_from_ = leads_after_making_it(now);
  observe(*found, now);
  if (holder == options_.identity || is_released(*found) || has_run_out(*found, now))
    return write(context, std::move(*found), true, begun);
  set_leading(false);
  return holder.empty() ? Standing::waits : Standing::follows;
}

// Whatever somebody wrote into it: its holder, if it is one of us, has our times.
bool LeaderElector::has_run_out(const Value& lease, Instant now) const {
  const Duration promised = std::max(duration_of(lease), options_.lease_duration);
  return now >= saturating_add(observed_->changed_at, promised);
}

void LeaderElector::observe(Value lease, Instant at) {
  std::string record = record_of(lease);
  if (record != observed_->record || observed_->lease.is_null()) observed_->changed_at = at;
  {
    const MutexLock lock(mu_);
    holder_ = {std::string(holder_of(lease)), std::string(notice_of(lease))};
  }
  observed_->record = std::move(record);
  observed_->lease = std::move(lease);
}

Result<LeaderElector::Standing> LeaderElector::write(const Context& context, Value lease,
                                                     bool exists, Instant begun) {
  const std::string now = format_rfc3339_micro(context.tasks.wall_time());
  const bool same_holder = holder_of(lease) == options_.identity;
  const std::int64_t transitions = transitions_of(lease) + (exists && !same_holder ? 1 : 0);
  const std::string acquired(same_holder ? wire::string_at(lease, "/spec/acquireTime")
                                         : std::string_view(now));
  const Value spec = Object{
      {"holderIdentity", options_.identity},
      {"leaseDurationSeconds",
       std::chrono::ceil<std::chrono::seconds>(options_.lease_duration).count()},
      {"acquireTime", acquired},
      {"renewTime", now},
      {"leaseTransitions", transitions},
  };
  if (!exists) {
    lease = Object{{"apiVersion", types::kLease.api_version()},
                   {"kind", types::kLease.kind},
                   {"metadata", Object{{"namespace", options_.ns}, {"name", options_.name}}}};
  }
  lease.as_object()["spec"] = spec;
  set_notice(lease, options_.notice());
  Result<Value> written = exists ? client_.update(context, types::kLease, lease)
                                 : client_.create(context, types::kLease, lease);
  if (!written) return pass(written);
  observe(std::move(*written), context.tasks.now());
  if (!exists) leads_from_ = leads_after_making_it(context.tasks.now());
  if (exists && !same_holder) leads_from_ = Instant::min();  // its former holder's time is over
  if (begun < leads_from_) return Standing::waits;
  // From before the call: others count from when the server had it, which cannot be earlier.
  fence_end_ = saturating_add(begun, options_.renew_deadline);
  set_leading(true);
  return Standing::leads;
}

// Whoever led under a Lease that is gone has stopped by the end of a lease duration. Before our own
// fence ends nobody else can have got so far; nor can anybody where we were the first.
Instant LeaderElector::leads_after_making_it(Instant now) const {
  const bool nobody_else = now < fence_end_.load() || now < options_.nobody_led_until();
  return nobody_else ? Instant::min() : saturating_add(now, options_.lease_duration);
}

Result<> LeaderElector::release(const Context& context) {
  if (!leading_) return {};
  set_leading(false);
  Value lease = observed_->lease;
  for (;;) {
    const Result<> released = write_released(context, lease);
    if (released || released.error().code != Code::conflict) return released;
    // A renewal whose answer we did not wait for has changed it since.
    Result<Value> found = client_.get(context, types::kLease, {options_.ns, options_.name});
    if (!found) return pass(found);
    if (holder_of(*found) != options_.identity) return {};
    lease = std::move(*found);
  }
}

Result<> LeaderElector::write_released(const Context& context, Value lease) {
  Value* spec = wire::find(lease, "/spec");
  if (!spec || !spec->is_object()) return {};
  spec->as_object()["holderIdentity"] = "";
  spec->as_object()["leaseDurationSeconds"] =
      std::chrono::duration_cast<std::chrono::seconds>(kReleasedDuration).count();
  Result<Value> written = client_.update(context, types::kLease, lease);
  if (!written) return pass(written);
  return {};
}

}  // namespace berth::kube
