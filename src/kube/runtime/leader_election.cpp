#include "kube/runtime/leader_election.h"

#include <algorithm>

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

std::string record_of(const Value& lease) {
  const Value* spec = wire::find(lease, "/spec");
  return spec ? wire::to_json(*spec) : std::string();
}

std::string_view holder_of(const Value& lease) {
  return wire::string_at(lease, "/spec/holderIdentity");
}

// The duration that the holder promised; ours when it says nothing.
Duration duration_of(const Value& lease, Duration fallback) {
  const auto seconds = wire::int_at(lease, "/spec/leaseDurationSeconds");
  return seconds ? Duration{std::chrono::seconds{*seconds}} : fallback;
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

bool LeaderElector::may_write(Instant now) const {
  return leading_ && now < saturating_add(last_renewal_.load(), options_.renew_deadline);
}

void LeaderElector::set_leading(bool leading) {
  leading_ = leading;
  if (status_) status_->set(leading ? 1 : 0);
}

Result<> LeaderElector::acquire(const Context& context) {
  for (;;) {
    const Result<bool> mine = try_once(context.within(options_.renew_deadline));
    if (mine && *mine) {
      set_leading(true);
      log_info("leading",
               {{"lease", options_.ns + "/" + options_.name}, {"identity", options_.identity}});
      return {};
    }
    if (!mine) log_debug("lease not taken", {{"error", mine.error().to_string()}});
    const Duration pause = random_.jittered(options_.retry_period, options_.retry_jitter);
    (void)sleep_for(context.tasks, pause, context.stop);
    if (context.expired()) return fail(context.end_error());
  }
}

Result<> LeaderElector::hold(const Context& context) {
  for (;;) {
    if (!sleep_for(context.tasks, options_.retry_period, context.stop)) return {};
    const Instant give_up = saturating_add(last_renewal_.load(), options_.renew_deadline);
    Context attempt = context;
    attempt.deadline = std::min(context.deadline, give_up);
    const Result<bool> mine = try_once(attempt);
    if (context.stop.stop_requested()) return {};
    if (mine && *mine) continue;
    const bool taken = mine && !*mine;
    if (!taken && context.tasks.now() < give_up) continue;
    set_leading(false);
    if (taken) {
      return fail(Code::conflict, "the lease {}/{} was taken by {}", options_.ns, options_.name,
                  holder_of(observed_->lease));
    }
    return fail(error_of(Code::conflict, "the lease {}/{} could not be renewed in time",
                         options_.ns, options_.name)
                    .because(mine.error()));
  }
}

// True: this replica holds the lease now. False: another does.
Result<bool> LeaderElector::try_once(const Context& context) {
  if (holder_of(observed_->lease) == options_.identity && leading_) {
    Result<bool> renewed = renew_known(context);
    if (renewed || renewed.error().code != Code::conflict) return renewed;
    if (slow_path_) slow_path_->increment();
  }
  return take_or_wait(context);
}

// The usual case: nobody wrote since our last renewal, so the copy that we have is the current one.
Result<bool> LeaderElector::renew_known(const Context& context) {
  return write(context, observed_->lease, true, context.tasks.now());
}

Result<bool> LeaderElector::take_or_wait(const Context& context) {
  const Instant begun = context.tasks.now();
  Result<Value> found = client_.get(context, types::kLease, {options_.ns, options_.name});
  if (!found && found.error().code != Code::not_found) return pass(found);
  if (!found) return write(context, Value(Object{}), false, begun);

  observe(*found, context.tasks.now());
  const std::string holder(holder_of(*found));
  const Instant runs_out =
      saturating_add(observed_->changed_at, duration_of(*found, options_.lease_duration));
  if (!holder.empty() && holder != options_.identity && context.tasks.now() < runs_out)
    return false;
  return write(context, std::move(*found), true, begun);
}

void LeaderElector::observe(Value lease, Instant at) {
  std::string record = record_of(lease);
  if (record != observed_->record || observed_->lease.is_null()) observed_->changed_at = at;
  observed_->record = std::move(record);
  observed_->lease = std::move(lease);
}

Result<bool> LeaderElector::write(const Context& context, Value lease, bool exists, Instant begun) {
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
  Result<Value> written = exists ? client_.update(context, types::kLease, lease)
                                 : client_.create(context, types::kLease, lease);
  if (!written) return pass(written);
  observe(std::move(*written), context.tasks.now());
  // From before the call: others count from when the server had it, which cannot be earlier.
  last_renewal_ = begun;
  return true;
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
  spec->as_object()["leaseDurationSeconds"] = 1;
  Result<Value> written = client_.update(context, types::kLease, lease);
  if (!written) return pass(written);
  return {};
}

}  // namespace berth::kube
