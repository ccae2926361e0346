// The engine in a hostile world: it is crashed before and after each of its writes, and a provider
// throttles, loses replies, fails in part and lands tasks late. In the end all is as wished.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "engine/test_support.h"
#include "sim/kernel/run_for.h"
#include "sim/kernel/sweep.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using model::LoadBalancerRef;
using model::Transport;
using sim::CrashPlan;
using sim::lb::Faults;
using sim::lb::ModelProvider;

constexpr model::Port kForeignPort = 30009;

struct WorldOptions {
  CrashPlan crash = sim::NoCrash{};
  Faults faults{};
  model::Abilities limits{.create_batch = 3, .remove_batch = 2, .target_batch = 4};
  int changes = 12;
  // What is called done must be true. Not so strictly where calls land after their process died.
  bool strict = true;
  double late_writes = 0;
  // Chance that a change is an object that goes without a word, as with a finalizer that somebody
  // forced off.
  double vanish = 0;
  bool fixed_scheduler = false;
  // Whether a listener is several things at the provider. Half of the seeds, unless it is said.
  std::optional<bool> groups{};
  bool teams = false;  // some wishes have credentials of their own
};

// One engine that comes back after each crash, two load balancers, and a user who changes wishes.
class EngineWorld {
 public:
  EngineWorld(std::uint64_t seed, WorldOptions options)
      : options_(options),
        kernel_(seed, {.crash = options.crash,
                       .min_latency = 1ms,
                       .max_latency = 300ms,
                       .late_write_chance = options.late_writes}),
        random_(kernel_.fork_random()),
        provider_({.limits = options.limits,
                   .fixed_scheduler = options.fixed_scheduler,
                   .groups = options.groups.value_or(seed % 2 == 0),
                   .seed = kernel_.fork_random().next()}) {
    set_log_level(LogLevel::error);
    foreign_ = provider_.add_listener(
        kLb, model::plain_listener(model::Protocol::tcp, {kForeignPort, kForeignPort}, "theirs",
                                   {target(99)}));
    foreign_half_ = provider_.add_half_made(
        kLb, model::plain_listener(model::Protocol::tcp, {30000, 30000}, "theirs-too"));
    provider_.set_faults(options.faults);
    provider_.observe([this](const sim::lb::Change& change) { check_change(change); });
    cluster_.on_success = [this](const std::string& key, const Cluster::Object& object) {
      if (options_.strict) check_done(key, object.wish);
    };
    kernel_.on_crash([this](sim::Process&) {
      ++crashes_;
      start();
    });
    start();
  }
  ~EngineWorld() {
    kernel_.on_crash({});
    user_.reset();
    kernel_.crash(*process_);
    running_.reset();
  }

  Result<sim::RunReport> run() {
    user_ = kernel_.world().spawn("user", [this](std::stop_token stop) { live(stop); });
    auto result = kernel_.run_until([this] { return user_done_ && settled(); });
    // Whatever lands late, or is nobody's any more, is found by the audits after that; one that
    // ends in a crash begins anew.
    for (int crashes = -1; result && is_audit_needed() && crashes != crashes_;) {
      crashes = crashes_;
      result = sim::run_for(kernel_, 25min);
    }
    if (result) result = kernel_.run_until([this] { return settled(); });
    if (!result) return pass(result);
    provider_.advance(kernel_.now());
    for (const auto& [key, object] : cluster_.objects) {
      if (!is_refused(object.wish)) check_done(key, object.wish);
    }
    check_leftovers();
    if (kernel_.failure()) return fail(*kernel_.failure());
    return kernel_.report();
  }

