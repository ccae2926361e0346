// Leader election among three processes that crash, with an API server that refuses and is late. At
// no moment may two of them write; and there is a leader again soon after the last one is gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "kube/runtime/leader_election.h"
#include "scenario.h"
#include "sim/world/cluster.h"
#include "sim/world/gremlin.h"

namespace berth::scenario {
namespace {

using world::Cluster;

constexpr int kCandidates = 3;
constexpr Duration kLease = std::chrono::seconds{15};
// From one attempt to take the lease to the next: the period and its jitter.
constexpr Duration kRetry = std::chrono::milliseconds{4400};

// What a holder says of itself.
std::string notice_of(std::string_view name) { return fmt::format("{} is here", name); }

// One process that wants to lead, leads, and begins anew when it has lost the lease.
class Candidate {
 public:
  Candidate(Cluster& cluster, const std::string& name)
      : process_(cluster.kernel().start_process(name, sim::Crashable::yes)),
        network_(cluster.connect(process_)),
        client_(*network_, kube::fixed_config(Cluster::kServerUrl, {})),
        elector_(client_,
                 {.identity = name, .notice = [this] { return notice_of(process_.name()); }},
                 cluster.kernel().fork_random()),
        main_(process_.spawn("main", [this](std::stop_token stop) { run(std::move(stop)); })) {}

  sim::Process& process() { return process_; }
  bool may_write() { return process_.alive() && elector_.may_write(process_.now()); }
  kube::LeaseHolder holder() const { return elector_.holder(); }
  // Gives the lease back and ends.
  void stop() {
    main_->request_stop();
    main_->join();
  }

 private:
  void run(std::stop_token stop) {
    const Context context{.tasks = process_, .stop = stop};
    while (!stop.stop_requested()) {
      if (!elector_.acquire(context)) break;
      (void)elector_.hold(context);
    }
    const Context last{.tasks = process_};
    (void)elector_.release(last.within(std::chrono::seconds{5}));
  }

  sim::Process& process_;
  std::unique_ptr<net::Transport> network_;
  kube::Client client_;
  kube::LeaderElector elector_;
  std::unique_ptr<Task> main_;
};

class Election {
 public:
  explicit Election(Cluster& cluster) : cluster_(cluster), led_at_(cluster.kernel().now()) {
    cluster_.kernel().on_crash([this](sim::Process& dead) { replace(dead); });
    for (auto& candidate : candidates_) candidate = next();
  }
  ~Election() {
    cluster_.kernel().on_crash({});
    for (auto& candidate : candidates_) {
      if (candidate) cluster_.kernel().crash(candidate->process());
      candidate.reset();
    }
  }

  // After each step of the world.
  void check() {
    const auto leaders = std::ranges::count_if(
        candidates_, [](const auto& candidate) { return candidate && candidate->may_write(); });
    if (leaders > 1) cluster_.kernel().fail(fmt::format("{} processes may write", leaders));
    for (const auto& candidate : candidates_) {
      const kube::LeaseHolder seen = candidate ? candidate->holder() : kube::LeaseHolder{};
      if (!seen.identity.empty() && seen.notice != notice_of(seen.identity))
        cluster_.kernel().fail(fmt::format("{} says: {}", seen.identity, seen.notice));
    }
    const Instant now = cluster_.kernel().now();
    if (leaders > 0) led_at_ = now;
    longest_gap_ = std::max(longest_gap_, now - led_at_);
    led_ = leaders > 0;
  }
  // All that live know who leads.
  bool is_known() const {
    std::set<std::string> names;
    for (const auto& candidate : candidates_)
      if (candidate) names.insert(candidate->holder().identity);
    return names.size() == 1 && !names.begin()->empty();
  }
  Duration longest_gap() const { return longest_gap_; }
  void forget_gaps() {
    longest_gap_ = {};
    led_at_ = cluster_.kernel().now();
  }

