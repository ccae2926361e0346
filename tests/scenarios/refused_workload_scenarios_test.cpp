// Workloads whose Pods were refused because a pool was full, with their controllers as a cluster
// has them: those wait longer after every refusal, for minutes in the end.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "pool_house.h"
#include "sim/workloads/controllers.h"

namespace berth::scenario {
namespace {

using wire::Object;
using wire::Value;

using std::chrono::minutes;
using std::chrono::seconds;

const std::string kReplicaSets = "/apis/apps/v1/namespaces/games/replicasets";
const std::string kListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners";
// The controllers wait for ten minutes after the attempt that they have made by then.
constexpr Duration kLongRefused = minutes{11};
constexpr Duration kAtOnce = seconds{1};

// As strict as the one of its authors where we write: conditions have these fields alone.
constexpr std::string_view kGameStatefulSets = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gamestatefulsets.tkex.tencent.com}
spec:
  group: tkex.tencent.com
  scope: Namespaced
  names: {kind: GameStatefulSet, listKind: GameStatefulSetList, plural: gamestatefulsets, singular: gamestatefulset}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
              properties:
                conditions:
                  type: array
                  items:
                    type: object
                    required: [type, status]
                    properties:
                      type: {type: string}
                      status: {type: string}
                      reason: {type: string}
                      message: {type: string}
                      lastTransitionTime: {type: string, format: date-time}
)";

// Asks for one port of `rooms` for each Pod.
std::string workload(const std::string& kind, const std::string& name, int replicas) {
  return fmt::format(R"(
apiVersion: {3}
kind: {0}
metadata: {{name: {1}, namespace: games}}
spec:
  replicas: {2}
  selector: {{matchLabels: {{app: {1}}}}}
  template:
    metadata:
      labels: {{app: {1}}}
      annotations:
        portpools.networkextension.bkbcs.tencent.com: "true"
        ports.portpools.networkextension.bkbcs.tencent.com: rooms TCP 8000
    spec:
      containers: [{{name: room, image: "room:1", ports: [{{containerPort: 8000}}]}}]
)",
                     kind, name, replicas,
                     kind == "GameStatefulSet" ? "tkex.tencent.com/v1alpha1" : "apps/v1");
}

// The cluster's own controllers, which live through everything here.
class ControllerManager {
 public:
  explicit ControllerManager(world::Cluster& cluster)
      : process_(cluster.kernel().start_process("controller-manager", sim::Crashable::no)),
        network_(cluster.connect(process_)),
        client_(*network_, kube::fixed_config(world::Cluster::kServerUrl, {})),
        controllers_(process_, client_, cluster.kernel().fork_random(),
                     {.game_stateful_sets = true}) {
    main_ = process_.spawn("main", [this](std::stop_token stop) {
      (void)controllers_.run({.tasks = process_, .stop = std::move(stop)});
    });
  }
  ~ControllerManager() { process_.kernel().crash(process_); }

 private:
  sim::Process& process_;
  std::unique_ptr<net::Transport> network_;
  kube::Client client_;
  workloads::Controllers controllers_;
  std::unique_ptr<Task> main_;
};

// A full pool, and two workloads that have been refused for long.
class RefusedWorkloads : public testing::TestWithParam<std::uint64_t> {
 protected:
  void refuse(int replicas, const std::string& stateful = "StatefulSet") {
    replicas_ = replicas;
    world::WorldOptions options;
    options.replicas = replicas;
    options.config.quarantine = Duration::zero();
    house_ = std::make_unique<PoolHouse>(GetParam(), options);
    ASSERT_TRUE(house_->open());
    ASSERT_TRUE(house_->cluster().create_all(kGameStatefulSets));
    manager_ = std::make_unique<ControllerManager>(house_->cluster());
    User user(house_->world());
    for (std::size_t i = 0; i < kRoomPorts; ++i)
      ASSERT_TRUE(user.create(room(i), kind_of(0))) << user.last_refusal();
    // A ReplicaSet makes names, the other one has them.
    ASSERT_TRUE(house_->cluster().create_all(workload("ReplicaSet", "crowd", 1)));
    ASSERT_TRUE(house_->cluster().create_all(workload(stateful, "set", 1)));
    ASSERT_TRUE(house_->cluster().run_for(kLongRefused));
    ASSERT_EQ(pods(), kRoomPorts);
  }
  void TearDown() override {
    if (house_) house_->cluster().end_players();
    manager_.reset();
  }

  static std::string room(std::size_t i) { return fmt::format("room-{}", i); }
  std::size_t pods() { return house_->cluster().list(kPods)->size(); }

