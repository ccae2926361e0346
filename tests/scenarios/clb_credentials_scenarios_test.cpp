// Port pools on Tencent's load balancers, each namespace with keys of its own: who is called for
// whom, what people are told, and that no key is ever shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/encoding.h"
#include "clb_cloud.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using wire::Object;
using wire::Value;
using namespace std::chrono_literals;

constexpr std::string_view kGamesKey = "key-of-the-games-nobody-sees";
constexpr std::string_view kLoungeKey = "key-of-the-lounge-nobody-sees";
constexpr std::string_view kNextKey = "next-key-of-the-games-nobody-sees";
const std::string kApi = "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/";

std::string secret_path(const std::string& ns) { return "/api/v1/namespaces/" + ns + "/secrets"; }

// One in each namespace, on a load balancer of its own account; the lounge's by its name.
const std::string kHouse = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  poolItems:
  - {itemName: item1, loadBalancerIDs: ["lb-demo"], protocol: TCP, startPort: 30000, endPort: 30003}
)";
const std::string kLounge = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: tables, namespace: lounge}
spec:
  poolItems:
  - {itemName: item1, loadBalancerIDs: ["salon"], protocol: TCP, startPort: 30000, endPort: 30003}
)";

class ClbCredentials : public testing::Test {
 protected:
  ClbCredentials() : cloud_(options()) {
    set_log_sink([this](std::string_view line) { log_.append(line).append("\n"); });
    cloud_.cloud().add_account({.uin = "2"});
    add_key("AKIDgames", kGamesKey, "100000000001");
    add_key("AKIDlounge", kLoungeKey, "2");
    cloud_.add_load_balancer("lb-demo");
    cloud_.add_load_balancer("lb-lounge", {.account = "2", .name = "salon"});
    world::WorldOptions world;
    world.config.load_balancers = clb_defaults();
    world.config.namespace_credentials = true;
    world.cloud = &cloud_;
    house_ = std::make_unique<PoolHouse>(1, world);
  }
  ~ClbCredentials() override {
    house_.reset();
    set_log_sink({});
  }

  static ClbOptions options() {
    ClbOptions out;
    out.credentials = providers::TencentCredentials{.of_namespaces = true};
    return out;
  }
  void add_key(const std::string& id, std::string_view key, const std::string& account) {
    cloud_.cloud().add_key(
        {.secret_id = id, .secret_key = Secret(std::string(key)), .account = account});
  }
  Object secret(const std::string& id, std::string_view key) {
    return {{"apiVersion", "v1"},
            {"kind", "Secret"},
            {"metadata", Object{{"name", module::kNamespaceSecret}}},
            {"data", Object{{"TENCENTCLOUD_ACCESS_KEY_ID", base64_encode(id)},
                            {"TENCENTCLOUD_ACESS_KEY", base64_encode(key)}}}};
  }
  void create_secret(const std::string& ns, const std::string& id, std::string_view key) {
    const auto made = house_->cluster().ask("POST", secret_path(ns), secret(id, key));
    ASSERT_TRUE(made) << made.error().to_string();
  }
  void replace_secret(const std::string& ns, const std::string& id, std::string_view key) {
    const auto put = house_->cluster().ask(
        "PUT", fmt::format("{}/{}", secret_path(ns), module::kNamespaceSecret), secret(id, key));
    ASSERT_TRUE(put) << put.error().to_string();
  }
  void open() {
    const Result<> opened = house_->open_with(kHouse);
    ASSERT_TRUE(opened) << opened.error().to_string();
  }
  void open_lounge() {
    const auto made = house_->cluster().create_missing(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: lounge}\n");
    ASSERT_TRUE(made) << made.error().to_string();
    const auto pool = house_->cluster().create_all(kLounge);
    ASSERT_TRUE(pool) << pool.error().to_string();
  }
  void run_for(Duration span) { ASSERT_TRUE(house_->cluster().run_for(span)); }
  void run_until(const std::function<bool()>& done) {
    const Instant patience = house_->world().kernel().now() + 10min;
    ASSERT_TRUE(
        house_->run_until([&] { return done() || house_->world().kernel().now() > patience; }));
    ASSERT_TRUE(done());
  }
  std::string pool_says(const std::string& ns, const std::string& name) {
    const auto pool = house_->cluster().ask("GET", kApi + ns + "/portpools/" + name);
    return pool && wire::find(*pool, "/status") ? wire::to_json(*wire::find(*pool, "/status"))
                                                : std::string();
  }
  bool is_pool_ready(const std::string& ns, const std::string& name) {
    const auto pool = house_->cluster().ask("GET", kApi + ns + "/portpools/" + name);
    return pool && wire::string_at(*pool, "/status/status") == "Ready";
  }
  // All that people could read, but for the Secrets themselves.
  std::string all_that_is_shown() {
    std::string out = log_;
    for (const std::string ns : {"games", "lounge"}) {
      for (const std::string& path :
           {kApi + ns + "/portpools", kApi + ns + "/listeners", kApi + ns + "/portbindings",
            "/api/v1/namespaces/" + ns + "/pods", "/api/v1/namespaces/" + ns + "/events"}) {
        const auto items = house_->cluster().list(path);
        if (!items) continue;
        for (const Value& one : *items) out += wire::to_json(one) + "\n";
      }
    }
    const auto balancers = house_->cluster().list("/apis/berth.dev/v1/loadbalancers");
    if (balancers)
      for (const Value& one : *balancers) out += wire::to_json(one) + "\n";
    return out;
  }
  void expect_nothing_shown() {
    const std::string all = all_that_is_shown();
    EXPECT_THAT(all, HasSubstr("lb-demo")) << "there is something to look at";
    EXPECT_THAT(all, HasSubstr("involvedObject")) << "events too";
    for (const std::string_view key : {kGamesKey, kLoungeKey, kNextKey}) {
      EXPECT_THAT(all, Not(HasSubstr(std::string(key))));
      EXPECT_THAT(all, Not(HasSubstr(base64_encode(key))));
    }
  }

