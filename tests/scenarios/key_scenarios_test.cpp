// Keys over many rotations: three replicas keep them, and seal things all the time. Each replica
// judges what the others sealed, and what it sealed itself in an earlier life: at no moment may one
// of them find anything but `good`.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <set>

#include "base/log.h"
#include "kube/admission/key_keeper.h"
#include "scenario.h"
#include "sim/world/cluster.h"

namespace berth::scenario {
namespace {

using crypto::SealVerdict;
using world::Cluster;
using namespace std::chrono_literals;

constexpr Duration kSpan = 24h * 10;
constexpr int kReplicas = 3;
constexpr Duration kPeriod = 10min;
constexpr kube::RingRules kShortLives{.rotation = 5h, .overlap = 12h};
// Sealed things are looked at for so long: a replica may be a little behind the others.
constexpr Duration kJudgedFor = kShortLives.overlap - 1h;
constexpr const char* kSecret = "/api/v1/namespaces/default/secrets/berth-keys";

class Replicas {
 public:
  explicit Replicas(std::uint64_t seed) : random_(seed), cluster_(seed, calm(random_)) {
    for (auto& replica : replicas_) replica = std::make_unique<Replica>(cluster_);
  }

  Result<> live(Duration span) {
    const Instant end = cluster_.kernel().now() + span;
    while (cluster_.kernel().now() < end) {
      if (Result<> ran = cluster_.run_for(up_to(random_, 40min)); !ran) return ran;
      if (Result<> checked = seal_and_judge(); !checked) return checked;
      meddle();
    }
    return {};
  }
  // Now and then from then on, somebody deletes or damages the Secret, or a replica starts anew.
  void let_meddle() { meddling_ = true; }

  void ask(const char* method, const wire::Value& body = nullptr) {
    const auto answer = cluster_.ask(method, kSecret, body);
    ASSERT_TRUE(answer) << answer.error().to_string();
  }
  void damage() {
    constexpr std::string_view kDamage =
        R"({"data":{"seals":"bm90IEpTT04=","paths":"eyJrZXlzIjpbXX0="}})";  // "not JSON", no keys
    ask("PATCH", wire::parse_json(kDamage).value());
  }
  void restart(std::size_t i) {
    cluster_.kernel().crash(replicas_[i]->process);
    retired_.push_back(std::move(replicas_[i]));
    replicas_[i] = std::make_unique<Replica>(cluster_);
  }

  Cluster& cluster() { return cluster_; }
  kube::KeyKeeper& keeper(std::size_t i) { return replicas_[i]->keeper; }
  std::size_t signers_seen() const { return signers_.size(); }
  std::size_t judged() const { return judged_; }

 private:
  struct Replica {
    explicit Replica(Cluster& cluster)
        : process(cluster.kernel().start_process("replica")),
          network(cluster.connect(process)),
          client(*network, kube::fixed_config(Cluster::kServerUrl, {})),
          keeper(client, {.seals = kShortLives, .paths = kShortLives}) {
      main = process.spawn("main", [this](std::stop_token stop) {
        const Context context{.tasks = process, .stop = stop};
        while (!keeper.ensure(context) && sleep_for(process, 1s, stop)) {
        }
        keeper.keep(context, kPeriod);
      });
    }
    sim::Process& process;
    std::unique_ptr<net::Transport> network;
    kube::Client client;
    kube::KeyKeeper keeper;
    std::unique_ptr<Task> main;
  };
  struct Sealed {
    Instant at;
    std::string field;
    std::string seal;
    std::string word;
  };

  static world::ClusterOptions calm(Random& random) {
    world::ClusterOptions options;
    options.kernel.max_latency = up_to(random, 500ms);
    options.tick = 1h;
    return options;
  }

  void meddle() {
    if (!meddling_ || !random_.chance(0.05)) return;
    // One at a time: what nobody remembers cannot come back.
    switch (random_.below(3)) {
      case 0: ask("DELETE"); break;
      case 1: damage(); break;
      default: restart(static_cast<std::size_t>(random_.below(kReplicas)));
    }
    (void)cluster_.run_for(2 * kPeriod);
  }

