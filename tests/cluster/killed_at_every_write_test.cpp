// `kill -9` between any two writes, on a real control plane: a story is told again and again, and
// each time the controller dies at another of its writes, before the server hears of it or after
// the server has done it. Another process is started in its place, as a Deployment would, and the
// story must end as it always does.

#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <deque>

#include "on_berth_cluster.h"
#include "write_gate.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::Value;

// Longer than any creation here takes; a port that was taken for nothing is free after it.
constexpr auto kClaimLifetime = 4s;
constexpr auto kPatience = 60s;
// More than an installation has: one that writes again what is there would have no end.
constexpr std::size_t kMaxWrites = 100;
// How often a story is told without a kill, to know its writes.
constexpr int kQuietTellings = 3;
// How often a write is waited for that does not come in every telling.
constexpr int kTries = 3;
// A kill that costs more is worth a look.
constexpr std::chrono::duration<double> kSlow = 5s;

// The writes of a story: which are still to be killed, and which were.
class Kills {
 public:
  // The writes of a telling without a kill. Those that are new are to be killed on both sides.
  void expect(const std::vector<std::string>& writes) {
    ++tellings_;
    for (const std::string& write : writes) {
      if (++came_[write] > 1) continue;
      for (const bool after : {false, true}) left_.push_back({{write, after}, kTries});
    }
  }
  // Nothing: no more.
  std::optional<KillAt> next() const {
    return left_.empty() ? std::nullopt : std::optional(left_.front().kill);
  }
  // Some writes are not needed in every telling: what did not come is tried again later.
  void done(const KillAt& kill, bool killed) {
    Left one = left_.front();
    left_.pop_front();
    if (killed) {
      ++kills_;
    } else if (--one.tries > 0) {
      left_.push_back(one);
    } else {
      missed_.push_back(kill);
    }
  }
  // Writes that came in every quiet telling, and could not be killed. Two changes of an object that
  // come at one moment are one write, so the last one to a path may not be needed every time.
  std::vector<std::string> missed() const {
    std::vector<std::string> out;
    for (const KillAt& kill : missed_)
      if (is_usual(kill.write) && !is_last(kill.write)) out.push_back(kill.to_string());
    return out;
  }
  std::string summary() const {
    return fmt::format("{} writes, {} kills, {} that did not come again", came_.size(), kills_,
                       missed_.size());
  }

 private:
  struct Left {
    KillAt kill{};
    int tries = 0;
  };
  bool is_usual(const std::string& write) const {
    const auto it = came_.find(write);
    return it != came_.end() && it->second == tellings_;
  }
  bool is_last(const std::string& write) const {
    const std::size_t at = write.rfind('#') + 1;
    const int number = std::atoi(write.c_str() + at);
    return number > 1 && !is_usual(write.substr(0, at) + std::to_string(number + 1));
  }

  int tellings_ = 0;
  std::map<std::string, int> came_;  // in tellings without a kill
  std::deque<Left> left_;
  std::size_t kills_ = 0;
  std::vector<KillAt> missed_;
};

class KilledAtEveryWrite : public OnBerthCluster {
 protected:
  // Empty, or what is not as it should be.
  using Check = std::function<std::string()>;
  // Done one after the other, each until its check is empty. The last leaves nothing behind.
  using Story = std::vector<Check>;

  static void SetUpTestSuite() {
    start_cluster(
        {.replicas = 0,
         .kubeconfig = kubeconfig_for_next,
         .controller_args = {"--quarantine-seconds=0.1", "--lease-seconds=60",
                             "--renew-deadline-seconds=50",
                             fmt::format("--claim-lifetime-seconds={}", kClaimLifetime.count())}});
    if (cluster_) start_error_ = install();
    if (!start_error_.empty()) cluster_.reset();
  }
  static void TearDownTestSuite() {
    OnBerthCluster::TearDownTestSuite();
    gate_.reset();
  }
  // The one that was killed last and the one that had to go on.
  void TearDown() override {
    if (HasFailure() && cluster_) fmt::print("{}\n", cluster_->logs(newest_ > 0 ? newest_ - 1 : 0));
  }

