#include "metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/threads.h"

namespace berth::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Registry, ShowsASeriesAtZeroOnceItIsAskedFor) {
  Registry registry;
  registry.counter("berth_claims_total", "Claims made.", {{"pool", "games"}});
  EXPECT_EQ(registry.text(),
            "# HELP berth_claims_total Claims made.\n"
            "# TYPE berth_claims_total counter\n"
            "berth_claims_total{pool=\"games\"} 0\n");
}

TEST(Registry, TheSameLabelsAreTheSameSeries) {
  Registry registry;
  Counter& first = registry.counter("c_total", "Help.", {{"a", "1"}, {"b", "2"}});
  Counter& again = registry.counter("c_total", "Help.", {{"b", "2"}, {"a", "1"}});
  EXPECT_EQ(&first, &again);
  first.increment();
  again.increment(2.5);
  EXPECT_EQ(first.value(), 3.5);
  first.increment(-1);  // a counter only grows
  EXPECT_EQ(first.value(), 3.5);
}

TEST(Registry, TextIsSortedWhateverTheOrderOfAsking) {
  const auto text_of = [](const std::vector<std::string>& pools) {
    Registry registry;
    registry.gauge("z", "Last.");
    for (const auto& pool : pools) registry.gauge("m", "Middle.", {{"pool", pool}}).set(1);
    registry.counter("a_total", "First.");
    return registry.text();
  };
  const std::string text = text_of({"c", "a", "b"});
  EXPECT_EQ(text, text_of({"a", "b", "c"}));
  EXPECT_LT(text.find("a_total"), text.find("m{pool=\"a\"}"));
  EXPECT_LT(text.find("m{pool=\"a\"}"), text.find("m{pool=\"b\"}"));
  EXPECT_LT(text.find("m{pool=\"c\"}"), text.find("\nz 0"));
}

TEST(Registry, GaugesThatAreShownTogetherGoTogether) {
  Registry registry;
  registry.show_gauges("health", "Of targets.",
                       {{{{"ip", "10.0.0.1"}}, 0}, {{{"ip", "10.0.0.2"}}, 1}});
  EXPECT_EQ(registry.text(),
            "# HELP health Of targets.\n"
            "# TYPE health gauge\n"
            "health{ip=\"10.0.0.1\"} 0\n"
            "health{ip=\"10.0.0.2\"} 1\n");
  registry.show_gauges("health", "Of targets.", {{{{"ip", "10.0.0.2"}}, 2}});
  EXPECT_THAT(registry.text(), HasSubstr("health{ip=\"10.0.0.2\"} 2\n"));
  EXPECT_THAT(registry.text(), Not(HasSubstr("10.0.0.1")));

  std::vector<std::pair<Labels, double>> many;
  for (std::size_t i = 0; i < kMaxSeries + 10; ++i)
    many.emplace_back(Labels{{"ip", std::to_string(i)}}, 1);
  registry.show_gauges("health", "Of targets.", many);
  EXPECT_THAT(registry.text(), HasSubstr("health{ip=\"0\"} 1\n"));
  EXPECT_THAT(registry.text(), Not(HasSubstr(fmt::format("ip=\"{}\"", kMaxSeries))));
}

TEST(Registry, GaugesGoBothWays) {
  Registry registry;
  Gauge& depth = registry.gauge("depth", "Keys that wait.");
  depth.set(5);
  depth.increment();
  depth.increment(-2);
  EXPECT_EQ(depth.value(), 4);
  EXPECT_THAT(registry.text(), HasSubstr("\ndepth 4\n"));
}

TEST(Registry, HistogramBucketsIncludeTheirBound) {
  Registry registry;
  Histogram& seconds = registry.histogram("s", "Seconds.", {{"q", "x"}}, {0.25, 1});
  for (const double value : {0.25, 0.5, 1.0, 7.0}) seconds.observe(value);
  EXPECT_EQ(registry.text(),
            "# HELP s Seconds.\n"
            "# TYPE s histogram\n"
            "s_count{q=\"x\"} 4\n"
            "s_sum{q=\"x\"} 8.75\n"
            "s_bucket{q=\"x\",le=\"0.25\"} 1\n"
            "s_bucket{q=\"x\",le=\"1\"} 3\n"
            "s_bucket{q=\"x\",le=\"+Inf\"} 4\n");
}

TEST(Registry, KnownBucketsHaveTheBoundsThatDashboardsKnow) {
  EXPECT_EQ(default_buckets().size(), 40u);
  EXPECT_EQ(default_buckets().front(), 0.005);
  EXPECT_EQ(default_buckets().back(), 60);
  EXPECT_TRUE(std::ranges::is_sorted(default_buckets()));
  Registry registry;
  registry.histogram("workqueue_queue_duration_seconds", "Wait.", {}, workqueue_buckets());
  EXPECT_THAT(registry.text(), HasSubstr("{le=\"1e-08\"}"));
  EXPECT_THAT(registry.text(), HasSubstr("{le=\"1000\"}"));
}

TEST(Registry, LabelValuesOfUsersCannotBreakTheText) {
  Registry registry;
  registry.counter("c_total", "Help.", {{"pool", "a\"b\\c\nd"}});
  registry.counter("c_total", "Help.", {{"pool", "not utf-8: \xff"}});
  const std::string text = registry.text();
  EXPECT_THAT(text, HasSubstr(R"(c_total{pool="a\"b\\c\nd"} 0)"));
  EXPECT_THAT(text, HasSubstr("c_total{pool=\"not utf-8: \uFFFD\"} 0"));
}

