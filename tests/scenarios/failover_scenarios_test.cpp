// Another machine leads, where the load balancer's addresses are not: what lived in the process of
// the former leader is nowhere, and cannot be made. Rooms that nobody reaches are not called Ready.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "lb/test_forwarding_listeners.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using wire::Value;

using std::chrono::seconds;

// Cannot make a listener while the addresses are elsewhere.
class AddressMissing final : public lb::ForwardingListeners {
 public:
  AddressMissing(lb::Listeners& inner, const bool& missing)
      : ForwardingListeners(inner), missing_(missing) {}
  std::vector<Result<model::ListenerId>> create(
      const Context& context, const lb::Place& place,
      std::span<const model::ListenerSpec> wanted) override {
    if (!missing_) return inner_.create(context, place, wanted);
    return std::vector<Result<model::ListenerId>>(
        wanted.size(), fail(error_of(Code::unavailable, "cannot bind: no such address")));
  }

 private:
  const bool& missing_;
};

class FailoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    User user(house_.world());
    // With a readiness gate, and without.
    for (const std::size_t kind : {0u, 5u})
      ASSERT_TRUE(user.create(fmt::format("room-{}", kind), kind_of(kind))) << user.last_refusal();
    settle();
  }
  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  // Whoever leads from now on has none of the addresses.
  void fail_over() {
    house_.book().bear_unreached(true);
    house_.world().crash_all();
    sim::lb::ModelProvider& provider = house_.world().provider();
    for (const model::LoadBalancerRef& lb : provider.load_balancers())
      for (const auto& listener : provider.listeners(lb)) provider.remove_listener(lb, listener.id);
    address_missing_ = true;
  }
  std::size_t count_ready() {
    std::size_t out = 0;
    for (const Value& pod : house_.cluster().list(kPods).value_or(std::vector<Value>{})) {
      const Room room = RoomBook::read(pod);
      out += room.ready || room.gate_open ? 1 : 0;
    }
    return out;
  }

  // The load balancer lives in the controller's process.
  world::WorldOptions options() {
    world::WorldOptions out;
    out.provider.limits.keeps_listeners = false;
    out.provider.limits.outlives_caller = false;
    out.around_listeners = [this](lb::Listeners& inner) {
      return std::make_unique<AddressMissing>(inner, address_missing_);
    };
    return out;
  }

  bool address_missing_ = false;
  PoolHouse house_{1, options()};
};

TEST_F(FailoverTest, RoomsAreNotReadyWhereTheirPortsCannotBeMadeAndAreAgainWhenTheyCan) {
  ASSERT_EQ(count_ready(), 2u);
  fail_over();
  ASSERT_TRUE(house_.run_until([&] { return count_ready() == 0; }));
  // And nothing calls them so meanwhile.
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(house_.cluster().run_for(seconds{5}));
    ASSERT_EQ(count_ready(), 0u);
  }
  address_missing_ = false;
  ASSERT_TRUE(house_.run_until([&] { return count_ready() == 2; }));
  house_.book().bear_unreached(false);
  settle();
}

}  // namespace
}  // namespace berth::scenario