  Result<> run_for(Duration span) {
    const Instant until = cluster_.kernel().now() + span;
    return cluster_.run_until([&] {
      check();
      return cluster_.kernel().now() >= until;
    });
  }
  Result<> run_until_led(Duration at_most) {
    return cluster_.run_until(
        [&] {
          check();
          return led_;
        },
        {.max_virtual_time = at_most});
  }

  void stop_leader() {
    for (auto& candidate : candidates_) {
      if (!candidate || !candidate->may_write()) continue;
      candidate->stop();
      candidate.reset();
      return;
    }
  }
  void crash_leader() {
    for (auto& candidate : candidates_) {
      if (candidate && candidate->may_write()) return cluster_.kernel().crash(candidate->process());
    }
  }

 private:
  std::unique_ptr<Candidate> next() {
    return std::make_unique<Candidate>(cluster_, fmt::format("candidate-{}", generation_++));
  }
  void replace(sim::Process& dead) {
    for (auto& candidate : candidates_) {
      if (!candidate || &candidate->process() != &dead) continue;
      candidate.reset();
      (void)cluster_.pause(std::chrono::seconds{1}, {});
      candidate = next();
      return;
    }
  }

  Cluster& cluster_;
  std::unique_ptr<Candidate> candidates_[kCandidates];
  int generation_ = 0;
  bool led_ = false;
  Instant led_at_;
  Duration longest_gap_{};
};

Result<sim::RunReport> report(Cluster& cluster) {
  if (cluster.kernel().failure()) return fail(*cluster.kernel().failure());
  return cluster.kernel().report();
}

const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

// Somebody with kubectl deletes the Lease at random moments, or edits it.
class Meddler {
 public:
  explicit Meddler(Cluster& cluster) : cluster_(cluster), random_(cluster.kernel().fork_random()) {
    (void)cluster.play("meddler", [this](std::stop_token stop) {
      while (!resting_ && cluster_.pause(up_to(random_, kMostPause), stop)) meddle();
    });
  }
  ~Meddler() { cluster_.end_players(); }
  Meddler(const Meddler&) = delete;
  Meddler& operator=(const Meddler&) = delete;
  void stop() { resting_ = true; }

 private:
  static constexpr Duration kMostPause = std::chrono::seconds{12};

  void meddle() {
    if (resting_) return;
    const std::string lease = kLeases + "/berth";
    const std::uint64_t deed = random_.below(6);
    if (deed == 0) return (void)edit(lease, {{"holderIdentity", ""}});
    // With one second and no holder, it would say that the lease was given up.
    if (deed == 1) return (void)edit(lease, {{"leaseDurationSeconds", 2}});
    // Twice in a row, too: whoever made it anew loses it again.
    do {
      (void)cluster_.ask("DELETE", lease);
    } while (random_.chance(0.3) && cluster_.pause(up_to(random_, std::chrono::seconds{3}), {}));
  }
  Result<wire::Value> edit(const std::string& lease, wire::Object spec) {
    return cluster_.ask("PATCH", lease, wire::Object{{"spec", std::move(spec)}});
  }

