// Several places of one load balancer: whose credentials are used for what, and who shares a quota.

#include <gmock/gmock.h>

#include <set>
#include <type_traits>

#include "engine/test_engine.h"
#include "lb/test_forwarding_listeners.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using lb::Place;
using model::CredentialId;
using model::Transport;
using testing::IsEmpty;

struct Seen {
  std::map<CredentialId, int> calls{};
  std::map<CredentialId, std::vector<std::string>> made{};  // names
  std::set<CredentialId> forbidden{};
  std::set<CredentialId> blind{};  // are told that the load balancer does not exist
  // Of all addresses of a gateway together; 0: none.
  std::size_t quota = 0;
  std::size_t listeners = 0;
  int under_way = 0;
  int most_under_way = 0;
};

class WatchedListeners final : public lb::ForwardingListeners {
 public:
  WatchedListeners(lb::Listeners& inner, Seen& seen) : ForwardingListeners(inner), seen_(seen) {}

  Result<std::vector<lb::ObservedListener>> list(const Context& context,
                                                 const Place& place) override {
    if (is_forbidden(place)) return fail(error());
    if (seen_.blind.contains(place.credential)) return fail(Code::not_found, "no such thing");
    return inner_.list(context, place);
  }
  Result<std::vector<lb::ObservedListener>> look_up(
      const Context& context, const Place& place,
      std::span<const lb::Question> questions) override {
    if (is_forbidden(place)) return fail(error());
    if (seen_.blind.contains(place.credential)) return fail(Code::not_found, "no such thing");
    return inner_.look_up(context, place, questions);
  }
  std::vector<Result<model::ListenerId>> create(
      const Context& context, const Place& place,
      std::span<const model::ListenerSpec> wanted) override {
    if (is_forbidden(place)) return {wanted.size(), fail(error())};
    if (seen_.quota > 0 && seen_.listeners + wanted.size() > seen_.quota)
      return {wanted.size(), fail(Code::exhausted, "the gateway is full")};
    seen_.listeners += wanted.size();
    for (const model::ListenerSpec& spec : wanted)
      seen_.made[place.credential].push_back(spec.name);
    return writing([&] { return inner_.create(context, place, wanted); });
  }
  std::vector<Result<>> remove(const Context& context, const Place& place,
                               std::span<const model::ListenerId> ids) override {
    if (is_forbidden(place)) return {ids.size(), fail(error())};
    seen_.listeners -= ids.size();
    return writing([&] { return inner_.remove(context, place, ids); });
  }
  std::vector<Result<>> change_targets(const Context& context, const Place& place,
                                       std::span<const lb::TargetChange> changes) override {
    if (is_forbidden(place)) return {changes.size(), fail(error())};
    return writing([&] { return inner_.change_targets(context, place, changes); });
  }

 private:
  static Error error() { return error_of(Code::forbidden, "not with these"); }
  bool is_forbidden(const Place& place) {
    ++seen_.calls[place.credential];
    return seen_.forbidden.contains(place.credential);
  }
  template <class F>
  std::invoke_result_t<F&> writing(F call) {
    seen_.most_under_way = std::max(seen_.most_under_way, ++seen_.under_way);
    auto results = call();
    --seen_.under_way;
    return results;
  }

  Seen& seen_;
};

class PlacesTest : public EngineTest {
 protected:
  PlacesTest() {
    around_ = [this](lb::Listeners& inner) {
      return std::make_unique<WatchedListeners>(inner, seen_);
    };
  }
  static Wish with(const CredentialId& credential, Wish wish) {
    wish.credential = credential;
    return wish;
  }
  bool is_applied(const std::string& key) { return cluster_.objects[key].applied; }

  const CredentialId good_{"team-a"};
  const CredentialId bad_{"team-b"};
  Seen seen_;
};

TEST_F(PlacesTest, NobodyIsTriedWithAnothersCredentials) {
  seen_.forbidden = {bad_};
  start();
  for (model::Port port = 30000; port < 30020; ++port) {
    want(fmt::format("a/{}", port), with(good_, wish_for(port, {target(1)})));
    want(fmt::format("b/{}", port), with(bad_, wish_for(static_cast<model::Port>(port + 100))));
  }
  ASSERT_TRUE(kernel_.run_until([&] { return is_applied("a/30019"); }));
  pass(1h);
  for (model::Port port = 30000; port < 30020; ++port) {
    EXPECT_TRUE(is_applied(fmt::format("a/{}", port)));
    EXPECT_FALSE(is_applied(fmt::format("b/{}", port)));
  }
  EXPECT_EQ(seen_.made[good_].size(), 20u);
  EXPECT_THAT(seen_.made[bad_], IsEmpty());
  EXPECT_EQ(seen_.calls[{}], 0) << "nobody asked in the name of the process";
  EXPECT_LE(seen_.calls[bad_], 30) << "it is tried now and then";
}

TEST_F(PlacesTest, WhoIsAllowedAgainGoesOn) {
  seen_.forbidden = {bad_};
  start();
  want("b/1", with(bad_, wish_for(30000)));
  run_until_told(1);
  EXPECT_EQ(cluster_.outcomes[0].result.error().code, Code::forbidden);
  seen_.forbidden.clear();
  run_until_applied();
}

