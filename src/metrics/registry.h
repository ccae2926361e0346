// Counters, gauges and histograms, and the text that Prometheus scrapes.
//
// Owned by the composition root and passed down. Everything is thread-safe. `counter()` and its
// siblings look a series up, so callers ask once and keep the reference, which lives as long as the
// registry; changing a value is then a few nanoseconds. Asking also shows the series at zero, so
// that an alert can tell "never" from "not reported".
//
// A wrong name or label set is a defect of ours: it is logged, and the caller gets a series that is
// not shown. Only label values may come from users.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace berth::metrics {

using Labels = std::map<std::string, std::string>;
using Buckets = std::vector<double>;

// Of one name. Label values may come from what users create, and each series costs memory here and
// in Prometheus: past the bound, new ones are counted together under the value kOverflowValue.
inline constexpr std::size_t kMaxSeries = 1000;
inline constexpr std::string_view kOverflowValue = "_other";

inline constexpr std::string_view kTextContentType = "text/plain; version=0.0.4; charset=utf-8";

// Only grows.
class Counter {
 public:
  Counter();
  ~Counter();
  void increment(double by = 1);
  double value() const;

 private:
  friend class Registry;
  std::unique_ptr<prometheus::Counter> impl_;
};

class Gauge {
 public:
  Gauge();
  ~Gauge();
  void set(double value);
  void increment(double by = 1);
  double value() const;

 private:
  friend class Registry;
  std::unique_ptr<prometheus::Gauge> impl_;
};

class Histogram {
 public:
  explicit Histogram(const Buckets& buckets);
  ~Histogram();
  void observe(double value);

 private:
  friend class Registry;
  std::unique_ptr<prometheus::Histogram> impl_;
};

// Seconds of a reconciliation: 5 ms to a minute, as controller-runtime cuts them.
const Buckets& default_buckets();
// Seconds in a work queue: powers of ten from 10 ns, as client-go cuts them.
const Buckets& workqueue_buckets();

// While it lives, its function runs at the start of each scrape. The destructor waits for a running
// one, so do not destroy it with a lock held that the function takes.
class [[nodiscard]] ScrapeHook {
 public:
  ScrapeHook() = default;
  ScrapeHook(ScrapeHook&&) = default;
  ScrapeHook& operator=(ScrapeHook&& other) noexcept;
  ~ScrapeHook();

 private:
  friend class Registry;
  struct State;
  explicit ScrapeHook(std::shared_ptr<State> state);
  void cancel();
  std::shared_ptr<State> state_;
};

class Registry {
 public:
  Registry();
  ~Registry();

  Counter& counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // All series of one name should have the same buckets: upper bounds, growing.
  Histogram& histogram(const std::string& name, const std::string& help, const Labels& labels = {},
                       const Buckets& buckets = default_buckets());

  // All series of a name at once: those that are not among `values` any more are gone. For what
  // comes and goes by the thousand, where a series that stays would mislead. Past kMaxSeries the
  // rest is left out, so the most important ones come first. Such a name is not for `gauge`.
  void show_gauges(const std::string& name, const std::string& help,
                   const std::vector<std::pair<Labels, double>>& values);

  // For gauges whose value depends on the time of asking ("seconds since..."): the function sets
  // them. It must be quick and must not wait. The hook may outlive the registry.
  ScrapeHook before_scrape(std::function<void()> function);

  // The exposition format, sorted by name and labels.
  std::string text();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::metrics