  Cluster& cluster_;
  Random random_;
  bool resting_ = false;
};

// The Lease is deleted and edited by hand, on a network where a renewal may be late by seconds.
Result<sim::RunReport> run_meddled(std::uint64_t seed) {
  Random random(seed);
  world::ClusterOptions options;
  options.kernel.max_latency = up_to(random, std::chrono::seconds{4});
  options.kernel.crash = sim::CrashRandomly{.probability = 0.02, .max_crashes = 3};
  options.link.lost_answer_chance = random.chance(0.5) ? 0.2 : 0;
  Cluster cluster(seed, options);
  world::Gremlin gremlin(cluster, {.pause = std::chrono::seconds{2},
                                   .resources = {"leases"},
                                   .verbs = {"get", "create", "update"},
                                   .max_repeats = 4});
  Meddler meddler(cluster);
  Election election(cluster);
  if (Result<> ran = election.run_for(std::chrono::minutes{4}); !ran) return pass(ran);
  gremlin.stop();
  meddler.stop();
  cluster.link().lost_answer_chance = 0;
  cluster.kernel().set_crash_plan(sim::NoCrash{});
  // One that was taken away just now, and one whole lease for whoever makes it anew.
  const Duration bound = 2 * kLease + 4 * kRetry + std::chrono::seconds{30};
  if (Result<> led = election.run_until_led(bound); !led) return pass(led);
  if (Result<> ran = election.run_for(std::chrono::seconds{30}); !ran) return pass(ran);
  return report(cluster);
}

// Everything goes wrong for a while; when it ends, somebody leads soon.
Result<sim::RunReport> run_troubled(std::uint64_t seed) {
  Random random(seed);
  world::ClusterOptions options;
  options.kernel.max_latency = up_to(random, std::chrono::seconds{4});
  options.kernel.crash = sim::CrashRandomly{.probability = 0.05, .max_crashes = 10};
  options.kernel.late_write_chance = 0.3;
  options.link.lost_answer_chance = random.chance(0.5) ? 0.2 : 0;
  Cluster cluster(seed, options);
  world::Gremlin gremlin(cluster, {.pause = std::chrono::seconds{1},
                                   .resources = {"leases"},
                                   .verbs = {"get", "create", "update"},
                                   .max_repeats = 8});
  Election election(cluster);
  if (Result<> ran = election.run_for(std::chrono::minutes{4}); !ran) return pass(ran);
  gremlin.stop();
  cluster.link().lost_answer_chance = 0;
  cluster.kernel().set_crash_plan(sim::NoCrash{});
  if (Result<> led = election.run_until_led(kLease + 2 * kRetry + std::chrono::seconds{15}); !led) {
    return pass(led);
  }
  if (Result<> ran = election.run_for(std::chrono::seconds{30}); !ran) return pass(ran);
  return report(cluster);
}

// A leader that crashes is followed as soon as its lease has run out; one that stops, at once.
Result<sim::RunReport> run_calm(std::uint64_t seed) {
  Random random(seed);
  world::ClusterOptions options;
  options.kernel.max_latency = up_to(random, std::chrono::milliseconds{200});
  Cluster cluster(seed, options);
  Election election(cluster);
  const Duration calls = 4 * options.kernel.max_latency + std::chrono::seconds{1};
  // Nobody knows whether somebody else led before the Lease was there.
  if (Result<> led = election.run_until_led(kLease + 2 * kRetry + calls); !led) return pass(led);
  for (int round = 0; round < 3; ++round) {
    if (Result<> ran = election.run_for(up_to(random, std::chrono::seconds{20})); !ran)
      return pass(ran);
    const bool clean = round == 2;
    election.forget_gaps();
    clean ? election.stop_leader() : election.crash_leader();
    election.check();
    const Duration bound = (clean ? Duration{} : kLease) + kRetry + calls;
    if (Result<> led = election.run_until_led(bound); !led) return pass(led);
    // Whoever follows looks once in a while.
    if (Result<> ran = election.run_for(kRetry + calls); !ran) return pass(ran);
    if (!election.is_known()) cluster.kernel().fail("not all know who leads");
  }
  return report(cluster);
}

TEST(LeaderScenarios, NeverTwoMayWriteHoweverTroubled) {
  const auto swept =
      sim::sweep(sweep_for("elections in trouble", std::chrono::seconds{6}), run_troubled);
  ASSERT_TRUE(swept) << swept.error().message;
}

TEST(LeaderScenarios, ADeletedLeaseNeverGivesTwoLeaders) {
  const auto swept =
      sim::sweep(sweep_for("leases deleted by hand", std::chrono::seconds{6}), run_meddled);
  ASSERT_TRUE(swept) << swept.error().message;
}

TEST(LeaderScenarios, ACrashedLeaderIsFollowedInTimeAndAStoppedOneAtOnce) {
  const auto swept = sim::sweep(sweep_for("hand-overs", std::chrono::seconds{4}), run_calm);
  ASSERT_TRUE(swept) << swept.error().message;
}

}  // namespace
}  // namespace berth::scenario
