#include "controllers/listener/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "claims/test_support.h"
#include "wire/patch.h"

namespace berth::controllers::listener {
namespace {

TEST(ListenerNaming, NoClusterTakesAnothersListenersForItsOwn) {
  const Naming ours{.cluster_id = "berth"};
  for (const char* other : {"berth-2", "berth2", "b", "berth-"}) {
    api::Listener listener;
    listener.meta.name = "room-1";
    const engine::Wish wish = name_only(listener, {}, {.cluster_id = other});
    EXPECT_FALSE(wish.name.starts_with(ours.prefix())) << wish.name;
  }
}

TEST(ListenerNaming, AClusterIdIsALabel) {
  for (const char* good : {"berth", "a", "0", "prod-eu-1"}) EXPECT_TRUE(check_cluster_id(good));
  for (const std::string& bad :
       {std::string(), std::string("-a"), std::string("a-"), std::string("a_b"), std::string("A"),
        std::string("a.b"), std::string("a b"), std::string(64, 'a')}) {
    EXPECT_FALSE(check_cluster_id(bad)) << bad;
  }
}

// Somebody wrote nonsense into its spec: what it had at the provider is still its own.
TEST(ListenerNaming, AListenerThatCannotBeReadStillNamesWhatItHas) {
  api::Listener listener;
  listener.meta.name = "room-1";
  listener.spec.protocol = "carrier pigeon";
  listener.status.listener_id = "lbl-7";
  const Naming naming{.cluster_id = "berth"};
  ASSERT_FALSE(wish_of(listener, naming));
  const engine::Wish wish = name_only(listener, {.id = "demo"}, naming);
  EXPECT_THAT(wish.name, ::testing::StartsWith("berth_room-1_"));
  EXPECT_EQ(wish.known_id.value, "lbl-7");
  EXPECT_FALSE(wish.spec);
}

// The Listener of a pool's port 30000, and the LoadBalancer object with the pool's grant.
api::Listener listener_of_pool() {
  api::Listener listener;
  listener.meta.ns = kube::Interned("games");
  listener.meta.name = "demo-tcp-30000";
  listener.meta.owners = std::vector<kube::OwnerReference>{{.name = "rooms", .uid = "uid-1"}};
  listener.spec = {.load_balancer_id = "edge:demo", .port = 30000, .protocol = "TCP"};
  return listener;
}
api::LoadBalancer balancer() {
  api::LoadBalancer object;
  object.meta.name = "edge.demo";
  object.spec.grants = {{.protocol = "TCP",
                         .start_port = 30000,
                         .end_port = 30009,
                         .owner_kind = "PortPool",
                         .owner_namespace = "games",
                         .owner_name = "rooms",
                         .owner_uid = "uid-1",
                         .item = "item1"}};
  return object;
}
// "yes", or why not.
constexpr const api::LoadBalancer* kNone = nullptr;

std::vector<ledger::Grant> grants_in(const api::LoadBalancer* object) {
  return object ? claims::list_of(*object) : std::vector<ledger::Grant>{};
}

std::string granted(const api::Listener& listener, const api::LoadBalancer* object) {
  const engine::Wish wish = wish_of(listener, {.cluster_id = "berth"}).value();
  const Result<model::PortRange> checked = granted_ports(listener, wish, grants_in(object));
  return checked ? "yes" : checked.error().to_string();
}

TEST(ListenerGrant, IsForTheOwnersListenersInItsNamespace) {
  const api::LoadBalancer object = balancer();
  EXPECT_EQ(granted(listener_of_pool(), &object), "yes");
  api::Listener foreign = listener_of_pool();
  foreign.meta.ns = kube::Interned("evil");
  EXPECT_THAT(granted(foreign, &object),
              ::testing::HasSubstr("Listener evil/demo-tcp-30000: spec.port: TCP ports 30000-30000 "
                                   "of edge:demo are granted to PortPool games/rooms, which does "
                                   "not own this Listener"));
  api::Listener orphan = listener_of_pool();
  orphan.meta.owners = std::vector<kube::OwnerReference>{};
  EXPECT_NE(granted(orphan, &object), "yes");
}

TEST(ListenerGrant, IsForItsPortsAndProtocol) {
  const api::LoadBalancer object = balancer();
  api::Listener listener = listener_of_pool();
  listener.spec.protocol = "UDP";
  EXPECT_THAT(granted(listener, &object), ::testing::HasSubstr("are granted to nobody"));
  listener = listener_of_pool();
  listener.spec.port = 30005;
  listener.spec.end_port = 30009;
  EXPECT_EQ(granted(listener, &object), "yes");
  listener.spec.end_port = 30010;
  EXPECT_THAT(granted(listener, &object), ::testing::HasSubstr("from 30000 to 30009 only"));
  EXPECT_THAT(granted(listener_of_pool(), nullptr), ::testing::HasSubstr("granted to nobody"));
}

// Written by hand, it has no status yet.
// A claim tells whom a lock led to; a peer has none, and its spec may be what it was again.
TEST(OutcomePatch, WhatIsNotedOfAPeerIsOfItsGeneration) {
  const api::Listener lock = claims::testing::lock_at({});
  api::Listener peer = claims::testing::peer_at({.lb = "west"});
  claims::testing::put(peer.meta.annotations, claims::kLockAnnotation, lock.meta.name);
  const engine::Outcome astray{.result = fail(Code::unavailable, "elsewhere"), .astray = true};
  const engine::Outcome done{.listener_id = model::ListenerId("another")};
  EXPECT_FALSE(outcome_patch(lock, done).same_generation);
  EXPECT_TRUE(outcome_patch(peer, done).same_generation);
  EXPECT_FALSE(outcome_patch(peer, astray).same_generation) << "bad news is told at any rate";
}

// Of one whose claim, or whose spec, is another by now, nothing is noted, good or bad.
TEST(OutcomePatch, IsForThisClaimAndThisSpecAlone) {
  const api::Listener known = claims::testing::applied(claims::testing::with_claim(
      claims::testing::leading_to(claims::testing::lock_at({}), "10.0.0.1"), "of room-0"));
  api::Listener other_spec = known;
  other_spec.spec.target_group->backends.front().ip = "10.0.0.2";
  api::Listener other_object = known;
  other_object.meta.uid = "uid-of-the-next";
  const auto writes = [](const api::Listener& seen, const engine::Outcome& outcome,
                         const api::Listener& there) {
    const claims::ListenerPatch patch = outcome_patch(seen, outcome);
    wire::Array all = patch.tests;
    all.insert(all.end(), patch.changes.begin(), patch.changes.end());
    EXPECT_FALSE(patch.changes.empty());
    const auto written = wire::apply_json_patch(claims::testing::encoded(there), all);
    EXPECT_TRUE(written || written.error().code == Code::precondition);
    return written.has_value();
  };
  const engine::Outcome done{.listener_id = model::ListenerId("another")};
  const engine::Outcome failed{.result = fail(Code::throttled, "later")};
  const engine::Outcome astray{.result = fail(Code::unavailable, "elsewhere"), .astray = true};
  for (const engine::Outcome& outcome : {done, failed, astray}) {
    EXPECT_TRUE(writes(known, outcome, known));
    EXPECT_FALSE(writes(known, outcome, claims::testing::with_claim(known, "of room-1")));
    EXPECT_FALSE(writes(known, outcome, claims::testing::with_claim(known, "")));
    EXPECT_FALSE(writes(known, outcome, other_spec));
    EXPECT_FALSE(writes(known, outcome, other_object));
    // It was free when we looked, and is somebody's now.
    const api::Listener free = claims::testing::with_claim(known, "");
    EXPECT_TRUE(writes(free, outcome, free));
    EXPECT_FALSE(writes(free, outcome, known));
  }
}

TEST(ListenerGrant, WhyNothingIsDoneCanBeNotedOnAnObjectWithoutStatus) {
  const wire::Array patch =
      outcome_patch(listener_of_pool(), {.result = fail(Code::forbidden, "not yours")}).changes;
  ASSERT_GE(patch.size(), 2u);
  EXPECT_EQ(wire::string_at(patch[0], "/path"), "/status");
}

// Who relies on it hears of it; a provider that does not answer changes nothing.
TEST(ListenerOutcome, WhatLeadsElsewhereIsNotAppliedAnyMore) {
  const api::Listener listener =
      claims::testing::leading_to(claims::testing::lock_at({}), "10.0.0.1");
  const api::Listener done = claims::testing::applied(listener);
  const Result<> failure = fail(Code::throttled, "later");
  const auto is_applied_after = [&](bool astray) {
    for (const wire::Value& change :
         outcome_patch(done, {.result = failure, .astray = astray}).changes) {
      if (wire::string_at(change, "/path").ends_with("applied"))
        return !wire::string_at(change, "/value").empty();
    }
    return true;
  };
  EXPECT_FALSE(is_applied_after(true));
  EXPECT_TRUE(is_applied_after(false));
}

// Who waits for its port need not wait for a load balancer that does not exist; it is not in place.
TEST(ListenerOutcome, WhatLeadsNowhereAtALoadBalancerThatIsGoneIsAtRest) {
  const engine::Outcome gone{.result = fail(Code::not_found, "no such load balancer"),
                             .nowhere = true};
  const auto applied_after = [&](const api::Listener& listener) -> std::optional<std::string> {
    for (const wire::Value& change : outcome_patch(listener, gone).changes)
      if (wire::string_at(change, "/path").ends_with("applied"))
        return std::string(wire::string_at(change, "/value"));
    return std::nullopt;
  };
  api::Listener empty = claims::testing::lock_at({});
  claims::testing::put(empty.meta.annotations, claims::kAppliedAnnotation, "");
  const auto written = applied_after(empty);
  ASSERT_TRUE(written);
  claims::testing::put(empty.meta.annotations, claims::kAppliedAnnotation, *written);
  EXPECT_TRUE(claims::leads_nowhere(empty));
  EXPECT_FALSE(claims::is_applied(empty)) << "it is made when the load balancer is there again";
  EXPECT_FALSE(applied_after(empty)) << "it says so already";
  EXPECT_FALSE(applied_after(claims::testing::leading_to(empty, "10.0.0.1")))
      << "which leads somewhere";
}

// A slot without a listener is not given to a Pod, which would never be Ready.
TEST(ListenerOutcome, AListenerOfALoadBalancerThatIsGoneIsNotThereEither) {
  const engine::Outcome gone{.result = fail(Code::not_found, "no such load balancer"),
                             .nowhere = true};
  const auto id_after = [&](const api::Listener& listener) -> std::optional<std::string> {
    for (const wire::Value& change : outcome_patch(listener, gone).changes)
      if (wire::string_at(change, "/path") == "/status/listenerID")
        return std::string(wire::string_at(change, "/value"));
    return std::nullopt;
  };
  api::Listener empty = claims::testing::applied(claims::testing::lock_at({}));
  empty.status.listener_id = "lbl-1";
  EXPECT_EQ(id_after(empty), "");
  EXPECT_FALSE(id_after(claims::testing::leading_to(empty, "10.0.0.1"))) << "somebody waits for it";
  empty.status.listener_id.clear();
  EXPECT_FALSE(id_after(empty)) << "it says so already";
}

TEST(ListenerName, IsShortEnoughAndNobodyElses) {
  const Naming naming{.cluster_id = std::string(32, 'c')};
  api::Listener one = listener_of_pool();
  one.meta.name = std::string(253, 'x');
  api::Listener other = one;
  other.meta.ns = kube::Interned("evil");
  for (const auto provider :
       {model::Provider::edge, model::Provider::tencent, model::Provider::gcp})
    EXPECT_LE(naming.listener_name(one, provider).size(),
              model::traits_of(provider).abilities.max_listener_name);
  EXPECT_NE(naming.listener_name(one, model::Provider::tencent),
            naming.listener_name(other, model::Provider::tencent));
  EXPECT_THAT(Naming{.cluster_id = "c1"}.listener_name(listener_of_pool(), model::Provider::edge),
              ::testing::StartsWith("c1_demo-tcp-30000_"));
}

TEST(ListenerGrant, OneThatCameOrWentIsAChange) {
  const api::LoadBalancer before = balancer();
  api::LoadBalancer after = balancer();
  EXPECT_TRUE(changed_grants(&before, &after).empty());
  after.spec.grants.front().end_port = 30019;
  EXPECT_EQ(changed_grants(&before, &after).size(), 2u);
  EXPECT_EQ(changed_grants(kNone, &after).size(), 1u);
  EXPECT_TRUE(is_about(changed_grants(&before, kNone), listener_of_pool()));
  api::Listener other = listener_of_pool();
  other.spec.port = 30010;
  EXPECT_FALSE(is_about(changed_grants(&before, kNone), other));
}

// One rule for each domain and path, with what is written of it.
TEST(ListenerWish, OfLayer7HasItsRules) {
  api::Listener listener = listener_of_pool();
  listener.spec.protocol = "HTTPS";
  listener.spec.certificate =
      api::ListenerCertificate{.mode = "MUTUAL", .cert_id = "c-1", .cert_ca_id = "ca-1"};
  listener.spec.listener_attribute = api::ListenerAttribute{.sni_switch = 1};
  listener.spec.rules = {
      {.domain = "b.com",
       .path = "/lobby",
       .certificate = api::ListenerCertificate{.cert_id = "c-2"},
       .listener_attribute = api::ListenerAttribute{.session_time = 60, .lb_policy = "LEAST_CONN"},
       .target_group =
           api::ListenerTargetGroup{.backends = {{"10.0.0.2", 80, 5}, {"10.0.0.1", 80, 10}}}},
      {.domain = "a.com"}};
  const engine::Wish wish = wish_of(listener, {.cluster_id = "berth"}).value();
  const model::ListenerSpec& spec = wish.spec.value();
  EXPECT_EQ(wish.protocol, model::Protocol::https);
  EXPECT_TRUE(spec.attributes.by_server_name);
  EXPECT_EQ(spec.attributes.tls->certificates.front().reference, "games/c-1");
  EXPECT_EQ(spec.attributes.tls->client_ca->reference, "games/ca-1");
  ASSERT_EQ(spec.rules.size(), 2u);
  EXPECT_EQ(spec.rules[0].key, (model::RuleKey{"a.com", "/"}));
  EXPECT_TRUE(spec.rules[0].targets.empty());
  EXPECT_EQ(spec.rules[1].key, (model::RuleKey{"b.com", "/lobby"}));
  EXPECT_EQ(spec.rules[1].attributes.scheduler, model::Scheduler::least_connections);
  EXPECT_EQ(spec.rules[1].attributes.session_seconds, 60u);
  EXPECT_EQ(spec.rules[1].attributes.tls->certificates.front().reference, "games/c-2");
  ASSERT_EQ(spec.rules[1].targets.size(), 2u);
  EXPECT_EQ(spec.rules[1].targets[0].target.ip, "10.0.0.1") << "in the order of the model";
}

// What a target group speaks is its route's forward type.
TEST(ListenerWish, OfHttpsIsLedAsItsRoutesSay) {
  api::Listener listener = listener_of_pool();
  listener.spec.load_balancer_id = "lb-1";
  listener.spec.protocol = "HTTPS";
  const auto route = [](std::string domain, std::string path, std::string protocol) {
    return api::ListenerRule{
        .domain = std::move(domain),
        .path = std::move(path),
        .target_group = api::ListenerTargetGroup{.protocol = std::move(protocol)}};
  };
  listener.spec.rules = {route("a.com", "/", "HTTPS"), route("a.com", "/fast", "QUIC"),
                         route("b.com", "/", "HTTPS"), route("c.com", "/", "GRPC")};
  const auto rules_with = [&](model::Provider provider) {
    const Naming naming{.defaults = {provider, "ap-x"}, .cluster_id = "berth"};
    return wish_of(listener, naming)->spec->rules;
  };
  const auto rules = rules_with(model::Provider::tencent);
  EXPECT_TRUE(rules[0].attributes.over_quic) << "it shares its domain with one that is";
  EXPECT_TRUE(rules[1].attributes.over_quic);
  EXPECT_FALSE(rules[2].attributes.over_quic);
  EXPECT_EQ(rules[3].attributes.to_targets, model::TargetProtocol::grpc);
  EXPECT_EQ(rules[2].attributes.to_targets, model::TargetProtocol::http);
  const auto others = rules_with(model::Provider::aws);
  EXPECT_EQ(others[1].attributes, model::RuleAttributes{}) << "it could not be made";
  EXPECT_EQ(others[3].attributes, model::RuleAttributes{});
  listener.spec.protocol = "HTTP";
  EXPECT_EQ(rules_with(model::Provider::tencent)[3].attributes, model::RuleAttributes{})
      << "without TLS nobody speaks HTTP/2";
}

TEST(ListenerWish, SessionsByQuicConnectionAreOfUdpAndGoRound) {
  api::Listener listener = listener_of_pool();
  listener.spec.load_balancer_id = "lb-1";
  listener.spec.protocol = "UDP";
  listener.spec.listener_attribute =
      api::ListenerAttribute{.session_type = "QUIC_CID", .lb_policy = "LEAST_CONN"};
  const auto attributes_with = [&](model::Provider provider) {
    const Naming naming{.defaults = {provider, "ap-x"}, .cluster_id = "berth"};
    return wish_of(listener, naming)->spec->rules.front().attributes;
  };
  EXPECT_EQ(attributes_with(model::Provider::tencent),
            model::RuleAttributes{.session_by_quic_id = true});
  const model::RuleAttributes plain{.scheduler = model::Scheduler::least_connections};
  EXPECT_EQ(attributes_with(model::Provider::aws), plain);
  listener.spec.protocol = "TCP";
  EXPECT_EQ(attributes_with(model::Provider::tencent), plain);
}

// The cloud refuses a session time beside another policy, and users' YAML has both.
TEST(ListenerWish, ASessionTimeWhereNoneIsKeptIsLeftOut) {
  api::Listener listener = listener_of_pool();
  listener.spec.listener_attribute =
      api::ListenerAttribute{.session_time = 100, .lb_policy = "LEAST_CONN"};
  const auto seconds = [&] {
    const Naming naming{.defaults = {model::Provider::tencent, "ap-x"}, .cluster_id = "berth"};
    return wish_of(listener, naming)->spec->rules.front().attributes.session_seconds;
  };
  EXPECT_EQ(seconds(), 100u) << "the edge keeps them";
  listener.spec.load_balancer_id = "lb-1";
  EXPECT_EQ(seconds(), 0u);
  listener.spec.listener_attribute->lb_policy = "WRR";
  EXPECT_EQ(seconds(), 100u);
}

// The cloud would refuse the listener, or forget what was asked and differ at every audit.
TEST(ListenerWish, AsksForNothingThatItsProtocolCannotHaveThere) {
  api::Listener listener = listener_of_pool();
  listener.spec.load_balancer_id = "lb-1";
  listener.spec.listener_attribute = api::ListenerAttribute{
      .session_time = 60,
      .sni_switch = 1,
      .keep_alive_enable = 1,
      .max_rate = 100,
      .health_check = api::ListenerHealthCheck{
          .enabled = true, .interval_time = 15, .http_code = 2, .http_check_path = "/up"}};
  const auto spec = [&](const char* protocol, model::Provider provider = model::Provider::tencent) {
    listener.spec.protocol = protocol;
    const Naming naming{.defaults = {provider, "ap-x"}, .cluster_id = "berth"};
    return *wish_of(listener, naming)->spec;
  };
  const auto rule = [&](const char* protocol, model::Provider provider = model::Provider::tencent) {
    return spec(protocol, provider).rules.front().attributes;
  };
  EXPECT_EQ(rule("TCP").session_seconds, 60u);
  EXPECT_EQ(rule("TCP").health_check->http_path, "/up");
  EXPECT_EQ(rule("TCP").health_check->http_codes, "2");
  EXPECT_EQ(rule("UDP").session_seconds, 60u);
  const model::HealthCheck plain{.interval_seconds = 15};
  EXPECT_EQ(*rule("UDP").health_check, plain) << "its targets are asked by ICMP";
  EXPECT_EQ(rule("TCP_SSL").session_seconds, 0u);
  EXPECT_EQ(rule("TCP_SSL").health_check->http_path, "/up");
  EXPECT_EQ(rule("QUIC").session_seconds, 0u);
  EXPECT_EQ(rule("TCP_SSL", model::Provider::edge).session_seconds, 60u);
  EXPECT_EQ(spec("TCP").attributes, model::ListenerAttributes{.max_rate = 100});
  EXPECT_EQ(spec("UDP", model::Provider::edge).attributes, model::ListenerAttributes{});
  EXPECT_EQ(spec("HTTP").attributes, model::ListenerAttributes{.keep_alive = true});
  EXPECT_EQ(spec("HTTPS").attributes,
            (model::ListenerAttributes{.by_server_name = true, .keep_alive = true}));
  // Without a path nobody asks by HTTP, and what is said of it would come back as nothing.
  listener.spec.listener_attribute->health_check->http_check_path.clear();
  EXPECT_EQ(*rule("TCP").health_check, plain);
}

TEST(ListenerWish, WithOneWayCertificatesNobodyAsksWhoTheClientIs) {
  api::Listener listener = listener_of_pool();
  listener.spec.protocol = "TCP_SSL";
  listener.spec.certificate =
      api::ListenerCertificate{.mode = "MUTUAL", .cert_id = "front", .cert_ca_id = "players"};
  const auto asks = [&] {
    const engine::Wish wish = wish_of(listener, {.cluster_id = "berth"}).value();
    return wish.spec->attributes.tls->client_ca.has_value();
  };
  EXPECT_TRUE(asks());
  listener.spec.certificate->mode = "UNIDIRECTIONAL";
  EXPECT_FALSE(asks());
}

TEST(ListenerWish, ARuleThatIsThereTwiceIsNamed) {
  api::Listener listener = listener_of_pool();
  listener.spec.protocol = "HTTP";
  listener.spec.rules = {
      {.domain = "a.com", .path = "/"}, {.domain = "b.com"}, {.domain = "a.com"}};
  const auto wish = wish_of(listener, {.cluster_id = "berth"});
  ASSERT_FALSE(wish);
  EXPECT_THAT(wish.error().to_string(),
              ::testing::AllOf(::testing::HasSubstr("games/demo-tcp-30000"),
                               ::testing::HasSubstr("spec.rules"), ::testing::HasSubstr("a.com/")));
  listener.meta.deleting = true;
  EXPECT_TRUE(wish_of(listener, {.cluster_id = "berth"})) << "what is there must go";
}

// What is granted are transports: a port of TCP is enough for HTTPS, and not for both.
TEST(ListenerGrant, HoldsForWhatTakesItsTransport) {
  api::Listener listener = listener_of_pool();
  api::LoadBalancer object = balancer();
  const auto granted = [&](const char* protocol) {
    listener.spec.protocol = protocol;
    return granted_ports(listener, wish_of(listener, {.cluster_id = "berth"}).value(),
                         grants_in(&object));
  };
  for (const char* protocol : {"TCP", "TCP_SSL", "TLS", "HTTP", "HTTPS"})
    EXPECT_TRUE(granted(protocol)) << protocol;
  for (const char* protocol : {"UDP", "QUIC", "TCP_UDP"})
    EXPECT_FALSE(granted(protocol)) << protocol;
  object.spec.grants.push_back(object.spec.grants.front());
  object.spec.grants.back().protocol = "UDP";
  object.spec.grants.back().end_port = 30004;
  EXPECT_EQ(granted("TCP_UDP").value(), (model::PortRange{30000, 30004}));
  EXPECT_TRUE(granted("QUIC"));
}

}  // namespace
}  // namespace berth::controllers::listener