  // They come before the others in a list, and are more than one page of it.
  void add_idle_workloads() {
    for (int i = 0; i < 250; ++i) {
      Object set{{"apiVersion", "apps/v1"},
                 {"kind", "ReplicaSet"},
                 {"metadata", Object{{"name", fmt::format("a-{}", i)}}},
                 {"spec", wire::parse_json(R"({"replicas": 0,
                     "selector": {"matchLabels": {"app": "a"}},
                     "template": {"metadata": {"labels": {"app": "a"}},
                                  "spec": {"containers": [{"name": "a", "image": "a:1"}]}}})")
                              .value()}};
      const auto made = house_->cluster().ask("POST", kReplicaSets, set);
      ASSERT_TRUE(made) << made.error().to_string();
    }
  }

  // They want more than there will ever be, and come before the others in every order.
  void add_greedy_workloads(int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE(
          house_->cluster().create_all(workload("ReplicaSet", fmt::format("a-{:02}", i), 50)));
    ASSERT_TRUE(house_->cluster().run_for(kLongRefused));
  }
  bool is_touched(const std::string& set) {
    const auto found = house_->cluster().ask("GET", kReplicaSets + "/" + set);
    return found && !wire::string_at(*found, "/metadata/annotations/berth.dev~1retry").empty();
  }

  // One after the other, as a rolling update does.
  void restart_all() {
    for (int i = 0; i < replicas_; ++i) house_->world().restart(static_cast<std::size_t>(i));
    ASSERT_TRUE(house_->run_until([&] {
      return house_->world().leaders() == 1 && house_->world().listening() == replicas_;
    }));
  }

  // Two ports are given back, and both workloads get their Pods. For how long a port was free
  // while one of them lacked its Pod.
  Duration longest_wait() {
    for (const std::size_t i : {0u, 1u})
      EXPECT_TRUE(house_->cluster().ask("DELETE", kPods + "/" + room(i)));
    Duration longest{};
    std::optional<Instant> since;
    EXPECT_TRUE(house_->run_until([&] {
      const Instant now = house_->world().kernel().now();
      const bool served = have_pods();
      if (served || !has_room()) {
        since.reset();
      } else {
        longest = std::max(longest, now - since.value_or(now));
        since = since.value_or(now);
      }
      return served;
    }));
    return longest;
  }
  bool have_pods() {
    std::set<std::string_view> owners;
    const auto all = house_->cluster().list(kPods);
    for (const Value& pod : *all)
      owners.insert(wire::string_at(pod, "/metadata/ownerReferences/0/name"));
    return owners.contains("crowd") && owners.contains("set");
  }
  bool has_room() {
    const auto all = house_->cluster().list(kListeners);
    return std::ranges::any_of(*all, [](const Value& listener) {
      const Value* const claim = wire::find(
          listener, "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation));
      return wire::string_at(listener, "/metadata/name").starts_with("demo-") && claim &&
             claim->as_string().empty();
    });
  }

  std::unique_ptr<PoolHouse> house_;
  std::unique_ptr<ControllerManager> manager_;
  int replicas_ = 0;
};

TEST_P(RefusedWorkloads, GetTheirPodsWhenThePoolHasRoom) {
  refuse(1);
  EXPECT_LE(longest_wait(), kAtOnce);
}

TEST_P(RefusedWorkloads, MayBeCustomResources) {
  refuse(1, "GameStatefulSet");
  EXPECT_LE(longest_wait(), kAtOnce);
}

// Whoever may patch workloads may run any Pod.
TEST_P(RefusedWorkloads, AreTouchedThroughTheirStatus) {
  refuse(1);
  int touches = 0;
  int rewrites = 0;
  const auto watching = house_->cluster().gateway().observe(
      [&](const net::Request& request, const world::SeenReply&) {
        if (request.method != "PATCH" || request.body.find("berth.dev/retry") == std::string::npos)
          return;
        const std::string path = request.url.substr(0, request.url.find('?'));
        ++(path.ends_with("/status") ? touches : rewrites);
      });
  EXPECT_LE(longest_wait(), kAtOnce);
  EXPECT_GT(touches, 0);
  EXPECT_EQ(rewrites, 0);
}

TEST_P(RefusedWorkloads, AreNotForgottenByAControllerThatIsStartedAgain) {
  refuse(1);
  add_idle_workloads();
  restart_all();
  EXPECT_LE(longest_wait(), kAtOnce);
}

TEST_P(RefusedWorkloads, AreNotForgottenInARollingUpdate) {
  refuse(2);
  restart_all();
  EXPECT_LE(longest_wait(), kAtOnce);
}

// Nine at least wait before it, and eight are touched for each port.
TEST_P(RefusedWorkloads, HaveTheirTurnHoweverManyWantMore) {
  refuse(1);
  add_greedy_workloads(12);
  for (const std::size_t i : {0u, 1u, 2u}) {
    ASSERT_TRUE(house_->cluster().ask("DELETE", kPods + "/" + room(i)));
    ASSERT_TRUE(house_->cluster().run_for(seconds{20}));
  }
  EXPECT_TRUE(is_touched("crowd"));
  EXPECT_TRUE(is_touched("a-11"));
}

// Workloads are looked at when a replica starts and leads, and not by the port.
TEST(NobodyIsRefused, AndNobodyLooksForWorkloads) {
  PoolHouse house(22, {});
  ASSERT_TRUE(house.open());
  ASSERT_TRUE(house.settle());
  int lists = 0;
  const auto counting =
      house.cluster().gateway().observe([&](const net::Request& request, const world::SeenReply&) {
        if (request.url.find("/apis/apps/") != std::string::npos) ++lists;
      });
  User user(house.world());
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kRoomPorts; ++i)
      ASSERT_TRUE(user.create(fmt::format("room-{}", i), kind_of(0))) << user.last_refusal();
    for (std::size_t i = 0; i < kRoomPorts; ++i) user.remove(fmt::format("room-{}", i));
    ASSERT_TRUE(house.settle());
  }
  EXPECT_EQ(lists, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RefusedWorkloads, testing::Range<std::uint64_t>(1, 4));

}  // namespace
}  // namespace berth::scenario
