#include "module/declaration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <functional>

#include "api/listener.h"
#include "api/port_pool.h"

namespace berth::module {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Declaration core() {
  return {.name = "core",
          .about = "what all stand on",
          .is_core = true,
          .kinds = {{.info = &api::listener_kind(), .place = 20}},
          .reads = {{.type = api::listener_kind().type}},
          .access = {{"", {"events"}, {"create"}}},
          .levels = {{"bulk", 20}},
          .flows = {{"bulk", "bulk", 950, {{{"*"}, "*", "*"}}}}};
}

Webhook hook(std::string name, int order) {
  return {.name = name + ".berth.dev",
          .path = "/" + name,
          .mutating = true,
          .order = order,
          .entry = {{"rules", wire::Array{hook_rule(kube::types::kPod, {"CREATE"})}},
                    {"failurePolicy", "Fail"},
                    {"sideEffects", "None"},
                    {"timeoutSeconds", kWebhookTimeoutSeconds},
                    {"admissionReviewVersions", wire::Array{"v1"}}}};
}

// A front end that reads Pods.
Declaration front(std::string name, std::vector<std::string> annotations) {
  const std::vector<std::string> look{"list", "watch"};
  return {.name = name,
          .about = "one of them",
          .reads = {{.type = kube::types::kPod,
                     .meta = {.labels = {},
                              .annotations = kube::KeyFilter::only(std::move(annotations)),
                              .owners = false}}},
          .access = {{"", {"pods"}, look}},
          .webhooks = {hook(name, 10)}};
}

std::vector<std::string> flaws_with(const std::function<void(Declaration& front)>& change) {
  Declaration changed = front("rooms", {"a"});
  changed.kinds = {{.info = &api::port_pool_kind(), .place = 10}};
  changed.reads.push_back({.type = api::port_pool_kind().type});
  change(changed);
  return flaws_of({core(), changed});
}

TEST(Declarations, ThatAreSoundHaveNoFlaw) {
  EXPECT_THAT(flaws_with([](Declaration&) {}), IsEmpty());
}

TEST(Declarations, WhatIsForgottenIsFound) {
  const auto expect = [](const char* flaw, const std::function<void(Declaration&)>& change) {
    EXPECT_THAT(flaws_with(change), Contains(HasSubstr(flaw)));
  };
  expect("has no name", [](Declaration& d) { d.name.clear(); });
  expect("does not say what it is for", [](Declaration& d) { d.about.clear(); });
  expect("nobody reads PortPool", [](Declaration& d) { d.reads.pop_back(); });
  expect("a kind has no table", [](Declaration& d) { d.kinds = {{.place = 7}}; });
  expect("has the place of another", [](Declaration& d) { d.kinds[0].place = 20; });
  expect("is another module's kind",
         [](Declaration& d) { d.kinds = {{.info = &api::listener_kind(), .place = 10}}; });
  expect("reads pods without the right to watch",
         [](Declaration& d) { d.access = {{"", {"pods"}, {"list"}}}; });
  expect("a right is to everything",
         [](Declaration& d) { d.access.push_back({"apps", {"*"}, {"list"}}); });
  expect("Secrets of all namespaces",
         [](Declaration& d) { d.access.push_back({"", {"secrets"}, {"get"}}); });
  expect("Secrets are read by name",
         [](Declaration& d) { d.reads.push_back({.type = kube::types::kSecret}); });
  expect("has no failurePolicy",
         [](Declaration& d) { d.webhooks[0].entry.erase("failurePolicy"); });
  expect("is another webhook's", [](Declaration& d) { d.webhooks.push_back(d.webhooks[0]); });
  expect("which is not there",
         [](Declaration& d) { d.flows = {{"f", "nowhere", 900, {{{"get"}, "", "pods"}}}}; });
  expect("takes no call", [](Declaration& d) { d.flows = {{"f", "bulk", 900, {}}}; });
  expect("cannot be the name of a server", [](Declaration& d) { d.servers = {{.name = "A b"}}; });
  expect("cannot be the name of a server",
         [](Declaration& d) { d.servers = {{.name = "longer-than-ports"}}; });
  expect("server a is there twice",
         [](Declaration& d) { d.servers = {{.name = "a"}, {.name = "a"}}; });
  expect("port 8090 is another server's", [](Declaration& d) {
    d.servers = {{.name = "a", .port = 8090}, {.name = "b", .port = 8090}};
  });
  const auto with = [](const std::function<void(Command&)>& change) {
    return [change](Declaration& d) {
      d.commands = {{.name = "rooms list",
                     .about = "Lists rooms.",
                     .example = "berth rooms list",
                     .options = {{.name = "-n,--namespace", .help = "Which.", .value = "NAME"}},
                     .run = [](const CommandCall&) { return CommandReply{}; }}};
      change(d.commands[0]);
    };
  };
  EXPECT_THAT(flaws_with(with([](Command&) {})), IsEmpty());
  expect("'Rooms' cannot be a command", with([](Command& c) { c.name = "Rooms"; }));
  expect("cannot be a command", with([](Command& c) { c.name = "a b c"; }));
  expect("does not say what it does", with([](Command& c) { c.about.clear(); }));
  expect("has no example", with([](Command& c) { c.example = "rooms"; }));
  expect("does nothing", with([](Command& c) { c.run = {}; }));
  expect("has --context twice", with([](Command& c) { c.options[0].name = "--context"; }));
  expect("does not explain -n,--namespace", with([](Command& c) { c.options[0].help.clear(); }));
  expect("argument pool cannot be a switch",
         with([](Command& c) { c.options[0] = {.name = "pool", .help = "Which."}; }));
  expect("command a is there twice",
         [](Declaration& d) { d.commands = {{.name = "a"}, {.name = "a"}}; });
  expect("is not told what to do", [](Declaration& d) { d.kinds[0].guard = Guard{}; });
}

TEST(Declarations, HaveOneCore) {
  EXPECT_THAT(flaws_of({front("a", {})}), Contains(HasSubstr("0 modules are the core")));
}

TEST(Declarations, OneCacheHoldsWhatAllOfThemRead) {
  const auto read =
      read_of({core(), front("a", {"x", "y"}), front("b", {"y", "z"})}, kube::types::kPod);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->meta.annotations.prefixes, ElementsAre("x", "y", "z"));
  EXPECT_FALSE(read->meta.labels.all) << "nobody reads a label";
  EXPECT_FALSE(read->meta.owners);
  EXPECT_FALSE(read_of({core()}, kube::types::kPod)) << "nobody reads Pods";
}

