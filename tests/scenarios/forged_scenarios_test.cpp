// Posts to our webhook that no API server sent, and creations that end after our answer: nobody
// gets a port for a Pod that is not, or not for long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json.hpp>

#include "admission/webhooks.h"
#include "base/encoding.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using wire::Array;
using wire::Object;
using wire::Value;
using namespace std::chrono_literals;

const std::string kListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners";
const std::string kLease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/berth";
const std::string kKeys = "/api/v1/namespaces/default/secrets/berth-keys";
const std::string kMutating =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/berth";

struct Forged {
  std::string ns = "games";
  std::string name = "ghost-0";
  std::string generate_name{};
  std::string keep{};
  std::string request = "rooms.games TCP 8000";
};

std::string review_of(const Forged& forged) {
  Object annotations{{api::kPortPoolsAnnotation, "true"}, {api::kPortsAnnotation, forged.request}};
  if (!forged.keep.empty()) annotations[api::kKeepDurationAnnotation] = forged.keep;
  Object metadata{{"namespace", forged.ns}, {"annotations", annotations}};
  if (!forged.name.empty()) metadata["name"] = forged.name;
  if (!forged.generate_name.empty()) metadata["generateName"] = forged.generate_name;
  const Object container{
      {"name", "room"}, {"image", "room:1"}, {"ports", Array{Object{{"containerPort", 8000}}}}};
  const Object pod{{"apiVersion", "v1"},
                   {"kind", "Pod"},
                   {"metadata", metadata},
                   {"spec", Object{{"containers", Array{container}}}}};
  return wire::to_json(
      Object{{"apiVersion", "admission.k8s.io/v1"},
             {"kind", "AdmissionReview"},
             {"request",
              Object{{"uid", "00000000-0000-4000-8000-000000000001"},
                     {"operation", "CREATE"},
                     {"namespace", forged.ns},
                     {"name", forged.name},
                     {"resource", Object{{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                     {"object", pod}}}});
}

class ForgedTest : public ::testing::Test {
 protected:
  explicit ForgedTest(const world::WorldOptions& options = {}) : house_(1, options) {}
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    settle();
  }
  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }

  // The address of the webhook, as somebody knows it who has read it in an error.
  std::string known_url() {
    const auto found = house_.cluster().ask("GET", kMutating);
    if (!found) return "";
    const Array* hooks = wire::array_at(*found, "/webhooks");
    for (const Value& hook : hooks ? *hooks : Array{}) {
      if (wire::string_at(hook, "/name") == admission::kPodPortsHook)
        return std::string(wire::string_at(hook, "/clientConfig/url"));
    }
    return "";
  }
  net::Response post(const std::string& url, const Forged& forged) {
    auto out = std::make_shared<net::Response>();
    const auto done = house_.cluster().play(
        "forger", [out, url, body = review_of(forged), world = &house_.world()](std::stop_token) {
          Result<net::Response> answer = world->call({.url = url}, body, 10s);
          *out = answer ? std::move(*answer) : net::Response{.status = 0};
        });
    EXPECT_TRUE(house_.run_until([&] { return *done; }));
    return *out;
  }
  // What the webhook says to it; empty when it is allowed.
  std::string refusal_of(const Forged& forged) {
    const net::Response answer = post(known_url(), forged);
    if (answer.status != 200) return fmt::format("status {}", answer.status);
    const Result<Value> review = wire::parse_json(answer.body);
    if (!review) return "no review";
    if (wire::bool_at(*review, "/response/allowed").value_or(false)) return "";
    return std::string(wire::string_at(*review, "/response/status/message"));
  }
  std::vector<std::string> claims() {
    std::vector<std::string> out;
    const auto listeners = house_.cluster().list(kListeners);
    const std::string path =
        "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation);
    for (const Value& listener : listeners ? *listeners : std::vector<Value>{}) {
      if (const std::string_view text = wire::string_at(listener, path); !text.empty())
        out.emplace_back(text);
    }
    return out;
  }
  void forge_claim(const std::string& listener, const ledger::Claim& claim) {
    house_.book().look_away(true);
    const Object annotations{{ledger::kClaimAnnotation, ledger::encode(claim)}};
    EXPECT_TRUE(house_.cluster().ask("PATCH", kListeners + "/" + listener,
                                     Object{{"metadata", Object{{"annotations", annotations}}}}));
    house_.book().look_away(false);
  }
  void run_for(Duration span) { ASSERT_TRUE(house_.cluster().run_for(span)); }

  PoolHouse house_;
  User user_{house_.world()};
};

TEST_F(ForgedTest, APostWithoutTheSecretOfThePathTakesNothing) {
  const std::string known = known_url();
  const std::size_t host = known.find('/', std::string_view("https://").size());
  for (const std::string& path :
       {std::string(admission::kPodPortsPath), std::string(admission::kPodPortsPath) + "/",
        std::string(admission::kPodPortsPath) + "/00000000000000000000000000000000"}) {
    const net::Response answer = post(known.substr(0, host) + path, {});
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.body.find("AdmissionReview"), std::string::npos);
  }
  EXPECT_THAT(claims(), IsEmpty());
}