  Result<> seal_and_judge() {
    const Instant now = cluster_.kernel().now();
    for (const auto& replica : replicas_) {
      const auto rings = replica->keeper.current();
      if (!rings) continue;
      signers_.insert(std::string(rings->seals.signer()));
      const std::string field = fmt::format("thing {}", ++things_);
      sealed_.push_back(
          {now, field, rings->seals.seal("test", {field}), rings->paths.words("path").front()});
    }
    while (!sealed_.empty() && now - sealed_.front().at > kJudgedFor) sealed_.pop_front();
    const auto rings = replicas_[random_.below(kReplicas)]->keeper.current();
    return rings ? judge_all(*rings) : Result<>{};
  }
  Result<> judge_all(const kube::KeyRings& rings) {
    const auto words = rings.paths.words("path");
    for (const Sealed& one : sealed_) {
      const SealVerdict verdict = rings.seals.judge("test", {one.field}, one.seal);
      if (verdict != SealVerdict::good)
        return fail(Code::internal, "{} is {}", one.field, crypto::to_string(verdict));
      if (std::ranges::find(words, one.word) == words.end())
        return fail(Code::internal, "the path of {} is not known", one.field);
      ++judged_;
    }
    return {};
  }

  Random random_;
  Cluster cluster_;
  std::array<std::unique_ptr<Replica>, kReplicas> replicas_;
  std::vector<std::unique_ptr<Replica>> retired_;
  std::deque<Sealed> sealed_;
  std::set<std::string> signers_;
  bool meddling_ = false;
  int things_ = 0;
  std::size_t judged_ = 0;
};

Result<sim::RunReport> live_through_rotations(std::uint64_t seed) {
  Replicas replicas(seed);
  if (Result<> lived = replicas.live(kSpan / 2); !lived) return pass(lived);
  replicas.let_meddle();
  if (Result<> lived = replicas.live(kSpan / 2); !lived) return pass(lived);
  if (replicas.signers_seen() < 30)
    return fail(Code::internal, "only {} keys sealed", replicas.signers_seen());
  return replicas.cluster().kernel().report();
}

TEST(KeyScenarios, WhatOneReplicaSealsAllOthersFindGood) {
  const auto swept =
      sim::sweep(sweep_for("rotated keys", std::chrono::seconds{4}), live_through_rotations);
  ASSERT_TRUE(swept) << swept.error().message;
}

TEST(KeyScenarios, ADamagedOrDeletedSecretComesBackAsItWas) {
  Replicas replicas(1);
  ASSERT_TRUE(replicas.live(1h));
  const std::string before(replicas.keeper(0).current()->seals.signer());
  std::vector<std::string> lines;
  const bool quiet = !log_enabled(LogLevel::warn);
  if (quiet) set_log_level(LogLevel::warn);
  set_log_sink([&](std::string_view line) { lines.emplace_back(line); });
  replicas.damage();
  ASSERT_TRUE(replicas.live(1h));
  set_log_sink({});
  if (quiet) set_log_level(LogLevel::error);
  EXPECT_EQ(replicas.keeper(1).current()->seals.signer(), before);
  bool warned = false;
  for (const std::string& line : lines) {
    warned |= line.find("keys put back") != std::string::npos;
    EXPECT_EQ(line.find("not JSON"), std::string::npos) << "content of a Secret: " << line;
  }
  EXPECT_TRUE(warned);
  replicas.ask("DELETE");
  ASSERT_TRUE(replicas.live(1h));
  EXPECT_EQ(replicas.keeper(2).current()->seals.signer(), before);
  replicas.restart(0);
  ASSERT_TRUE(replicas.live(1h));
  EXPECT_EQ(replicas.keeper(0).current()->seals.signer(), before) << "from the Secret";
}

TEST(KeyScenarios, APathIsReplacedOnDemand) {
  Replicas replicas(2);
  ASSERT_TRUE(replicas.live(2h));
  const auto word = [&](std::size_t i) {
    return replicas.keeper(i).current()->paths.words("path").front();
  };
  const std::string before = word(0);
  replicas.keeper(0).demand_new_path();
  ASSERT_TRUE(replicas.live(30min));
  EXPECT_EQ(word(1), before) << "not before all can know it";
  EXPECT_EQ(replicas.keeper(1).current()->paths.words("path").size(), 2u);
  ASSERT_TRUE(replicas.live(1h));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(word(i), before);
  EXPECT_EQ(replicas.keeper(1).current()->seals.keys().size(), 1u) << "seals are not replaced";
}

}  // namespace
}  // namespace berth::scenario
