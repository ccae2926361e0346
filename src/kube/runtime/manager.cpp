#include "kube/runtime/manager.h"

#include <ranges>

#include "base/log.h"

namespace berth::kube {
namespace {

// Time to give the lease back; a failure only costs others the wait until it runs out.
constexpr Duration kReleaseTimeout = std::chrono::seconds{5};

// Waits for the stop alone.
void wait_for_stop(const Context& context) {
  const auto nobody_notifies = context.tasks.signal();
  (void)context.tasks.wait(*nobody_notifies, context.deadline, context.stop);
}

}  // namespace

Result<> Manager::run(const Context& context) {
  std::stop_source caches_end;  // later than the stop: draining controllers still read them
  for (InformerCore* cache : caches()) cache->start(caches_end.get_token());
  Result<> outcome = sync_caches(context);
  if (outcome) {
    start_controllers(false);
    ready_ = true;
    outcome = lead(context);
  }
  if (!outcome && outcome.error().code == Code::conflict) {
    log_warn("another replica leads", {{"error", outcome.error().to_string()}});
    for (const auto& step : on_deposed_) step(context);
  }
  ready_ = false;
  leading_ = false;
  stop_controllers(context.tasks, true, options_.drain);
  stop_controllers(context.tasks, false, options_.drain);
  release_lease(context);
  caches_end.request_stop();
  for (InformerCore* cache : caches()) cache->stop();  // their handlers reach into the controllers
  if (!outcome && outcome.error().code == Code::stopped) return {};
  return outcome;
}

// The stop has been requested by now, and the release must still go out.
void Manager::release_lease(const Context& context) {
  if (!elector_) return;
  const Context last{.tasks = context.tasks, .fields = context.fields};
  const Result<> released = elector_->release(last.within(kReleaseTimeout));
  if (!released) log_warn("lease not released", {{"error", released.error().to_string()}});
}

std::string Manager::missing_cache() const {
  for (InformerCore* cache : caches())
    if (!cache->progress().synced()) return cache->type().plural;
  return "";
}

// For as long as it takes: a process that ends would only begin anew, and ask for more.
Result<> Manager::sync_caches(const Context& context) {
  for (InformerCore* cache : caches()) {
    for (;;) {
      const Result<> synced = cache->wait_synced(context.within(options_.sync_report));
      if (synced) break;
      if (context.expired()) return synced;
      log_warn("waiting for a cache to fill", {{"resource", cache->type().plural}});
    }
  }
  return {};
}

Result<> Manager::lead(const Context& context) {
  if (!elector_) {
    if (Result<> taken = take_over(context); !taken) return taken;
    wait_for_stop(context);
    return {};
  }
  Result<> leads = elector_->acquire(context);
  while (leads) {
    const Result<> led = lead_while_held(context);
    if (led) return led;
    // What was begun under a lease that is lost must not go on: another replica may lead soon.
    leading_ = false;
    stop_controllers(context.tasks, true, Duration::zero());
    if (led.error().code != Code::unavailable) return led;
    log_warn("the lead is lost: nothing is written until it is back, what is carried goes on",
             {{"error", led.error().to_string()}});
    leads = elector_->regain(context);
  }
  return leads;
}

// Until the stop (success), or until the lead is lost.
Result<> Manager::lead_while_held(const Context& context) {
  // The lease is renewed beside the take-over, which may take longer than the lease lasts. When it
  // is lost, `ended` stops whatever this replica began under it.
  std::stop_source ended;
  const std::stop_callback forward(context.stop, [&] { ended.request_stop(); });
  Result<> held;
  const auto holder = context.tasks.spawn("lease", [&](std::stop_token) {
    Context renewing = context;
    renewing.stop = ended.get_token();
    held = elector_->hold(renewing);
    ended.request_stop();
  });
  Context leading = context;
  leading.stop = ended.get_token();
  const Result<> taken = take_over(leading);
  if (taken) {
    wait_for_stop(leading);
  } else {
    ended.request_stop();
  }
  holder->join();
  return held && !taken ? taken : held;
}

Result<> Manager::relist(InformerCore& cache, const Context& context) {
  // Longer each time: a new request begins a list anew.
  for (Duration patience = options_.sync_report;; patience *= 2) {
    const Result<> listed = cache.relist_at_latest(context.within(patience));
    if (listed) return {};
    if (context.expired())
      return fail(error_of(listed.error().code, "no quorum list")
                      .about(cache.type().plural)
                      .because(listed.error()));
    log_warn("waiting for a quorum list", {{"resource", cache.type().plural}});
    // Somebody may have removed the kind after we looked.
    for (const auto& step : before_lead_) step(context);
  }
}

Result<> Manager::take_over(const Context& context) {
  for (const auto& step : before_lead_) step(context);
  for (InformerCore* cache : caches())
    if (Result<> listed = relist(*cache, context); !listed) return listed;
  for (const auto& step : on_lead_) {
    if (Result<> done = step(context); !done) return done;
  }
  leading_ = true;
  start_controllers(true);
  return {};
}

void Manager::start_controllers(bool that_need_leadership) {
  for (Controller* controller : controllers_) {
    if (controller->options().needs_leadership == that_need_leadership) controller->start();
  }
}

void Manager::stop_controllers(Tasks& tasks, bool that_need_leadership, Duration drain) {
  const Instant until = saturating_add(tasks.now(), drain);
  for (Controller* controller : controllers_ | std::views::reverse) {
    if (controller->options().needs_leadership == that_need_leadership) controller->stop(until);
  }
}

}  // namespace berth::kube