// Whoever knows the path is still no API server.
TEST_F(ForgedTest, ANamespaceThatIsNotThereGetsNoPort) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(refusal_of({.ns = "nowhere", .name = fmt::format("ghost-{}", i), .keep = "1h"}),
                HasSubstr("nowhere"));
  }
  EXPECT_THAT(claims(), IsEmpty());
}

TEST_F(ForgedTest, ANamespaceWithoutTheLabelGetsNoPort) {
  ASSERT_TRUE(house_.cluster().create_all(
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: offices}\n---\n"
      "apiVersion: v1\nkind: Namespace\n"
      "metadata: {name: studios, labels: {bcs-ingress-controller-inject: \"true\"}}\n"));
  EXPECT_THAT(refusal_of({.ns = "offices"}), HasSubstr("bcs-ingress-controller-inject"));
  EXPECT_THAT(claims(), IsEmpty());
  EXPECT_EQ(refusal_of({.ns = "studios"}), "") << "made a moment ago: the server is asked";
}

TEST_F(ForgedTest, NamesThatNoPodCanHaveAreRefused) {
  EXPECT_THAT(refusal_of({.ns = "a/b"}), HasSubstr("request.namespace"));
  EXPECT_THAT(refusal_of({.ns = "Games"}), HasSubstr("request.namespace"));
  EXPECT_THAT(refusal_of({.name = "a/b"}), HasSubstr("metadata.name"));
  EXPECT_THAT(refusal_of({.name = "room_0"}), HasSubstr("metadata.name"));
  EXPECT_THAT(refusal_of({.name = std::string(254, 'a')}), HasSubstr("metadata.name"));
  EXPECT_THAT(refusal_of({.name = "", .generate_name = "Rooms-"}),
              HasSubstr("metadata.generateName"));
  EXPECT_THAT(claims(), IsEmpty());
  EXPECT_EQ(refusal_of({.name = "", .generate_name = "rooms-"}), "");
}

TEST_F(ForgedTest, ANameIsKeptOnlyWhenItWasAPod) {
  house_.quota().refuses = 1;
  EXPECT_FALSE(user_.create("room-0", {.request = "rooms TCP 8000", .keep = "24h"}, 1));
  EXPECT_EQ(claims().size(), 1u);
  run_for(3min);
  EXPECT_THAT(claims(), IsEmpty());
  // And as ever, one that was a Pod keeps its port.
  house_.quota().refuses = 0;
  ASSERT_TRUE(user_.create("room-0", {.request = "rooms TCP 8000", .keep = "24h"}));
  run_for(1min);
  user_.remove("room-0");
  house_.quota().refuses = 1;
  run_for(10min);
  ASSERT_EQ(claims().size(), 1u);
  EXPECT_FALSE(user_.create("room-0", {.request = "rooms TCP 8000", .keep = "24h"}, 1));
  run_for(10min);
  ASSERT_EQ(claims().size(), 1u) << "a creation that failed takes nothing away";
}

