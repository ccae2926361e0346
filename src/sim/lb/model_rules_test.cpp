// What the model says of protocols, rules and certificates beyond what every driver must do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/lb/model_driver.h"

namespace berth::sim::lb {
namespace {

using namespace std::chrono_literals;
using berth::lb::ListenerChange;
using berth::lb::NewRule;
using berth::lb::RuleChange;
using berth::lb::RuleRef;
using berth::lb::TargetChange;
using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::Protocol;
using model::RuleAttributes;
using model::RuleKey;
using model::Transport;
using testing::ElementsAre;

const LoadBalancerRef kLb{model::Provider::tencent, "ap-nanjing", "lb-1"};
const model::Tls kTls{.certificates = {{.reference = "cert-1"}}};
const model::Tls kOtherTls{.certificates = {{.reference = "cert-2"}}};

ListenerSpec at(model::Port port, Protocol protocol) {
  ListenerSpec spec = plain_listener(protocol, {port, port}, fmt::format("l-{}", port));
  if (is_layer7(protocol)) spec.rules.clear();
  return spec;
}

ListenerSpec with_tls(ListenerSpec spec) {
  spec.attributes.tls = kTls;
  return spec;
}

RuleKey path(std::string_view text) { return {"example.com", std::string(text)}; }

class ModelRulesTest : public testing::Test {
 protected:
  explicit ModelRulesTest(ModelOptions options = {}) : provider_(std::move(options)) {}

  Context context() { return {.tasks = process_}; }
  Result<ListenerId> create(const ListenerSpec& spec) {
    return driver_.create(context(), kLb, {&spec, 1})[0];
  }
  Result<> create(const NewRule& rule) {
    return driver_.create_rules(context(), kLb, {&rule, 1})[0];
  }
  Result<> remove(const RuleRef& rule) {
    return driver_.remove_rules(context(), kLb, {&rule, 1})[0];
  }
  Result<> change(const ListenerChange& change) {
    return driver_.change(context(), kLb, {&change, 1})[0];
  }
  Result<> change(const RuleChange& change) {
    return driver_.change_rules(context(), kLb, {&change, 1})[0];
  }
  std::vector<std::string> rules(model::Port port) {
    std::vector<std::string> out;
    const auto listener = provider_.find(kLb, Transport::tcp, port);
    if (!listener) return out;
    for (const model::Rule& rule : listener->spec.rules) out.push_back(to_string(rule.key));
    return out;
  }

  Kernel kernel_{1};
  Process& process_ = kernel_.start_process("test");
  ModelProvider provider_;
  ModelDriver driver_{provider_, process_};
};

// "": it succeeded.
template <class T>
std::string_view code_of(const Result<T>& result) {
  return result ? "" : traits_of(result.error().code).name;
}

TEST_F(ModelRulesTest, AListenerOfBothTransportsTakesBoth) {
  const ListenerId id = *create(at(80, Protocol::tcp_udp));
  EXPECT_EQ(provider_.find(kLb, Transport::tcp, 80)->id, id);
  EXPECT_EQ(provider_.find(kLb, Transport::udp, 80)->id, id);
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp, Protocol::http}) {
    EXPECT_EQ(code_of(create(at(80, protocol))), "already_exists") << to_string(protocol);
  }
  EXPECT_TRUE(driver_.remove(context(), kLb, {&id, 1})[0]);
  EXPECT_TRUE(create(at(80, Protocol::udp)));
  EXPECT_EQ(code_of(create(at(80, Protocol::tcp_udp))), "already_exists");
  EXPECT_TRUE(create(at(80, Protocol::tcp)));
}

TEST_F(ModelRulesTest, ARangeOfOneTransportIsClosedToAllThatTakeIt) {
  ListenerSpec range = at(100, Protocol::tcp);
  range.ports = {100, 199};
  ASSERT_TRUE(create(range));
  EXPECT_EQ(code_of(create(at(150, Protocol::http))), "already_exists");
  EXPECT_EQ(code_of(create(with_tls(at(150, Protocol::tls)))), "already_exists");
  EXPECT_TRUE(create(with_tls(at(150, Protocol::quic))));
}