// Only one of them has the wish.
TEST_F(PlacesTest, AWishThatGetsOtherCredentialsMoves) {
  seen_.forbidden = {bad_};
  start();
  want("a/1", with(bad_, wish_for(30000)));
  run_until_told(1);
  want("a/1", with(good_, wish_for(30000)));
  run_until_applied();
  const int calls = seen_.calls[bad_];
  pass(5min);
  EXPECT_EQ(seen_.calls[bad_], calls);
}

// What one of them knew is not what the other one made of it since.
TEST_F(PlacesTest, AWishThatComesBackIsLookedAtAgain) {
  start_settled();
  want("a/0", with(good_, wish_for(30009)));
  want("a/1", with(good_, wish_for(30000, {target(1)})));
  run_until_applied();
  want("a/1", with(bad_, wish_for(30000, {target(2)})));
  run_until_applied();
  want("a/1", with(good_, wish_for(30000, {target(1)})));
  run_until_applied();
  EXPECT_THAT(targets_at(30000), testing::ElementsAre(target(1)));
}

// Clouds do not say whether what belongs to another account exists.
TEST_F(PlacesTest, ALoadBalancerThatIsNotShownIsNotGone) {
  provider_.add_listener(kLb, *wish_for(30000, {target(1)}).spec);
  seen_.blind = {bad_};
  start_settled();
  want("a/1", with(bad_, removal_of(wish_for(30000))));
  pass(5min);
  EXPECT_FALSE(is_applied("a/1"));
  EXPECT_TRUE(provider_.find(kLb, Transport::tcp, 30000));
  seen_.blind.clear();
  run_until_applied();
  EXPECT_FALSE(provider_.find(kLb, Transport::tcp, 30000));
}

TEST_F(PlacesTest, EachComparesItsOwnAndLeavesTheOthersAlone) {
  start();
  want("a/1", with(good_, wish_for(30000, {target(1)})));
  want("b/1", with(bad_, wish_for(30001, {target(1)})));
  run_until_applied();
  pass(2min);
  seen_.made.clear();
  for (const model::Port port : {model::Port{30000}, model::Port{30001}})
    provider_.remove_listener(kLb, provider_.find(kLb, Transport::tcp, port)->id);
  running_->engine().audit(kLb);
  pass(2min);
  EXPECT_THAT(seen_.made[good_], testing::ElementsAre(fmt::format("{}30000", kPrefix)));
  EXPECT_THAT(seen_.made[bad_], testing::ElementsAre(fmt::format("{}30001", kPrefix)));
  pass(1h);
  EXPECT_TRUE(provider_.find(kLb, Transport::tcp, 30000)) << "it is no leftover to the other one";
  EXPECT_TRUE(provider_.find(kLb, Transport::tcp, 30001));
  EXPECT_EQ(seen_.calls[{}], 0);
}

TEST_F(PlacesTest, APortOfAnotherOneIsFreeWhenThatOneGaveItAway) {
  start_settled();
  want("a/1", with(good_, wish_for(30000, {target(1)})));
  run_until_applied();
  Wish same_port = with(bad_, wish_for(30000, {target(2)}));
  same_port.spec->name = same_port.name = fmt::format("{}other", kPrefix);
  want("b/1", same_port);
  run_until_told(2);
  EXPECT_FALSE(cluster_.outcomes[1].result);
  EXPECT_FALSE(cluster_.outcomes[1].foreign);
  want("a/1", with(good_, removal_of(wish_for(30000))));
  run_until_applied();
  EXPECT_EQ(targets_at(30000), (std::vector{target(2)}));
}

TEST_F(PlacesTest, WritesToOneLoadBalancerFollowEachOther) {
  start();
  for (model::Port port = 30000; port < 30100; ++port)
    want(fmt::format("a/{}", port),
         with(port % 2 == 0 ? good_ : bad_, wish_for(port, {target(1)})));
  run_until_applied();
  EXPECT_EQ(seen_.most_under_way, 1);
  EXPECT_EQ(seen_.made[good_].size(), 50u);
  EXPECT_EQ(seen_.made[bad_].size(), 50u);
}

// Addresses of a gateway.

TEST_F(PlacesTest, AddressesShareTheQuotaOfTheirGateway) {
  const model::LoadBalancerRef one{model::Provider::tencent, "ap-x", "nat-1", "", "1.1.1.1"};
  model::LoadBalancerRef other = one;
  other.address = "2.2.2.2";
  seen_.quota = 1;
  start_settled();
  want("a/1", wish_for(80, {target(1)}, one));
  run_until_applied();
  want("a/2", wish_for(80, {target(2)}, other));
  run_until_told(2);
  EXPECT_EQ(cluster_.outcomes[1].result.error().code, Code::exhausted);
  pass(1min);
  const Instant before = kernel_.now();
  want("a/1", removal_of(wish_for(80, {}, one)));
  run_until_applied();
  EXPECT_LE(kernel_.now() - before, 2s) << "it waits for nothing else";
  EXPECT_THAT(provider_.listeners(one), IsEmpty());
  EXPECT_TRUE(provider_.find(other, Transport::tcp, 80));
  EXPECT_EQ(seen_.most_under_way, 1);
}

}  // namespace
}  // namespace berth::engine