TEST_F(ForgedTest, KeepDurationsHaveABound) {
  const std::string refusal = refusal_of({.keep = "87600h"});
  EXPECT_THAT(refusal, HasSubstr(std::string(api::kKeepDurationAnnotation)));
  EXPECT_THAT(refusal, HasSubstr("720h"));
  EXPECT_EQ(refusal_of({.keep = "720h"}), "");
  EXPECT_EQ(claims().size(), 1u);
}

// Even with the path and a namespace that may: Pods that never come do not have the whole pool.
TEST_F(ForgedTest, AnswersWithoutPodsDoNotEmptyAPool) {
  ASSERT_TRUE(user_.create_pool(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: arena, namespace: games}
spec:
  poolItems:
    - {itemName: item1, loadBalancerIDs: ["edge:arena"], protocol: TCP, startPort: 35000, endPort: 35024}
)"));
  settle();
  std::string refusal;
  for (int i = 0; i < 24 && refusal.empty(); ++i) {
    refusal = refusal_of({.name = fmt::format("ghost-{}", i), .request = "arena TCP 8000"});
  }
  EXPECT_THAT(refusal, HasSubstr("games/arena"));
  EXPECT_THAT(refusal, HasSubstr("have not come"));
  EXPECT_EQ(claims().size(), 12u);
  run_for(2min);
  EXPECT_THAT(claims(), IsEmpty());
  for (int i = 0; i < 24; ++i) {
    ASSERT_TRUE(user_.create(fmt::format("room-{}", i), {.request = "arena TCP 8000"}, 5))
        << "Pods that come have all of it: " << user_.last_refusal();
  }
}

// Days go by, and little happens in them.
class DaysTest : public ForgedTest {
 protected:
  explicit DaysTest(const world::WorldOptions& options = quiet()) : ForgedTest(options) {}
  static world::WorldOptions quiet() {
    world::WorldOptions options{.replicas = 2};
    options.cluster.tick = 1h;
    options.config.lease_duration = 20min;
    options.config.renew_deadline = 10min;
    options.config.lease_retry_period = 5min;
    return options;
  }
};

TEST_F(DaysTest, ThePathIsReplacedEveryDayAndNoRoomNoticesIt) {
  std::vector<std::string> urls{known_url()};
  for (int i = 0; i < 13; ++i) {
    run_for(4h);
    const std::string room = fmt::format("room-{}", i);
    ASSERT_TRUE(user_.create(room, kind_of(0), 1)) << user_.last_refusal();
    user_.remove(room);
    if (const std::string url = known_url(); url != urls.back()) urls.push_back(url);
  }
  ASSERT_GE(urls.size(), 3u);
  EXPECT_EQ(post(urls.front(), {}).status, 404) << "known for too long";
  EXPECT_EQ(post(urls[urls.size() - 2], {}).status, 200) << "an API server may be behind";
}

// Between a replica and the API server, while somebody has not pulled the cable.
class Cable final : public net::Transport {
 public:
  Cable(net::Transport& inner, const bool& is_out) : inner_(inner), is_out_(is_out) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    if (is_out_) return fail(Code::unavailable, "no route to host");
    return inner_.call(context, request);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    if (is_out_) return fail(Code::unavailable, "no route to host");
    return inner_.open(context, request);
  }

 private:
  net::Transport& inner_;
  const bool& is_out_;
};

// Replicas whose cables can be pulled, by their numbers; those that come later have none.
struct Cables {
  std::array<bool, 2> are_out{};
  std::size_t made = 0;
};

class OutageTest : public DaysTest {
 protected:
  explicit OutageTest(std::shared_ptr<Cables> cables = std::make_shared<Cables>())
      : DaysTest(with(cables)), cables_(std::move(cables)) {}

