#include "metrics/registry.h"

#include <prometheus/check_names.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/encoding.h"
#include "base/log.h"
#include "base/mutex.h"

namespace berth::metrics {
namespace {

// All series of one name. The names of their labels are the same; the values tell them apart.
template <class Series>
struct Family {
  std::string help;
  std::map<Labels, std::unique_ptr<Series>> series{};
};

// Gauges that are replaced together.
struct Snapshot {
  std::string help;
  std::map<Labels, double> values{};
};

using AnyFamily = std::variant<Family<Counter>, Family<Gauge>, Family<Histogram>, Snapshot>;

bool same_label_names(const Labels& a, const Labels& b) {
  return std::ranges::equal(a, b, {}, &Labels::value_type::first, &Labels::value_type::first);
}

// What is wrong with it, or empty.
std::string complaint_about(const std::string& name, const std::string& help,
                            const Labels& labels) {
  if (!prometheus::CheckMetricName(name)) return "not a metric name";
  if (help.find('\n') != std::string::npos) return "the help text has a line break";
  for (const auto& [label, value] : labels)
    if (!prometheus::CheckLabelName(label) || label == "le" || label == "quantile")
      return "'" + label + "' is not a label name, or reserved";
  return {};
}

std::string complaint_about(const Buckets& buckets) {
  const bool finite = std::ranges::all_of(buckets, [](double b) { return std::isfinite(b); });
  const bool growing = std::ranges::adjacent_find(buckets, std::greater_equal{}) == buckets.end();
  return finite && growing && !buckets.empty() ? "" : "the buckets are not finite and growing";
}

// Prometheus refuses a whole scrape for one value that is not UTF-8.
Labels readable(Labels labels) {
  for (auto& [label, value] : labels) value = valid_utf8(value);
  return labels;
}

Labels overflow_of(Labels labels) {
  for (auto& [label, value] : labels) value = kOverflowValue;
  return labels;
}

std::vector<prometheus::ClientMetric::Label> shown(const Labels& labels) {
  std::vector<prometheus::ClientMetric::Label> out;
  for (const auto& [label, value] : labels) out.push_back({label, value});
  return out;
}

constexpr prometheus::MetricType type_of(const Family<Counter>&) {
  return prometheus::MetricType::Counter;
}
constexpr prometheus::MetricType type_of(const Family<Gauge>&) {
  return prometheus::MetricType::Gauge;
}
constexpr prometheus::MetricType type_of(const Family<Histogram>&) {
  return prometheus::MetricType::Histogram;
}
constexpr prometheus::MetricType type_of(const Snapshot&) { return prometheus::MetricType::Gauge; }

void collect(const Snapshot& snapshot, prometheus::MetricFamily& out) {
  for (const auto& [labels, value] : snapshot.values) {
    prometheus::ClientMetric metric;
    metric.gauge.value = value;
    metric.label = shown(labels);
    out.metric.push_back(std::move(metric));
  }
}

}  // namespace

Counter::Counter() : impl_(std::make_unique<prometheus::Counter>()) {}
Counter::~Counter() = default;
void Counter::increment(double by) { impl_->Increment(by); }
double Counter::value() const { return impl_->Value(); }

Gauge::Gauge() : impl_(std::make_unique<prometheus::Gauge>()) {}
Gauge::~Gauge() = default;
void Gauge::set(double value) { impl_->Set(value); }
void Gauge::increment(double by) { impl_->Increment(by); }
double Gauge::value() const { return impl_->Value(); }

Histogram::Histogram(const Buckets& buckets)
    : impl_(std::make_unique<prometheus::Histogram>(buckets)) {}
Histogram::~Histogram() = default;
void Histogram::observe(double value) { impl_->Observe(value); }

const Buckets& default_buckets() {
  static const Buckets kBuckets{0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3,  0.35,
                                0.4,   0.45, 0.5,   0.6,  0.7, 0.8,  0.9, 1,    1.25, 1.5,
                                1.75,  2,    2.5,   3,    3.5, 4,    4.5, 5,    6,    7,
                                8,     9,    10,    15,   20,  25,   30,  40,   50,   60};
  return kBuckets;
}

const Buckets& workqueue_buckets() {
  static const Buckets kBuckets{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000};
  return kBuckets;
}

// ---- Hooks

struct ScrapeHook::State {
  Mutex mu;
  std::function<void()> function GUARDED_BY(mu);
};

ScrapeHook::ScrapeHook(std::shared_ptr<State> state) : state_(std::move(state)) {}
ScrapeHook::~ScrapeHook() { cancel(); }

ScrapeHook& ScrapeHook::operator=(ScrapeHook&& other) noexcept {
  if (this == &other) return *this;
  cancel();
  state_ = std::move(other.state_);
  return *this;
}

void ScrapeHook::cancel() {
  if (!state_) return;
  const MutexLock lock(state_->mu);
  state_->function = nullptr;
}

// ---- Registry

struct Registry::Impl {
  Mutex mu;
  std::map<std::string, AnyFamily> families GUARDED_BY(mu);
  std::vector<std::weak_ptr<ScrapeHook::State>> hooks GUARDED_BY(mu);

