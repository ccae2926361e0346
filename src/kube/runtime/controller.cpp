#include "kube/runtime/controller.h"

#include "base/log.h"

namespace berth::kube {
namespace {

// Only a change of the input can help: trying the same again would fail the same way. What a server
// does not serve it may serve later, when its CRD is there again, and nobody tells us.
bool is_terminal(const Error& error) { return error.code == Code::invalid; }

}  // namespace

// The series of controller-runtime, created at the start so that a rate over them has a zero to
// begin from.
struct Controller::Metrics {
  Metrics(metrics::Registry& r, const ControllerOptions& options)
      : success(total(r, options, "success")),
        requeue_after(total(r, options, "requeue_after")),
        error(total(r, options, "error")),
        errors(r.counter("controller_runtime_reconcile_errors_total", "Reconciles that failed.",
                         {{"controller", options.name}})),
        terminal_errors(r.counter("controller_runtime_terminal_reconcile_errors_total",
                                  "Reconciles whose failure is not tried again.",
                                  {{"controller", options.name}})),
        timeouts(r.counter("controller_runtime_reconcile_timeouts_total",
                           "Reconciles that ran into their deadline.",
                           {{"controller", options.name}})),
        seconds(r.histogram("controller_runtime_reconcile_time_seconds", "Time of one reconcile.",
                            {{"controller", options.name}})),
        active(r.gauge("controller_runtime_active_workers", "Workers that are busy.",
                       {{"controller", options.name}})) {
    r.gauge("controller_runtime_max_concurrent_reconciles", "Workers there are.",
            {{"controller", options.name}})
        .set(options.workers);
  }

  static metrics::Counter& total(metrics::Registry& r, const ControllerOptions& options,
                                 const std::string& result) {
    return r.counter("controller_runtime_reconcile_total", "Reconciles by result.",
                     {{"controller", options.name}, {"result", result}});
  }

  metrics::Counter& success;
  metrics::Counter& requeue_after;
  metrics::Counter& error;
  metrics::Counter& errors;
  metrics::Counter& terminal_errors;
  metrics::Counter& timeouts;
  metrics::Histogram& seconds;
  metrics::Gauge& active;
};

Controller::Controller(Tasks& tasks, ControllerOptions options, Reconcile reconcile)
    : tasks_(tasks),
      options_(std::move(options)),
      reconcile_(std::move(reconcile)),
      metrics_(options_.registry ? std::make_unique<Metrics>(*options_.registry, options_)
                                 : nullptr),
      queue_(tasks, {.name = options_.name, .registry = options_.registry}),
      idle_(tasks.signal()) {
  queue_.shut_down();
}

Controller::~Controller() { stop(tasks_.now()); }

void Controller::start() {
  queue_.reopen();
  // First, so that no change falls between what is there and what comes.
  running_ = true;
  for (const auto& step : at_start_) step();
  for (int i = 0; i < options_.workers; ++i) {
    workers_.push_back(tasks_.spawn(options_.name, [this](std::stop_token stop) { work(stop); }));
  }
}

void Controller::stop(Instant drain_until) {
  running_ = false;
  queue_.shut_down();
  while (active_ > 0 && tasks_.wait(*idle_, drain_until, {})) {
  }
  for (const auto& worker : workers_) worker->request_stop();
  workers_.clear();
}

void Controller::work(std::stop_token stop) {
  while (const auto key = queue_.take(stop)) {
    ++active_;
    if (metrics_) metrics_->active.set(active_);
    reconcile_one(*key, stop);
    queue_.done(*key);
    if (--active_ == 0) idle_->notify();
    if (metrics_) metrics_->active.set(active_);
  }
}

void Controller::reconcile_one(const ObjectKey& key, const std::stop_token& stop) {
  const std::uint64_t id = next_reconcile_id_++;
  const Context context{.tasks = tasks_,
                        .stop = stop,
                        .deadline = saturating_add(tasks_.now(), options_.reconcile_timeout),
                        .fields = {{"controller", options_.name},
                                   {"object", key.to_string()},
                                   {"reconcile_id", fmt::format("{}-{}", options_.name, id)}}};
  const Instant begin = tasks_.now();
  const Result<Requeue> outcome = reconcile_(context, key);
  if (metrics_) metrics_->seconds.observe(to_seconds(tasks_.now() - begin));
  if (!outcome && outcome.error().code != Code::stopped) {
    LogFields fields = context.fields;
    fields.emplace_back("code", traits_of(outcome.error().code).name);
    fields.emplace_back("error", outcome.error().to_string());
    log_warn("reconcile failed", fields);
  }
  settle(key, outcome);
}

void Controller::settle(const ObjectKey& key, const Result<Requeue>& outcome) {
  if (outcome) {
    queue_.forget(key);
    if (outcome->after) queue_.add_after(key, *outcome->after);
    if (metrics_) (outcome->after ? metrics_->requeue_after : metrics_->success).increment();
    return;
  }
  const Error& error = outcome.error();
  if (error.code == Code::stopped) return;
  if (options_.on_error) options_.on_error(key, error);
  if (metrics_) {
    metrics_->error.increment();
    metrics_->errors.increment();
    if (is_terminal(error)) metrics_->terminal_errors.increment();
    if (error.code == Code::timeout) metrics_->timeouts.increment();
  }
  if (is_terminal(error)) return queue_.forget(key);
  if (error.retry_after) return queue_.add_after(key, *error.retry_after);
  queue_.add_after_failure(key);
}

}  // namespace berth::kube