TEST(Registry, PastTheBoundNewSeriesAreCountedTogether) {
  Registry registry;
  const auto count = [&](int i) -> Counter& {
    return registry.counter("c_total", "Help.", {{"pool", std::to_string(i)}});
  };
  for (int i = 0; i < static_cast<int>(kMaxSeries); ++i) count(i).increment();
  for (int i = 0; i < 10; ++i) count(100'000 + i).increment();
  EXPECT_EQ(count(3).value(), 1);
  EXPECT_EQ(&count(100'000), &count(200'000));
  const std::string text = registry.text();
  EXPECT_THAT(text, HasSubstr("c_total{pool=\"_other\"} 10\n"));
  EXPECT_THAT(text, Not(HasSubstr("100000")));
  // Another name has a bound of its own.
  registry.counter("d_total", "Help.", {{"pool", "x"}});
  EXPECT_THAT(registry.text(), HasSubstr("d_total{pool=\"x\"} 0\n"));
}

class RegistryDefects : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](std::string_view line) { log_ += line; });
  }
  void TearDown() override { set_log_sink({}); }
  std::string log_;
};

TEST_F(RegistryDefects, AreLoggedAndNotShown) {
  Registry registry;
  registry.counter("has-dash", "Help.").increment();
  registry.gauge("g", "Help.", {{"le", "x"}}).set(1);
  registry.gauge("g", "Help.", {{"bad-label", "x"}}).set(1);
  registry.gauge("g", "Two\nlines.").set(1);
  registry.histogram("h", "Help.", {}, {2, 1}).observe(1);
  registry.histogram("h", "Help.", {}, {}).observe(1);
  EXPECT_EQ(registry.text(), "");
  EXPECT_THAT(log_, HasSubstr("has-dash"));
  EXPECT_THAT(log_, HasSubstr("'bad-label' is not a label name"));
  EXPECT_THAT(log_, HasSubstr("the buckets are not finite and growing"));
}

TEST_F(RegistryDefects, ANameHasOneTypeAndOneSetOfLabelNames) {
  Registry registry;
  registry.counter("c_total", "Help.", {{"pool", "x"}}).increment();
  registry.gauge("c_total", "Help.", {{"pool", "x"}}).set(7);
  registry.counter("c_total", "Help.", {{"other", "x"}}).increment();
  registry.counter("c_total", "Help.").increment();
  EXPECT_THAT(registry.text(), HasSubstr("# TYPE c_total counter\nc_total{pool=\"x\"} 1\n"));
  EXPECT_THAT(registry.text(), Not(HasSubstr("other")));
  EXPECT_THAT(log_, HasSubstr("in use with another type or other labels"));
}

TEST(ScrapeHook, RunsAtEachScrapeWhileItLives) {
  Registry registry;
  Gauge& age = registry.gauge("age", "Seconds.");
  {
    const ScrapeHook hook = registry.before_scrape([&] { age.increment(); });
    EXPECT_THAT(registry.text(), HasSubstr("\nage 1\n"));
    EXPECT_THAT(registry.text(), HasSubstr("\nage 2\n"));
  }
  EXPECT_THAT(registry.text(), HasSubstr("\nage 2\n"));
}

TEST(ScrapeHook, MovesAndOutlivesTheRegistry) {
  ScrapeHook kept;
  int first = 0;
  int second = 0;
  {
    Registry registry;
    kept = registry.before_scrape([&] { ++first; });
    (void)registry.text();
    kept = registry.before_scrape([&] { ++second; });
    (void)registry.text();
  }
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(ScrapeHook, DoesNotRunOnceDestroyedEvenIfAScrapeIsUnderWay) {
  Registry registry;
  ScrapeHook second;
  int runs = 0;
  const ScrapeHook first = registry.before_scrape([&] { second = ScrapeHook(); });
  second = registry.before_scrape([&] { ++runs; });
  (void)registry.text();
  EXPECT_EQ(runs, 0);
}

TEST(ScrapeHook, MayAskForSeries) {
  Registry registry;
  const ScrapeHook hook = registry.before_scrape([&] { registry.gauge("late", "Late.").set(3); });
  EXPECT_THAT(registry.text(), HasSubstr("late 3\n"));
}

TEST(Registry, CountsFromManyTasksWhileItIsScraped) {
  constexpr int kTasks = 4;
  constexpr int kRounds = 2000;
  Registry registry;
  ThreadTasks tasks;
  std::vector<std::unique_ptr<Task>> running;
  running.reserve(kTasks);
  for (int i = 0; i < kTasks; ++i) {
    running.push_back(tasks.spawn("counting", [&registry, i](const std::stop_token&) {
      Counter& shared = registry.counter("shared_total", "Help.");
      for (int round = 0; round < kRounds; ++round) {
        shared.increment();
        if (round % 100 != 0) continue;
        registry.counter("own_total", "Help.", {{"task", std::to_string(i)}}).increment();
        registry.histogram("h", "Help.").observe(round);
        const ScrapeHook hook = registry.before_scrape([&shared] { shared.increment(0); });
      }
    }));
  }
  for (int i = 0; i < 20; ++i) (void)registry.text();
  for (const auto& task : running) task->join();
  EXPECT_EQ(registry.counter("shared_total", "Help.").value(), kTasks * kRounds);
  EXPECT_THAT(registry.text(), HasSubstr("own_total{task=\"3\"} 20\n"));
  EXPECT_THAT(registry.text(), HasSubstr("h_count 80\n"));
}

}  // namespace
}  // namespace berth::metrics