  // Handed out where there is nothing to show.
  Counter unshown_counter;
  Gauge unshown_gauge;
  Histogram unshown_histogram{default_buckets()};

  // The series, made if it is new; null if the name is in use for something else.
  template <class Series, class... Args>
  Series* find_or_make(const std::string& name, const std::string& help, Labels labels,
                       const Args&... args) {
    const MutexLock lock(mu);
    const auto at = families.try_emplace(name, Family<Series>{help}).first;
    auto* family = std::get_if<Family<Series>>(&at->second);
    if (!family) return nullptr;
    auto& series = family->series;
    if (!series.empty() && !same_label_names(series.begin()->first, labels)) return nullptr;
    if (series.size() >= kMaxSeries && !series.contains(labels))
      labels = overflow_of(std::move(labels));
    auto& slot = series[std::move(labels)];
    if (!slot) slot = std::make_unique<Series>(args...);
    return slot.get();
  }

  template <class Series, class... Args>
  Series& series(Series& unshown, const std::string& name, const std::string& help,
                 const Labels& labels, std::string complaint, const Args&... args) {
    if (complaint.empty()) complaint = complaint_about(name, help, labels);
    if (complaint.empty()) {
      if (auto* found = find_or_make<Series>(name, help, readable(labels), args...)) return *found;
      complaint = "in use with another type or other labels";
    }
    log_error("a metric is not shown", {{"metric", name}, {"reason", complaint}});
    return unshown;
  }

  std::vector<std::shared_ptr<ScrapeHook::State>> live_hooks() {
    const MutexLock lock(mu);
    std::erase_if(hooks, [](const auto& hook) { return hook.expired(); });
    std::vector<std::shared_ptr<ScrapeHook::State>> live;
    for (const auto& hook : hooks)
      if (auto state = hook.lock()) live.push_back(std::move(state));
    return live;
  }
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Counter& Registry::counter(const std::string& name, const std::string& help, const Labels& labels) {
  return impl_->series(impl_->unshown_counter, name, help, labels, "");
}

Gauge& Registry::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  return impl_->series(impl_->unshown_gauge, name, help, labels, "");
}

Histogram& Registry::histogram(const std::string& name, const std::string& help,
                               const Labels& labels, const Buckets& buckets) {
  return impl_->series(impl_->unshown_histogram, name, help, labels, complaint_about(buckets),
                       buckets);
}

void Registry::show_gauges(const std::string& name, const std::string& help,
                           const std::vector<std::pair<Labels, double>>& values) {
  std::map<Labels, double> next;
  std::string complaint = complaint_about(name, help, {});
  for (const auto& [labels, value] : values) {
    if (next.size() == kMaxSeries || !complaint.empty()) break;
    complaint = complaint_about(name, help, labels);
    if (!next.empty() && !same_label_names(next.begin()->first, labels))
      complaint = "its series have different labels";
    next.insert_or_assign(readable(labels), value);
  }
  if (complaint.empty()) {
    const MutexLock lock(impl_->mu);
    const auto at = impl_->families.try_emplace(name, Snapshot{help}).first;
    if (auto* snapshot = std::get_if<Snapshot>(&at->second)) {
      snapshot->values = std::move(next);
      return;
    }
    complaint = "in use with another type";
  }
  log_error("a metric is not shown", {{"metric", name}, {"reason", complaint}});
}

ScrapeHook Registry::before_scrape(std::function<void()> function) {
  auto state = std::make_shared<ScrapeHook::State>();
  {
    const MutexLock lock(state->mu);
    state->function = std::move(function);
  }
  const MutexLock lock(impl_->mu);
  impl_->hooks.push_back(state);
  return ScrapeHook(std::move(state));
}

std::string Registry::text() {
  // Without the registry's lock: a hook may look series up.
  for (const auto& hook : impl_->live_hooks()) {
    const MutexLock lock(hook->mu);
    if (hook->function) hook->function();
  }

  std::vector<prometheus::MetricFamily> families;
  {
    const MutexLock lock(impl_->mu);
    for (const auto& [name, any] : impl_->families) {
      families.push_back({.name = name, .help = {}, .type = {}, .metric = {}});
      std::visit(
          [&out = families.back()]<class F>(const F& family) {
            out.help = family.help;
            out.type = type_of(family);
            if constexpr (std::is_same_v<F, Snapshot>) {
              collect(family, out);
            } else {
              for (const auto& [labels, series] : family.series) {
                out.metric.push_back(series->impl_->Collect());
                out.metric.back().label = shown(labels);
              }
            }
          },
          any);
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace berth::metrics
