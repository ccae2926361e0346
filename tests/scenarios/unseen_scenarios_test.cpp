// A provider that does what it is asked and does not show what is there: it throttles lists, or
// refuses them. Rooms stay Ready, and the object of the load balancer says that nobody looks.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <optional>

#include "lb/test_forwarding_listeners.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using wire::Value;

using std::chrono::minutes;
using std::chrono::seconds;

const std::string kBalancers = "/apis/berth.dev/v1/loadbalancers";

// Long before the provider is asked about the load balancers again, and after all of them are
// audited: each has a moment of its own.
constexpr Duration kAudits = minutes{1};
constexpr Duration kSoon = kAudits + seconds{30};

// While it says so, nobody is shown anything.
struct Curtain {
  bool down = false;
  Code code = Code::throttled;
  std::optional<Instant> first_refused{};
  std::optional<Instant> first_shown{};  // after that
};

class Curtained final : public lb::ForwardingListeners {
 public:
  Curtained(lb::Listeners& inner, Curtain& curtain)
      : ForwardingListeners(inner), curtain_(curtain) {}
  Result<std::vector<lb::ObservedListener>> list(const Context& context,
                                                 const lb::Place& place) override {
    const Instant now = context.tasks.now();
    if (!curtain_.down) {
      if (curtain_.first_refused && !curtain_.first_shown) curtain_.first_shown = now;
      return inner_.list(context, place);
    }
    if (!curtain_.first_refused) curtain_.first_refused = now;
    return fail(curtain_.code, "listeners are not shown");
  }

 private:
  Curtain& curtain_;
};

class UnseenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    User user(house_.world());
    ASSERT_TRUE(user.create("room-0", kind_of(0))) << user.last_refusal();
    settle();
  }
  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  world::WorldOptions options() {
    world::WorldOptions out;
    out.config.audit_period = kAudits;
    out.around_listeners = [this](lb::Listeners& inner) {
      return std::make_unique<Curtained>(inner, curtain_);
    };
    return out;
  }
  std::vector<Value> balancers() {
    return house_.cluster().list(kBalancers).value_or(std::vector<Value>{});
  }
  // Of all load balancers: status and reason.
  bool say(std::string_view status, std::string_view reason) {
    for (const Value& one : balancers()) {
      const wire::Array* const conditions = wire::array_at(one, "/status/conditions");
      if (!conditions || conditions->size() != 2) return false;
      const Value& listed = conditions->back();
      if (wire::string_at(listed, "/type") != "Listed" ||
          wire::string_at(listed, "/status") != status ||
          wire::string_at(listed, "/reason") != reason)
        return false;
    }
    return true;
  }
  bool show_an_error() {
    for (const Value& one : balancers())
      if (wire::string_at(one, "/status/lastError").find("not shown") == std::string_view::npos)
        return false;
    return true;
  }
  void expect_ready() {
    const auto pod = house_.cluster().ask("GET", kPods + "/room-0");
    ASSERT_TRUE(pod);
    EXPECT_TRUE(RoomBook::read(*pod).ready) << wire::to_json(*pod);
  }

  Curtain curtain_;
  PoolHouse house_{1, options()};
};

class UnseenFor : public UnseenTest,
                  public ::testing::WithParamInterface<std::pair<Code, const char*>> {};

TEST_P(UnseenFor, RoomsStayReadyAndTheObjectOfTheLoadBalancerSaysWhy) {
  const auto& [code, reason] = GetParam();
  curtain_ = {.down = true, .code = code};
  ASSERT_TRUE(house_.run_until([&] { return say("False", reason); }));
  EXPECT_LT(house_.world().kernel().now() - *curtain_.first_refused, kSoon);
  EXPECT_TRUE(show_an_error());
  ASSERT_TRUE(house_.cluster().run_for(minutes{10}));
  EXPECT_TRUE(say("False", reason));
  expect_ready();
  curtain_.down = false;
  ASSERT_TRUE(house_.run_until([&] { return say("True", "Listed"); }));
  EXPECT_LT(house_.world().kernel().now() - *curtain_.first_shown, kSoon);
  for (const Value& one : balancers()) EXPECT_EQ(wire::string_at(one, "/status/lastError"), "");
  expect_ready();
  settle();
}
INSTANTIATE_TEST_SUITE_P(Reasons, UnseenFor,
                         ::testing::Values(std::pair{Code::throttled, "Throttled"},
                                           std::pair{Code::timeout, "ProviderUnavailable"},
                                           std::pair{Code::unauthorized, "NoPermission"}));

// Who leads next has not looked yet, and does not say that all is well.
TEST_F(UnseenTest, ANewLeaderDoesNotSayThatItSeesWhatItHasNotLookedAt) {
  curtain_.down = true;
  ASSERT_TRUE(house_.run_until([&] { return say("False", "Throttled"); }));
  house_.world().crash_all();
  const Instant end = house_.world().kernel().now() + minutes{6};
  while (house_.world().kernel().now() < end) {
    ASSERT_TRUE(house_.cluster().run_for(seconds{1}));
    ASSERT_TRUE(say("False", "Throttled"));
  }
  expect_ready();
}

}  // namespace
}  // namespace berth::scenario