  std::string log_;
  ClbCloud cloud_;
  std::unique_ptr<PoolHouse> house_;
};

TEST_F(ClbCredentials, EachNamespaceIsServedWithItsOwnKeysAndNoneIsShown) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(create_secret("games", "AKIDgames", kGamesKey));
  ASSERT_NO_FATAL_FAILURE(open_lounge());
  ASSERT_NO_FATAL_FAILURE(create_secret("lounge", "AKIDlounge", kLoungeKey));
  ASSERT_NO_FATAL_FAILURE(run_until(
      [&] { return is_pool_ready("games", "rooms") && is_pool_ready("lounge", "tables"); }));
  User user(house_->world());
  ASSERT_TRUE(user.create("room-0", {.request = "rooms TCP 8000"})) << user.last_refusal();
  const Result<> rested = house_->rest();
  ASSERT_TRUE(rested) << rested.error().to_string();
  EXPECT_EQ(cloud_.cloud().load_balancer("lb-demo")->listeners.size(), 3u);
  EXPECT_EQ(cloud_.cloud().load_balancer("lb-lounge")->listeners.size(), 3u)
      << "found by its name, with the keys of who asks";
  EXPECT_EQ(cloud_.callers(), (std::set<std::string>{"AKIDgames lb-demo", "AKIDlounge lb-lounge"}));
  expect_nothing_shown();
}

TEST_F(ClbCredentials, ANamespaceWithoutItsSecretSaysSoAndIsServedWhenItIsThere) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(run_for(2min));
  const auto listeners = house_->cluster().list(kApi + "games/listeners");
  ASSERT_TRUE(listeners);
  ASSERT_EQ(listeners->size(), 3u);
  for (const Value& one : *listeners)
    EXPECT_THAT(std::string(wire::string_at(one, "/status/msg")),
                AllOf(HasSubstr("Secret games/ingress-secret.networkextension.bkbcs.tencent.com"),
                      HasSubstr("kubectl -n games create secret generic")));
  EXPECT_THAT(pool_says("games", "rooms"), HasSubstr("ingress-secret.networkextension"));
  EXPECT_TRUE(cloud_.callers().empty()) << "nobody else's keys were tried";

  ASSERT_NO_FATAL_FAILURE(create_secret("games", "AKIDgames", std::string(kGamesKey) + "\n"));
  ASSERT_NO_FATAL_FAILURE(
      run_until([&] { return pool_says("games", "rooms").find("echo -n") != std::string::npos; }));
  ASSERT_NO_FATAL_FAILURE(replace_secret("games", "AKIDgames", kGamesKey));
  ASSERT_NO_FATAL_FAILURE(run_until([&] { return is_pool_ready("games", "rooms"); }));
  expect_nothing_shown();
}

TEST_F(ClbCredentials, KeysThatAreReplacedAreFollowedWithoutARestart) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(create_secret("games", "AKIDgames", kGamesKey));
  ASSERT_NO_FATAL_FAILURE(run_until([&] { return is_pool_ready("games", "rooms"); }));
  add_key("AKIDnext", kNextKey, "100000000001");
  ASSERT_NO_FATAL_FAILURE(replace_secret("games", "AKIDnext", kNextKey));
  ASSERT_NO_FATAL_FAILURE(run_for(15s));
  User user(house_->world());
  ASSERT_TRUE(user.create("room-0", {.request = "rooms TCP 8000"})) << user.last_refusal();
  const Result<> settled = house_->settle();
  ASSERT_TRUE(settled) << settled.error().to_string();
  EXPECT_TRUE(cloud_.callers().contains("AKIDnext lb-demo"));
  expect_nothing_shown();
}

// A tenant who writes the id of another's load balancer gets nothing there.
TEST_F(ClbCredentials, ALoadBalancerOfAnotherAccountIsNotTouched) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(create_secret("games", "AKIDlounge", kLoungeKey));
  ASSERT_NO_FATAL_FAILURE(run_for(2min));
  EXPECT_TRUE(cloud_.cloud().load_balancer("lb-demo")->listeners.empty());
  for (const std::string& caller : cloud_.callers()) EXPECT_THAT(caller, StartsWith("AKIDlounge "));
  EXPECT_THAT(pool_says("games", "rooms"), HasSubstr("there is no load balancer"));
}

}  // namespace
}  // namespace berth::scenario