TEST_F(ModelRulesTest, ListenersOfLayer4HaveExactlyOneRuleWithoutAKey) {
  ListenerSpec none = at(80, Protocol::tcp);
  none.rules.clear();
  EXPECT_EQ(code_of(create(none)), "invalid");
  ListenerSpec keyed = at(80, Protocol::tcp);
  keyed.rules[0].key = path("/a");
  EXPECT_EQ(code_of(create(keyed)), "invalid");
  ListenerSpec unkeyed = at(80, Protocol::http);
  unkeyed.rules.emplace_back();
  EXPECT_EQ(code_of(create(unkeyed)), "invalid");

  const ListenerId id = *create(at(80, Protocol::tcp));
  EXPECT_EQ(code_of(create(NewRule{{id}, {}})), "invalid");
  EXPECT_EQ(code_of(remove(RuleRef{id})), "invalid");
  EXPECT_EQ(code_of(change(RuleChange{{id, path("/a")}, {}})), "invalid");
  EXPECT_TRUE(change(RuleChange{{id}, {.session_seconds = 30}}));
  EXPECT_EQ(provider_.find(kLb, Transport::tcp, 80)->spec.rules[0].attributes.session_seconds, 30u);
}

TEST_F(ModelRulesTest, WhatEndsTlsNeedsACertificate) {
  for (const Protocol protocol : {Protocol::tls, Protocol::quic, Protocol::https}) {
    EXPECT_EQ(code_of(create(at(443, protocol))), "invalid") << to_string(protocol);
    ListenerSpec empty = at(443, protocol);
    empty.attributes.tls.emplace();
    EXPECT_EQ(code_of(create(empty)), "invalid") << to_string(protocol);
  }
  ListenerSpec by_name = at(443, Protocol::tls);
  by_name.attributes.by_server_name = true;
  EXPECT_EQ(code_of(create(by_name)), "invalid") << "the rule has none either";
  by_name.rules[0].attributes.tls = kTls;
  EXPECT_TRUE(create(by_name));
  EXPECT_TRUE(create(with_tls(at(444, Protocol::tls))));
}

TEST_F(ModelRulesTest, NoChangeTakesTheLastCertificate) {
  const ListenerId id = *create(with_tls(at(443, Protocol::https)));
  ASSERT_TRUE(create(NewRule{{id, path("/a")}, {}}));
  EXPECT_EQ(code_of(change(ListenerChange{id, {.by_server_name = true}})), "invalid")
      << "the rule has none";
  ASSERT_TRUE(change(RuleChange{{id, path("/a")}, {.tls = kTls}}));
  EXPECT_TRUE(change(ListenerChange{id, {.by_server_name = true}}));
  EXPECT_EQ(code_of(change(RuleChange{{id, path("/a")}, {}})), "invalid");
  EXPECT_EQ(code_of(create(NewRule{{id, path("/b")}, {}})), "invalid");
  EXPECT_THAT(rules(443), ElementsAre("example.com/a"));
}

TEST_F(ModelRulesTest, ALostReplyOfRulesTookEffectAndCanBeRepeated) {
  const ListenerId id = *create(at(80, Protocol::http));
  const std::vector<NewRule> wanted{{{id, path("/b")}, {}}, {{id, path("/a")}, {}}};
  provider_.script(Call::create_rules, {Scripted::Kind::lost_reply, {}, {}});
  for (const auto& result : driver_.create_rules(context(), kLb, wanted)) {
    EXPECT_EQ(code_of(result), "timeout");
  }
  EXPECT_THAT(rules(80), ElementsAre("example.com/a", "example.com/b"));
  for (const auto& result : driver_.create_rules(context(), kLb, wanted)) EXPECT_TRUE(result);
  EXPECT_THAT(rules(80), ElementsAre("example.com/a", "example.com/b"));
  EXPECT_EQ(provider_.calls(Call::create_rules), 2u);
  EXPECT_EQ(provider_.largest_batch(Call::create_rules), 2u);
}