  static std::filesystem::path kubeconfig_for_next(const testing::ControlPlane& plane) {
    if (!gate_) gate_ = WriteGate::start(tasks_, plane).value();
    const auto path = gate_->kubeconfig_for_next();
    if (first_kill_) gate_->begin(first_kill_);
    return path;
  }
  // As a process that ends in order leaves it. One that was only deleted says nothing about whether
  // somebody leads.
  static void give_lease_up() {
    const wire::Object given_up{{"holderIdentity", ""}, {"leaseDurationSeconds", 1}};
    const kube::ResourceType& type = kube::types::kLease;
    const Context context = cluster_->context();
    const auto patched =
        cluster_->client().patch(context, type, {"default", "berth"}, kube::PatchType::merge,
                                 wire::Object{{"spec", given_up}});
    if (patched || patched.error().code != Code::not_found) return;
    (void)cluster_->client().create(
        context, type,
        wire::Object{{"apiVersion", type.api_version()},
                     {"kind", type.kind},
                     {"metadata", wire::Object{{"namespace", "default"}, {"name", "berth"}}},
                     {"spec", given_up}});
  }
  // Nobody waits for the lease of a dead process: that has its own tests, and takes as long as
  // leases are long, which is long here, so that a busy machine loses none.
  static void start_another() {
    if (gate_) cluster_->kill_replica(newest_);
    give_lease_up();
    newest_ = cluster_->start_replica();
    gate_->process_is(cluster_->pid_of(newest_));
  }
  // Starts another process in the place of one that was killed.
  static std::string attend() {
    if (gate_->has_killed()) {
      start_another();
      return {};
    }
    return cluster_->runs(newest_) ? "" : "the controller ended by itself";
  }

  // Every process dies at its first write, by turns before and after it, until nothing is left to
  // be written: the installation goes on by one write with every second process.
  static std::string install() {
    const auto installed = [] {
      using namespace kube::types;
      return cluster_->get(kMutatingWebhookConfiguration, "", "berth") &&
             cluster_->get(kValidatingWebhookConfiguration, "", "berth") && cluster_->serves();
    };
    for (bool after = false; installation_.size() < kMaxWrites; after = !after) {
      first_kill_ = KillAt{.after = after};
      start_another();
      if (!eventually(kPatience, [&] { return gate_->has_killed() || installed(); }))
        return fmt::format("not installed after {}: {}", installation_, cluster_->logs(newest_));
      first_kill_.reset();
      if (!gate_->has_killed()) {
        gate_->begin();
        return {};
      }
      if (after) installation_.push_back(gate_->writes().front());
    }
    return fmt::format("writes without end: {}", installation_);
  }

  static std::string tell(const Story& story) {
    std::string why;
    waited_.clear();
    for (const Check& missing : story) {
      std::string ended;
      const bool done = eventually(kPatience, [&] {
        if (ended = attend(); !ended.empty()) return true;
        const Instant asked = tasks_.now();
        if (!why.empty()) waited_[why] += asked - last_asked_;
        last_asked_ = asked;
        why = missing();
        return why.empty() || !shared_.empty();
      });
      if (!ended.empty() || !shared_.empty()) return ended + shared_;
      if (!done) return why;
    }
    return {};
  }
  // What the last telling waited for longest.
  static std::string longest_wait() {
    const auto longest =
        std::ranges::max_element(waited_, {}, [](const auto& w) { return w.second; });
    return longest == waited_.end() ? "nothing" : longest->first;
  }

  static void tell_with_every_kill(const Story& story) {
    const Instant began = tasks_.now();
    Kills kills;
    for (int i = 0; i < kQuietTellings; ++i) {
      gate_->begin();
      ASSERT_EQ(tell(story), "") << "without any kill";
      kills.expect(gate_->writes());
    }
    while (const std::optional<KillAt> kill = kills.next()) {
      const std::size_t process = newest_;
      const Instant start = tasks_.now();
      gate_->begin(kill);
      ASSERT_EQ(tell(story), "") << "killed " << kill->to_string();
      kills.done(*kill, newest_ != process);
      if (const double took = seconds_since(start); took > kSlow.count())
        fmt::print("{:.1f} s with the kill {}, mostly: {:.200}\n", took, kill->to_string(),
                   longest_wait());
    }
    fmt::print("{} in {:.0f} s\n", kills.summary(), seconds_since(began));
    EXPECT_THAT(kills.missed(), IsEmpty());
  }
  static double seconds_since(Instant start) {
    return std::chrono::duration<double>(tasks_.now() - start).count();
  }