  static world::WorldOptions with(const std::shared_ptr<Cables>& cables) {
    world::WorldOptions options = quiet();
    options.around_transport = [cables](net::Transport& inner) -> std::unique_ptr<net::Transport> {
      if (cables->made == cables->are_out.size()) return nullptr;
      return std::make_unique<Cable>(inner, cables->are_out[cables->made++]);
    };
    return options;
  }
  // 0 or 1, of "berth-0" and "berth-1".
  std::size_t leader() {
    const auto lease = house_.cluster().ask("GET", kLease);
    const std::string_view holder =
        lease ? wire::string_at(*lease, "/spec/holderIdentity") : std::string_view();
    EXPECT_THAT(holder, testing::AnyOf("berth-0", "berth-1"));
    return holder == "berth-1" ? 1 : 0;
  }
  // For longer than a lease.
  void pull_cables(const std::vector<std::size_t>& of) {
    for (const std::size_t i : of) cables_->are_out[i] = true;
    run_for(30min);
    for (const std::size_t i : of) cables_->are_out[i] = false;
  }
  // The old path is known to somebody, and what API servers call is another one soon.
  void expect_new_path(const std::string& before) {
    run_for(3h);
    const std::string after = known_url();
    EXPECT_NE(path_of(after), path_of(before));
    EXPECT_EQ(post(after, {}).status, 200);
    EXPECT_EQ(post(before, {}).status, 200) << "an API server may be behind";
  }
  // Of "https://berth-0/path".
  static std::string path_of(const std::string& url) {
    return url.substr(url.find('/', std::string_view("https://").size()));
  }

  const std::shared_ptr<Cables> cables_;
};

TEST_F(OutageTest, WithoutOneThePathStaysForTheDay) {
  const std::string before = path_of(known_url());
  run_for(8h);
  EXPECT_EQ(path_of(known_url()), before);
}

// API servers print the addresses of webhooks that do not answer.
TEST_F(OutageTest, APathIsReplacedWhenTheApiServerIsBack) {
  run_for(3h);
  const std::string before = known_url();
  pull_cables({0, 1});
  expect_new_path(before);
}

TEST_F(OutageTest, APathIsReplacedWhenAFollowerIsBack) {
  run_for(3h);
  const std::string before = known_url();
  pull_cables({1 - leader()});
  expect_new_path(before);
}

// It is gone for good, and never says so.
TEST_F(OutageTest, APathIsReplacedWhenAnotherLeads) {
  run_for(3h);
  const std::string before = known_url();
  const std::size_t lost = leader();
  cables_->are_out[lost] = true;
  run_for(1h);
  ASSERT_NE(leader(), lost);
  expect_new_path(before);
}

TEST_F(OutageTest, APathIsReplacedWhenAFollowerStartsAnew) {
  run_for(3h);
  const std::string before = known_url();
  house_.world().restart(1 - leader());
  expect_new_path(before);
}

// Nobody can know one that is announced and not used yet.
TEST_F(OutageTest, OutagesOneAfterTheOtherMakeOnePath) {
  run_for(3h);
  const auto paths = [this] {
    const auto secret = house_.cluster().ask("GET", kKeys);
    const auto text = base64_decode(secret ? wire::string_at(*secret, "/data/paths") : "");
    const auto ring = wire::parse_json(text.value_or("{}"));
    const Array* const keys = ring ? wire::array_at(*ring, "/keys") : nullptr;
    return keys ? keys->size() : 0;
  };
  const std::size_t before = paths();
  house_.world().restart(1 - leader());
  run_for(15min);
  EXPECT_EQ(paths(), before + 1);
  pull_cables({leader()});
  run_for(15min);
  EXPECT_EQ(paths(), before + 1);
}

// As the version before ours left it, when somebody posted to it.
TEST_F(ForgedTest, WhatWasForgedBeforeIsFoundAndFreed) {
  const WallTime now = house_.world().kernel().wall_time();
  const ledger::Claim claim{.token = ledger::make_token(now, 1, 2),
                            .pod_name = "ghost-0",
                            .request = "0123456789abcdef",
                            .since = now,
                            .keep = 24h * 3650};
  ledger::Claim slashed = claim;
  slashed.ns = "a/b";
  forge_claim("demo-tcp-30000", slashed);
  ledger::Claim nowhere = claim;
  nowhere.ns = "nowhere";
  forge_claim("demo-tcp-30001", nowhere);
  ledger::Claim kept = nowhere;
  kept.state = ledger::SlotState::kept;
  kept.until = now + 24h * 3650;
  forge_claim("demo-tcp-30002", kept);
  EXPECT_EQ(claims().size(), 3u);
  run_for(3min);
  EXPECT_THAT(claims(), IsEmpty());
}

}  // namespace
}  // namespace berth::scenario