TEST_F(ModelRulesTest, SlowRulesAreWaitedForAndKeepOthersOut) {
  const ListenerId id = *create(at(80, Protocol::http));
  provider_.script(Call::create_rules, {Scripted::Kind::slow, {}, 30s});
  const NewRule wanted{{id, path("/a")}, {}};
  const auto given_up = driver_.create_rules(context().within(10s), kLb, {&wanted, 1});
  EXPECT_EQ(code_of(given_up[0]), "timeout");
  EXPECT_TRUE(rules(80).empty());
  EXPECT_EQ(code_of(remove(wanted.rule)), "unavailable");
  provider_.advance(kernel_.now() + 30s);
  EXPECT_THAT(rules(80), ElementsAre("example.com/a"));

  provider_.script(Call::remove_rules, {Scripted::Kind::slow, {}, 30s});
  const Instant before = kernel_.now();
  EXPECT_TRUE(remove(wanted.rule));
  EXPECT_EQ(kernel_.now() - before, 30s);
  EXPECT_TRUE(rules(80).empty());
}

TEST_F(ModelRulesTest, EachCallHasItsOwnScriptAndCount) {
  const ListenerId id = *create(at(80, Protocol::http));
  const RuleRef rule{id, path("/a")};
  ASSERT_TRUE(create(NewRule{rule, {}}));
  for (const Call call :
       {Call::change_listeners, Call::create_rules, Call::remove_rules, Call::change_rules}) {
    const std::uint64_t before = provider_.calls(call);
    provider_.script(call, {Scripted::Kind::error, error_of(Code::forbidden, "no"), {}});
    const bool is_struck[] = {code_of(change(ListenerChange{id, {}})) == "forbidden",
                              code_of(create(NewRule{rule, {}})) == "forbidden",
                              code_of(change(RuleChange{rule, {}})) == "forbidden",
                              code_of(remove(RuleRef{id, path("/b")})) == "forbidden"};
    EXPECT_EQ(std::ranges::count(is_struck, true), 1) << to_string(call);
    EXPECT_EQ(provider_.calls(call), before + 1) << to_string(call);
    EXPECT_EQ(provider_.largest_batch(call), 1u) << to_string(call);
  }
  EXPECT_THAT(rules(80), ElementsAre("example.com/a"));
}

TEST_F(ModelRulesTest, MoreRulesThanACallTakesAreInvalid) {
  const ListenerId id = *create(at(80, Protocol::http));
  std::vector<NewRule> wanted;
  for (std::size_t i = 0; i <= provider_.abilities().rule_batch; ++i) {
    wanted.push_back({{id, path(fmt::format("/{}", i))}, {}});
  }
  for (const auto& result : driver_.create_rules(context(), kLb, wanted)) {
    EXPECT_EQ(code_of(result), "invalid");
  }
  EXPECT_TRUE(rules(80).empty());
}

TEST_F(ModelRulesTest, AnEntryOfABatchFailsAlone) {
  const ListenerId id = *create(at(80, Protocol::http));
  std::vector<NewRule> wanted;
  for (int i = 0; i < 20; ++i) wanted.push_back({{id, path(fmt::format("/{}", i))}, {}});
  provider_.set_faults({.partial = 0.5, .partial_codes = {Code::unavailable}});
  const auto results = driver_.create_rules(context(), kLb, wanted);
  const auto made = std::ranges::count_if(results, [](const auto& result) { return !!result; });
  EXPECT_GT(made, 0);
  EXPECT_LT(made, 20);
  EXPECT_EQ(rules(80).size(), static_cast<std::size_t>(made));
}

TEST_F(ModelRulesTest, TheObserverSeesTheListenerBeforeAndAfterAChangeOfItsRules) {
  std::vector<std::string> seen;
  const auto text = [](const auto& listener) {
    return listener ? fmt::format("{}", listener->spec.rules.size()) : std::string("-");
  };
  provider_.observe([&](const Change& change) {
    seen.push_back(text(change.before) + " to " + text(change.after));
  });
  const ListenerId id = *create(at(80, Protocol::http));
  const RuleRef rule{id, path("/a")};
  EXPECT_TRUE(create(NewRule{rule, {}}));
  EXPECT_TRUE(change(RuleChange{rule, {.session_seconds = 30}}));
  const TargetChange targets{rule, {{{"10.0.0.1", 80}, 10}}, {}};
  EXPECT_TRUE(driver_.change_targets(context(), kLb, {&targets, 1})[0]);
  EXPECT_TRUE(remove(rule));
  EXPECT_TRUE(remove(rule)) << "gone already: nothing to see";
  EXPECT_EQ(code_of(change(RuleChange{rule, {}})), "not_found");
  EXPECT_TRUE(driver_.remove(context(), kLb, {&id, 1})[0]);
  EXPECT_THAT(seen, ElementsAre("- to 0", "0 to 1", "1 to 1", "1 to 1", "1 to 0", "0 to -"));
}