  // Asked again, as people do when our webhook does not answer.
  static Check made(const Value& object) {
    return [object] {
      const Result<Value> done = cluster_->create(object);
      return done || done.error().code == Code::already_exists ? "" : done.error().to_string();
    };
  }
  static Check removed(const kube::ResourceType& type, const std::string& ns,
                       const std::string& name) {
    return [&type, ns, name] {
      const Result<> done = cluster_->remove(type, ns, name);
      return done || done.error().code == Code::not_found ? "" : done.error().to_string();
    };
  }
  static Check pool_ready(const std::string& ns, const std::string& name) {
    return [ns, name] {
      const Value found = cluster_->get(api::port_pool_kind().type, ns, name).value_or(Value());
      return wire::string_at(found, "/status/status") == api::kReady ? "" : wire::to_json(found);
    };
  }
  static Check settled(const std::string& ns, std::size_t count) {
    return [ns, count] {
      const std::vector<Room> all = rooms(*cluster_, ns);
      shared_ = shared_ports(all);
      return all.size() == count ? unsettled(*cluster_, ns, count)
                                 : fmt::format("{} of {} rooms", all.size(), count);
    };
  }

  inline static ThreadTasks tasks_;
  inline static std::unique_ptr<WriteGate> gate_;
  inline static std::size_t newest_ = 0;
  inline static std::optional<KillAt> first_kill_;  // of a process that is started
  inline static std::vector<std::string> installation_;
  inline static std::map<std::string, Duration> waited_;  // in the last telling, by what for
  inline static Instant last_asked_;
  inline static std::string shared_;  // a port that two Pods had at any moment
};

TEST_F(KilledAtEveryWrite, TheInstallation) {
  fmt::print("{} writes, each killed before and after\n", installation_.size());
  EXPECT_THAT(installation_, Contains(HasSubstr("secrets")));
  EXPECT_THAT(installation_, Contains(HasSubstr("customresourcedefinitions/listeners.")));
  EXPECT_THAT(installation_, Contains(HasSubstr("mutatingwebhookconfigurations/berth")));
  EXPECT_THAT(installation_, Contains(HasSubstr("flowschemas")));
}

// A pool on two load balancers, from its first grant to its last.
TEST_F(KilledAtEveryWrite, APoolComesAndGoes) {
  const std::string ns = cluster_->make_namespace("pools");
  const std::string a = load_balancer_id("pools-a");
  const std::string b = load_balancer_id("pools-b");
  const auto& pools = api::port_pool_kind().type;
  const auto& balancers = api::load_balancer_kind().type;
  tell_with_every_kill({
      made(pool(ns, "rooms", {{.load_balancers = {a, b}, .end = 30001}})),
      pool_ready(ns, "rooms"),
      removed(pools, ns, "rooms"),
      [&]() -> std::string {
        if (cluster_->get(pools, ns, "rooms")) return "the pool is still there";
        if (!cluster_->list(api::listener_kind().type, ns).empty()) return "a Listener is left";
        for (const Value& balancer : cluster_->list(balancers, ""))
          if (wire::to_json(balancer).find("pools-") != std::string::npos)
            return "left behind: " + wire::to_json(balancer);
        return {};
      },
  });
}

// A room with one port, and one with both protocols on two load balancers: they come, they are
// reached, they go, and their ports are free. No pool has a port to spare, so one that is lost
// would be missed, and every telling has the same ones.
TEST_F(KilledAtEveryWrite, RoomsComeAndGo) {
  const std::string ns = cluster_->make_namespace("rooms");
  const std::string a = load_balancer_id("rooms-a");
  const std::string b = load_balancer_id("rooms-b");
  const Value singles = pool(ns, "rooms", {{.load_balancers = {a}, .end = 30001}});
  const Value pairs =
      pool(ns, "pairs",
           {{.load_balancers = {a, b}, .start = 31000, .end = 31001, .protocol = "TCP,UDP"}});
  ASSERT_EQ(tell({made(singles), made(pairs), pool_ready(ns, "rooms"), pool_ready(ns, "pairs")}),
            "");
  tell_with_every_kill({
      made(workload({.ns = ns, .name = "pair", .ports = "pairs TCP_UDP 8000"})),
      made(bare_room(ns, "single")),
      settled(ns, 2),
      removed(kube::types::kStatefulSet, ns, "pair"),
      removed(kube::types::kPod, ns, "single"),
      settled(ns, 0),
  });
}

}  // namespace
}  // namespace berth