TEST(Declarations, SelectorsThatDifferReadEverything) {
  Declaration some = front("a", {});
  some.reads[0].selection.label_selector = "a=1";
  EXPECT_EQ(read_of({some, some}, kube::types::kPod)->selection.label_selector, "a=1");
  Declaration others = front("b", {});
  others.reads[0].selection.label_selector = "b=1";
  EXPECT_EQ(read_of({some, others}, kube::types::kPod)->selection.label_selector, "");
  EXPECT_EQ(read_of({some, front("c", {})}, kube::types::kPod)->selection.label_selector, "");
}

TEST(Declarations, RightsOfSeveralAreGivenOnce) {
  Declaration more = front("b", {});
  more.access = {{"", {"pods"}, {"list", "get"}}, {"", {"events"}, {"patch"}}};
  const auto all = access_of({core(), front("a", {}), more});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].verbs, ElementsAre("list", "watch", "get"));
  EXPECT_THAT(all[1].resources, ElementsAre("events"));
  EXPECT_THAT(all[1].verbs, ElementsAre("patch", "create"));
}

TEST(Declarations, WebhooksAreCalledInTheirOrder) {
  Declaration first = front("z", {});
  Declaration second = front("a", {});
  second.webhooks[0].order = 20;
  const auto hooks = webhooks_of({core(), second, first}, true);
  ASSERT_EQ(hooks.size(), 2u);
  EXPECT_EQ(hooks[0].path, "/z");
  EXPECT_THAT(webhooks_of({core(), first}, false), IsEmpty());
}

TEST(Declarations, FlowsOfOneNameAreShared) {
  Declaration a = front("a", {});
  a.flows = {{"claims", "bulk", 900, {{{"get"}, "", "pods"}}}};
  Declaration b = front("b", {});
  b.flows = {{"claims", "bulk", 900, {{{"patch"}, "", "services"}}}};
  const auto flows = flows_of({core(), a, b});
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].name, "claims");
  EXPECT_EQ(flows[0].calls.size(), 2u);
}

TEST(Declarations, OnlyFrontEndsCanBeLeftOut) {
  const Declarations all{core(), front("a", {}), front("b", {})};
  const auto some = without(all, {"a"});
  ASSERT_TRUE(some);
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ((*some)[1].name, "b");
  for (const char* wrong : {"core", "c", ""}) {
    const auto refused = without(all, {wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().hint, HasSubstr("a, b"));
  }
}

}  // namespace
}  // namespace berth::module