 private:
  void start() {
    // Taken out first: while its tasks end, the user must not find it.
    std::unique_ptr<EngineProcess> ended = std::move(running_);
    ended.reset();
    process_ = &kernel_.start_process("berth", sim::Crashable::yes);
    running_ = std::make_unique<EngineProcess>(
        *process_, provider_, cluster_,
        EngineOptions{.max_workers = 2,
                      .call_limit = 30s,
                      .settle = 30s,
                      .small = random_.chance(0.3) ? 50u : 0u,
                      .few = random_.chance(0.5) ? 50u : 2u,
                      .name_prefix = std::string(kPrefix)},
        [] { return true; }, random_.next());
    for (const LoadBalancerRef& lb : {kLb, kOtherLb}) running_->engine().attend(lb);
    for (const auto& [key, object] : cluster_.objects) {
      if (!object.applied) running_->engine().want(WishKey(key), object.wish);
    }
  }

  // Otherwise what is there after the last success stays as it is. Halves of what is done already
  // are in no answer to a question: a list finds them.
  bool is_audit_needed() const {
    return !options_.strict || options_.vanish > 0 || provider_.options().groups;
  }

  // The user creates, points elsewhere and deletes at random.
  void live(const std::stop_token& stop) {
    for (int i = 0; i < options_.changes; ++i) {
      change_something();
      const auto pause = Duration{static_cast<Duration::rep>(random_.below(1'500'000'000))};
      if (!sleep_for(kernel_.world(), pause, stop)) return;
    }
    user_done_ = true;
  }

  void change_something() {
    const auto port = static_cast<model::Port>(30000 + random_.below(10));
    const LoadBalancerRef& lb = random_.chance(0.5) ? kLb : kOtherLb;
    const std::string key = fmt::format("games/{}-{}", lb.id, port);
    if (random_.chance(options_.vanish)) {
      cluster_.objects.erase(key);
      if (running_) running_->engine().forget(WishKey(key));
      return;
    }
    Wish wish = generated_wish(port, lb);
    Cluster::Object& object = cluster_.objects[key];
    if (!object.wish.version.empty() && random_.chance(0.3)) wish = removal_of(std::move(wish));
    wish.known_id = object.wish.known_id;
    wish.version = WishVersion(std::to_string(++version_));
    object = {wish, false};
    // While none runs nothing is lost: the next one begins with all that is not applied.
    if (running_) running_->engine().want(WishKey(key), std::move(wish));
  }

  // What is spoken at a port may change, and of layer 7 everything beneath it.
  Wish generated_wish(model::Port port, const LoadBalancerRef& lb) {
    Wish wish = wish_for(port, generated_targets(), lb);
    if (options_.teams && port % 3 == 0) wish.credential = model::CredentialId("team-a");
    if (!options_.limits.protocols.has(model::Protocol::http) || !random_.chance(0.4)) return wish;
    wish.protocol = model::Protocol::http;
    wish.spec->protocol = wish.protocol;
    wish.spec->attributes.keep_alive = random_.chance(0.3);
    wish.spec->rules.clear();
    for (const char* domain : {"a.com", "b.com", "c.com"}) {
      if (!random_.chance(0.6)) continue;
      model::RuleAttributes attributes;
      if (random_.chance(0.3)) attributes.scheduler = model::Scheduler::least_connections;
      if (random_.chance(0.3)) attributes.session_seconds = 60;
      wish.spec->rules.push_back({{domain, "/"}, attributes, generated_targets()});
    }
    return wish;
  }

  std::vector<model::WeightedTarget> generated_targets() {
    std::vector<model::WeightedTarget> out;
    for (int i = 1; i <= 6; ++i) {
      if (random_.chance(0.4)) out.push_back(target(i, random_.chance(0.2) ? 50 : 10));
    }
    return out;
  }

  // The foreign listener is in its way.
  static bool is_refused(const Wish& wish) {
    return wish.lb == kLb && wish.spec && wish.ports.contains(kForeignPort);
  }
  bool settled() {
    return !provider_.tasks_under_way() &&
           std::all_of(cluster_.objects.begin(), cluster_.objects.end(), [](const auto& entry) {
             return entry.second.applied || is_refused(entry.second.wish);
           });
  }

  void check_change(const sim::lb::Change& change) {
    kernel_.note("lb", (change.after ? change.after : change.before)->id.value);
    if (change.before && change.before->id == foreign_) kernel_.fail("a foreign listener changed");
    if (!change.after && options_.strict) check_unwished(change.lb, *change.before);
  }

  // Nothing is taken away that somebody wishes as it was.
  void check_unwished(const LoadBalancerRef& lb, const lb::ObservedListener& gone) {
    for (const auto& [key, object] : cluster_.objects) {
      const bool wished = object.wish.lb == lb && object.wish.spec && object.applied &&
                          object.wish.spec->name == gone.spec.name;
      if (wished) kernel_.fail(fmt::format("the listener of {} was removed", key));
    }
  }

  void check_done(const std::string& key, const Wish& wish) {
    const auto there = provider_.find(wish.lb, model::Transport::tcp, wish.ports.first);
    const bool ours = there && there->spec.name == wish.name;
    if (!wish.spec) {
      if (ours) kernel_.fail(fmt::format("{} is called gone and is there", key));
    } else if (!ours) {
      kernel_.fail(fmt::format("{} is called done and is not there", key));
    } else if (there->spec.protocol != wish.spec->protocol) {
      kernel_.fail(fmt::format("{} is called done and speaks something else", key));
    } else if (there->spec.rules != wish.spec->rules) {
      kernel_.fail(fmt::format("{} is called done and has other rules", key));
    } else if (there->spec.attributes != wish.spec->attributes) {
      kernel_.fail(fmt::format("{} is called done and has other attributes", key));
    }
  }

  void check_leftovers() {
    for (const LoadBalancerRef& lb : {kLb, kOtherLb}) {
      bool foreign_stays = lb != kLb;
      for (const auto& half : provider_.half_made(lb)) {
        foreign_stays = foreign_stays || half.id == foreign_half_;
        if (half.id != foreign_half_)
          kernel_.fail(fmt::format("{} of {} was left half made", half.id, half.spec.name));
      }
      if (!foreign_stays) kernel_.fail("what others have half made was removed");
      for (const auto& listener : provider_.listeners(lb)) {
        const bool wished =
            std::any_of(cluster_.objects.begin(), cluster_.objects.end(), [&](const auto& entry) {
              return entry.second.wish.lb == lb && entry.second.wish.spec &&
                     entry.second.wish.name == listener.spec.name;
            });
        if (!wished && listener.id != foreign_) kernel_.fail("a listener was left behind");
      }
    }
  }

  const WorldOptions options_;
  sim::Kernel kernel_;
  Random random_;
  ModelProvider provider_;
  Cluster cluster_;
  model::ListenerId foreign_;
  model::ListenerId foreign_half_;
  sim::Process* process_ = nullptr;
  std::unique_ptr<EngineProcess> running_;
  std::unique_ptr<Task> user_;
  bool user_done_ = false;
  int crashes_ = 0;
  int version_ = 0;
};

// BERTH_SCENARIO_SECONDS: the processor time of each sweep, instead of so many seeds.
sim::SweepOptions sweep_of(std::string name, std::uint64_t count) {
  if (const char* const seconds = std::getenv("BERTH_SCENARIO_SECONDS"))
    return {.name = std::move(name),
            .count = std::numeric_limits<std::uint64_t>::max(),
            .cpu_time = std::chrono::seconds{std::atoi(seconds)}};
  return {.name = std::move(name), .count = count, .cpu_time = 5s, .repeat_every = 20};
}

TEST(EngineSimulation, ACrashBeforeOrAfterAnyWriteIsMadeGood) {
  for (const bool groups : {false, true}) {
    const auto crashed = sim::crash_everywhere("engine", [&](const CrashPlan& plan) {
      return EngineWorld(3, {.crash = plan, .groups = groups}).run();
    });
    ASSERT_TRUE(crashed) << crashed.error().to_string();
    EXPECT_GT(crashed->writes, 10u);
  }
}

TEST(EngineSimulation, RandomCrashesAreMadeGood) {
  const auto swept = sim::sweep(sweep_of("engine with crashes", 300), [](std::uint64_t seed) {
    return EngineWorld(seed, {.crash = sim::CrashRandomly{0.1, 20}}).run();
  });
  ASSERT_TRUE(swept) << swept.error().to_string();
  EXPECT_GT(swept->crashes, 0u);
}

TEST(EngineSimulation, WhatNobodyWishesAnyMoreGoesAndNothingElse) {
  const auto swept = sim::sweep(sweep_of("engine with leftovers", 200), [](std::uint64_t seed) {
    return EngineWorld(seed, {.crash = sim::CrashRandomly{0.05, 10}, .changes = 25, .vanish = 0.3})
        .run();
  });
  ASSERT_TRUE(swept) << swept.error().to_string();
}

TEST(EngineSimulation, WishesOfSeveralCredentialsAreServedSideBySide) {
  for (const bool serial : {true, false}) {
    const auto swept = sim::sweep(sweep_of("engine with teams", 200), [&](std::uint64_t seed) {
      return EngineWorld(seed, {.crash = sim::CrashRandomly{0.05, 10},
                                .limits = {.serial_writes = serial,
                                           .create_batch = 3,
                                           .remove_batch = 2,
                                           .target_batch = 4},
                                .changes = 25,
                                .vanish = 0.15,
                                .teams = true})
          .run();
    });
    ASSERT_TRUE(swept) << swept.error().to_string();
  }
}

const Faults kTrouble{
    .throttled = 0.1, .retry_after = 2s, .unavailable = 0.05, .partial = 0.1, .lost_reply = 0.1};

TEST(EngineSimulation, AProviderInTroubleIsServedToTheEnd) {
  const auto swept = sim::sweep(sweep_of("engine in trouble", 300), [](std::uint64_t seed) {
    return EngineWorld(seed, {.faults = kTrouble}).run();
  });
  ASSERT_TRUE(swept) << swept.error().to_string();
}

TEST(EngineSimulation, AProviderWithParallelWritesAndFewAbilitiesIsServed) {
  const auto swept = sim::sweep(sweep_of("engine in parallel", 200), [](std::uint64_t seed) {
    return EngineWorld(seed, {.crash = sim::CrashRandomly{0.05, 10},
                              .faults = kTrouble,
                              .limits = {.serial_writes = false,
                                         .create_batch = 1,
                                         .remove_batch = 1,
                                         .target_batch = 2,
                                         .has_ranges = false,
                                         .has_both_protocols = false}})
        .run();
  });
  ASSERT_TRUE(swept) << swept.error().to_string();
}

TEST(EngineSimulation, WhatAProviderCannotChangeIsMadeAnew) {
  const auto swept = sim::sweep(sweep_of("engine with fixed parts", 200), [](std::uint64_t seed) {
    return EngineWorld(seed, {.crash = sim::CrashRandomly{0.05, 10},
                              .faults = kTrouble,
                              .changes = 25,
                              .fixed_scheduler = true})
        .run();
  });
  ASSERT_TRUE(swept) << swept.error().to_string();
}

TEST(EngineSimulation, TasksThatLandAfterTheirCallerDiedAreFoundAndUndone) {
  Faults slow = kTrouble;
  slow.slow = 0.15;
  slow.slow_for = 15s;
  const auto swept = sim::sweep(sweep_of("engine with slow tasks", 300), [&](std::uint64_t seed) {
    return EngineWorld(seed, {.crash = sim::CrashRandomly{0.1, 10},
                              .faults = slow,
                              .strict = false,
                              .late_writes = 0.3})
        .run();
  });
  ASSERT_TRUE(swept) << swept.error().to_string();
}

}  // namespace
}  // namespace berth::engine
