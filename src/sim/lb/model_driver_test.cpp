#include "sim/lb/model_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lb/conformance/conformance.h"

namespace berth::sim::lb {
namespace {

using namespace std::chrono_literals;
using berth::lb::Check;
using berth::lb::ObservedListener;
using berth::lb::Subject;
using berth::lb::TargetChange;
using model::ListenerSpec;
using model::LoadBalancerRef;

const LoadBalancerRef kLb{model::Provider::tencent, "ap-nanjing", "lb-1"};
const LoadBalancerRef kOther{model::Provider::tencent, "ap-nanjing", "lb-2"};

// A provider with all abilities, one with few, one that makes anew what others change.
ModelOptions able() { return {.strict = true}; }
ModelOptions poor() {
  return {
      .limits = {.serial_writes = false,
                 .create_batch = 1,
                 .remove_batch = 1,
                 .rule_batch = 1,
                 .target_batch = 1,
                 .has_ranges = false,
                 .has_both_protocols = false,
                 .protocols = {model::Protocol::tcp, model::Protocol::udp, model::Protocol::http}},
      .strict = true};
}

ModelOptions fixed() { return {.fixed_tls = true, .fixed_scheduler = true, .strict = true}; }

ModelOptions grouped(ModelOptions options) {
  options.groups = true;
  return options;
}

class ModelSubject final : public Subject {
 public:
  explicit ModelSubject(ModelOptions options) : provider_(std::move(options)) {
    provider_.add_load_balancer(kLb);
    provider_.add_load_balancer(kOther);
  }
  ~ModelSubject() override { drivers_.clear(); }
  berth::lb::Driver driver() override { return alive().driver.seams(); }
  Context context() override { return {.tasks = alive().process}; }
  LoadBalancerRef first() override { return kLb; }
  LoadBalancerRef second() override { return kOther; }
  std::optional<LoadBalancerRef> unknown() override {
    return LoadBalancerRef{model::Provider::tencent, "ap-nanjing", "lb-nobody"};
  }
  model::Tls certificate(int n) override {
    return {.certificates = {{.reference = fmt::format("cert-{}", n)}}};
  }
  bool break_off(int after) override {
    if (after < 0) {
      kernel_.set_crash_plan(NoCrash{});
    } else {
      const std::uint64_t write = kernel_.writes_seen() + static_cast<std::uint64_t>(after);
      kernel_.set_crash_plan(CrashAt{write, CrashSide::before});
    }
    return true;
  }

 private:
  struct Life {
    Life(ModelProvider& provider, Process& own) : process(own), driver(provider, own) {}
    Process& process;
    ModelDriver driver;
  };
  Life& alive() {
    if (drivers_.empty() || !drivers_.back()->process.alive()) {
      Process& process = kernel_.start_process("test", Crashable::yes);
      drivers_.push_back(std::make_unique<Life>(provider_, process));
    }
    return *drivers_.back();
  }

  Kernel kernel_{1};
  ModelProvider provider_;
  std::vector<std::unique_ptr<Life>> drivers_;
};

class ModelConformance : public testing::TestWithParam<Check> {};

TEST_P(ModelConformance, HoldsWithAllAbilities) {
  ModelSubject subject(able());
  GetParam().run(subject);
}

TEST_P(ModelConformance, HoldsWithFewAbilities) {
  ModelSubject subject(poor());
  GetParam().run(subject);
}

TEST_P(ModelConformance, HoldsWithTheAbilitiesOfEachProvider) {
  for (const model::Provider provider : {model::Provider::edge, model::Provider::tencent,
                                         model::Provider::aws, model::Provider::gcp}) {
    SCOPED_TRACE(to_string(provider));
    ModelSubject subject({.limits = traits_of(provider).abilities, .strict = true});
    GetParam().run(subject);
  }
}

TEST_P(ModelConformance, HoldsWhereSomeThingsCannotBeChanged) {
  ModelSubject subject(fixed());
  GetParam().run(subject);
}

INSTANTIATE_TEST_SUITE_P(Driver, ModelConformance,
                         testing::ValuesIn(berth::lb::conformance_checks({.maker = true})),
                         berth::lb::name_of_check);

// A listener and a rule are two things each.
class GroupedModelConformance : public testing::TestWithParam<Check> {};

TEST_P(GroupedModelConformance, HoldsWithAllAbilities) {
  ModelSubject subject(grouped(able()));
  GetParam().run(subject);
}

TEST_P(GroupedModelConformance, HoldsWithFewAbilities) {
  ModelSubject subject(grouped(poor()));
  GetParam().run(subject);
}

INSTANTIATE_TEST_SUITE_P(Driver, GroupedModelConformance,
                         testing::ValuesIn(berth::lb::conformance_checks({.maker = true,
                                                                          .half_made = true})),
                         berth::lb::name_of_check);

class ModelDriverTest : public testing::Test {
 protected:
  Context context() { return {.tasks = process_}; }
  static ListenerSpec at(model::Port port) {
    return plain_listener(model::Protocol::tcp, {port, port}, fmt::format("l-{}", port));
  }