TEST_F(ModelRulesTest, ACrashStrikesOnBothSidesOfAWriteOfRules) {
  for (const CrashSide side : {CrashSide::before, CrashSide::after}) {
    Kernel kernel(1, {.crash = CrashAt{0, side}});
    Process& process = kernel.start_process("berth", Crashable::yes);
    ModelProvider provider;
    const ListenerId id = provider.add_listener(kLb, at(80, Protocol::http));
    ModelDriver driver(provider, process);
    const NewRule wanted{{id, path("/a")}, {}};
    const auto results = driver.create_rules({.tasks = process}, kLb, {&wanted, 1});
    EXPECT_EQ(code_of(results[0]), "stopped");
    EXPECT_EQ(provider.listeners(kLb)[0].spec.rules.size(), side == CrashSide::after ? 1u : 0u);
  }
}

struct QuotaTest : ModelRulesTest {
  QuotaTest() : ModelRulesTest({.rule_quota = 1}) {}
};

TEST_F(QuotaTest, StopsNewRulesAndNoOthers) {
  const ListenerId id = *create(at(80, Protocol::http));
  const ListenerId other = *create(at(81, Protocol::http));
  EXPECT_TRUE(create(NewRule{{id, path("/a")}, {}}));
  EXPECT_EQ(code_of(create(NewRule{{id, path("/b")}, {}})), "exhausted");
  EXPECT_TRUE(create(NewRule{{id, path("/a")}, {.session_seconds = 30}})) << "it is there already";
  EXPECT_TRUE(create(NewRule{{other, path("/b")}, {}}));
  EXPECT_TRUE(remove(RuleRef{id, path("/a")}));
  EXPECT_TRUE(create(NewRule{{id, path("/b")}, {}}));
}

struct FixedTest : ModelRulesTest {
  FixedTest() : ModelRulesTest({.fixed_tls = true, .fixed_scheduler = true}) {}
};

TEST_F(FixedTest, WhatCannotBeChangedIsSaidAndRefused) {
  const RuleAttributes robin{};
  const RuleAttributes least{.scheduler = model::Scheduler::least_connections};
  EXPECT_FALSE(driver_.can_change(robin, least));
  EXPECT_TRUE(driver_.can_change(robin, RuleAttributes{.session_seconds = 30}));
  EXPECT_FALSE(driver_.can_change(RuleAttributes{.tls = kTls}, RuleAttributes{.tls = kOtherTls}));
  const model::ListenerAttributes first{.tls = kTls};
  const model::ListenerAttributes second{.tls = kOtherTls};
  EXPECT_FALSE(driver_.can_change(first, second));
  EXPECT_TRUE(driver_.can_change(first, model::ListenerAttributes{.max_rate = 1, .tls = kTls}));

  const ListenerId id = *create(with_tls(at(443, Protocol::https)));
  const RuleRef rule{id, path("/a")};
  ASSERT_TRUE(create(NewRule{rule, robin}));
  EXPECT_EQ(code_of(change(ListenerChange{id, second})), "unsupported");
  EXPECT_EQ(code_of(change(RuleChange{rule, least})), "unsupported");
  EXPECT_EQ(code_of(create(NewRule{rule, least})), "unsupported") << "it is there, as it is";
  const auto listener = provider_.find(kLb, Transport::tcp, 443);
  EXPECT_TRUE(listener->spec.attributes == first);
  EXPECT_TRUE(listener->spec.rules[0].attributes == robin);
  ASSERT_TRUE(remove(rule));
  EXPECT_TRUE(create(NewRule{rule, least})) << "made anew";
}

}  // namespace
}  // namespace berth::sim::lb