  Kernel kernel_{1};
  Process& process_ = kernel_.start_process("test");
  ModelProvider provider_;
  ModelDriver driver_{provider_, process_};
};

TEST_F(ModelDriverTest, ALostReplyTookEffect) {
  provider_.script(Call::create, {Scripted::Kind::lost_reply, {}, {}});
  const ListenerSpec spec = at(80);
  const auto results = driver_.create(context(), kLb, {&spec, 1});
  EXPECT_EQ(results[0].error().code, Code::timeout);
  EXPECT_TRUE(provider_.find(kLb, model::Transport::tcp, 80));
}

TEST_F(ModelDriverTest, ASlowTaskLandsAlthoughItsCallerGaveUp) {
  provider_.script(Call::create, {Scripted::Kind::slow, {}, 30s});
  const ListenerSpec spec = at(80);
  const auto results = driver_.create(context().within(10s), kLb, {&spec, 1});
  EXPECT_EQ(results[0].error().code, Code::timeout);
  EXPECT_FALSE(provider_.find(kLb, model::Transport::tcp, 80));
  const ListenerSpec other = at(81);
  EXPECT_EQ(driver_.create(context(), kLb, {&other, 1})[0].error().code, Code::unavailable)
      << "a second change during the first";
  provider_.advance(kernel_.now() + 30s);
  EXPECT_TRUE(provider_.find(kLb, model::Transport::tcp, 80));
}

TEST_F(ModelDriverTest, ASlowTaskIsWaitedFor) {
  provider_.script(Call::create, {Scripted::Kind::slow, {}, 30s});
  const ListenerSpec spec = at(80);
  const Instant before = kernel_.now();
  const auto results = driver_.create(context(), kLb, {&spec, 1});
  ASSERT_TRUE(results[0]);
  EXPECT_EQ(kernel_.now() - before, 30s);
  EXPECT_EQ(provider_.find(kLb, model::Transport::tcp, 80)->id, *results[0]);
}

TEST_F(ModelDriverTest, FaultsStrikeByTheirChance) {
  provider_.set_faults({.throttled = 0.5, .retry_after = 3s});
  int throttled = 0;
  for (int i = 0; i < 100; ++i) {
    const auto listed = driver_.list(context(), kLb);
    if (listed) continue;
    ++throttled;
    EXPECT_EQ(listed.error().code, Code::throttled);
    EXPECT_EQ(listed.error().retry_after, std::chrono::nanoseconds(3s));
  }
  EXPECT_GT(throttled, 25);
  EXPECT_LT(throttled, 75);
}

TEST_F(ModelDriverTest, AQuotaStopsCreation) {
  provider_.set_quota(1);
  const std::vector<ListenerSpec> specs{at(80), at(81)};
  const auto results = driver_.create(context(), kLb, specs);
  EXPECT_TRUE(results[0]);
  EXPECT_EQ(results[1].error().code, Code::exhausted);
}

TEST_F(ModelDriverTest, TheObserverSeesEachChange) {
  std::vector<std::string> seen;
  provider_.observe([&](const Change& change) {
    seen.push_back(change.before ? change.after ? "changed" : "removed" : "created");
  });
  const ListenerSpec spec = at(80);
  const model::ListenerId id = *driver_.create(context(), kLb, {&spec, 1})[0];
  const TargetChange change{{id}, {{{"10.0.0.1", 80}, 10}}, {}};
  EXPECT_TRUE(driver_.change_targets(context(), kLb, {&change, 1})[0]);
  EXPECT_TRUE(driver_.remove(context(), kLb, {&id, 1})[0]);
  EXPECT_THAT(seen, testing::ElementsAre("created", "changed", "removed"));
}

TEST_F(ModelDriverTest, ACrashStrikesOnBothSidesOfAWrite) {
  for (const CrashSide side : {CrashSide::before, CrashSide::after}) {
    Kernel kernel(1, {.crash = CrashAt{0, side}});
    Process& process = kernel.start_process("berth", Crashable::yes);
    ModelProvider provider;
    ModelDriver driver(provider, process);
    const ListenerSpec spec = at(80);
    const auto results = driver.create({.tasks = process}, kLb, {&spec, 1});
    EXPECT_EQ(results[0].error().code, Code::stopped);
    EXPECT_EQ(provider.find(kLb, model::Transport::tcp, 80).has_value(), side == CrashSide::after);
  }
}

}  // namespace
}  // namespace berth::sim::lb
