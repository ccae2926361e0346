// Checks of load balancers and listeners: found, created, listed, removed.
#include <algorithm>
#include <array>
#include <set>

#include "lb/conformance/probe.h"

namespace berth::lb {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::Protocol;

constexpr std::array kProtocols{Protocol::tcp,  Protocol::udp,  Protocol::tcp_udp, Protocol::tls,
                                Protocol::quic, Protocol::http, Protocol::https};

bool share_a_transport(Protocol a, Protocol b) {
  return std::ranges::any_of(transports_of(a), [&](auto transport) { return takes(b, transport); });
}

void limits_are_positive(Subject& subject) {
  const model::Abilities& limits = subject.driver().listeners->abilities();
  EXPECT_GE(limits.create_batch, 1u);
  EXPECT_GE(limits.remove_batch, 1u);
  EXPECT_GE(limits.rule_batch, 1u);
  EXPECT_GE(limits.target_batch, 1u);
}

void describes_where_a_load_balancer_is_reached(Subject& subject) {
  const auto info = describe_one(subject.context(), *subject.driver().directory, subject.first());
  ASSERT_TRUE(info) << info.error().to_string();
  EXPECT_TRUE(!info->vips.empty() || !info->dns_name.empty());
}

void unknown_load_balancer_is_not_found(Subject& subject) {
  const auto unknown = subject.unknown();
  if (!unknown) return;
  Probe probe(subject);
  const auto info = describe_one(probe.context(), probe.directory(), *unknown);
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, Code::not_found);
  const auto listed = probe.driver().list(probe.context(), *unknown);
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Code::not_found);
  const auto created = probe.create(*unknown, std::vector{probe.spec(0)});
  ASSERT_EQ(created.size(), 1u);
  ASSERT_FALSE(created[0]);
  EXPECT_EQ(created[0].error().code, Code::not_found);
}

void created_listener_is_listed_as_asked(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  EXPECT_TRUE(probe.list(lb).empty()) << "the load balancer must begin without listeners";
  const ListenerId id = probe.create(lb, probe.spec(0));
  ASSERT_FALSE(id.empty());
  const auto listener = probe.find(lb, id);
  ASSERT_TRUE(listener);
  EXPECT_EQ(listener->spec.protocol, Protocol::tcp);
  EXPECT_EQ(listener->spec.ports, probe.spec(0).ports);
  EXPECT_EQ(listener->spec.name, probe.spec(0).name) << "a lost reply could not be found again";
  ASSERT_EQ(listener->spec.rules.size(), 1u);
  EXPECT_TRUE(listener->spec.rules[0].key.empty());
  EXPECT_TRUE(listener->spec.rules[0].targets.empty());
}

void creation_adds_no_targets(Subject& subject) {
  Probe probe(subject);
  ListenerSpec spec = probe.spec(0);
  spec.rules[0].targets = {probe.target(1)};
  const ListenerId id = probe.create(subject.first(), spec);
  EXPECT_TRUE(probe.targets(subject.first(), {id}).empty());
}

void taken_port_already_exists(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  ListenerSpec other = probe.spec(0);
  other.name = "conformance-other";
  const auto results = probe.create(lb, std::vector{other});
  ASSERT_EQ(results.size(), 1u);
  ASSERT_FALSE(results[0]) << "two listeners on one port";
  EXPECT_EQ(results[0].error().code, Code::already_exists);
  const auto listed = probe.list(lb);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].id, id);
  EXPECT_EQ(listed[0].spec.name, probe.spec(0).name);
}

void batch_succeeds_in_part(Subject& subject) {
  Probe probe(subject);
  if (probe.abilities().create_batch < 3) return;
  const LoadBalancerRef lb = subject.first();
  (void)probe.create(lb, probe.spec(1));
  ListenerSpec taken = probe.spec(1);
  taken.name = "conformance-other";
  const auto results = probe.create(lb, std::vector{probe.spec(0), taken, probe.spec(2)});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Code::already_exists);
  EXPECT_TRUE(results[2]);
  EXPECT_EQ(probe.list(lb).size(), 3u);
}

void whole_batch_has_distinct_ids_in_order(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const int count = static_cast<int>(std::min<std::size_t>(probe.abilities().create_batch, 20));
  std::vector<ListenerSpec> specs;
  for (int i = 0; i < count; ++i) specs.push_back(probe.spec(i));
  const auto results = probe.create(lb, specs);
  ASSERT_EQ(results.size(), specs.size());
  std::set<ListenerId> ids;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().to_string();
    ids.insert(*results[i]);
    const auto listener = probe.find(lb, *results[i]);
    ASSERT_TRUE(listener);
    EXPECT_EQ(listener->spec.ports, specs[i].ports);
  }
  EXPECT_EQ(ids.size(), results.size());
}

void removed_listener_is_gone_and_its_port_free(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  const ListenerId other = probe.create(lb, probe.spec(1));
  EXPECT_TRUE(probe.remove(lb, id));
  const auto listed = probe.list(lb);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].id, other);
  EXPECT_FALSE(probe.create(lb, probe.spec(0)).empty());
}

void removal_of_what_is_gone_succeeds(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  EXPECT_TRUE(probe.remove(lb, id));
  const auto again = probe.remove(lb, id);
  EXPECT_TRUE(again) << again.error().to_string();
}

void removal_of_some_that_are_gone_removes_the_others(Subject& subject) {
  Probe probe(subject);
  if (probe.abilities().remove_batch < 2) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId gone = probe.create(lb, probe.spec(0));
  const ListenerId there = probe.create(lb, probe.spec(1));
  EXPECT_TRUE(probe.remove(lb, gone));
  const std::vector<ListenerId> ids{gone, there};
  const auto results = probe.driver().remove(probe.context(), lb, ids);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0]);
  EXPECT_TRUE(results[1]);
  EXPECT_TRUE(probe.list(lb).empty());
}

void empty_batches_change_nothing(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  EXPECT_TRUE(probe.driver().create(probe.context(), lb, {}).empty());
  EXPECT_TRUE(probe.driver().remove(probe.context(), lb, {}).empty());
  EXPECT_TRUE(probe.driver().change(probe.context(), lb, {}).empty());
  EXPECT_TRUE(probe.driver().create_rules(probe.context(), lb, {}).empty());
  EXPECT_TRUE(probe.driver().remove_rules(probe.context(), lb, {}).empty());
  EXPECT_TRUE(probe.driver().change_rules(probe.context(), lb, {}).empty());
  EXPECT_TRUE(probe.driver().change_targets(probe.context(), lb, {}).empty());
  EXPECT_TRUE(probe.find(lb, id)) << "an empty list of ids removed everything";
}

void ranges_take_all_their_ports(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  ListenerSpec range = probe.spec(10);
  range.ports = {probe.port(10), probe.port(19)};
  const auto results = probe.create(lb, std::vector{range});
  ASSERT_EQ(results.size(), 1u);
  if (!probe.abilities().has_ranges) {
    ASSERT_FALSE(results[0]);
    EXPECT_EQ(results[0].error().code, Code::unsupported);
    return;
  }
  ASSERT_TRUE(results[0]) << results[0].error().to_string();
  EXPECT_EQ(probe.find(lb, *results[0])->spec.ports, range.ports);
  const auto inside = probe.create(lb, std::vector{probe.spec(15)});
  ASSERT_FALSE(inside[0]) << "a port of the range was given twice";
  EXPECT_EQ(inside[0].error().code, Code::already_exists);
  EXPECT_FALSE(probe.create(lb, probe.spec(9)).empty());
  EXPECT_FALSE(probe.create(lb, probe.spec(20)).empty());
  EXPECT_TRUE(probe.remove(lb, *results[0]));
  EXPECT_FALSE(probe.create(lb, probe.spec(15)).empty());
}

void protocols_share_a_port_where_the_provider_can(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId tcp = probe.create(lb, probe.spec(0, Protocol::tcp));
  const auto udp = probe.create(lb, std::vector{probe.spec(0, Protocol::udp)});
  ASSERT_EQ(udp.size(), 1u);
  if (!probe.abilities().has_both_protocols) {
    ASSERT_FALSE(udp[0]);
    EXPECT_EQ(udp[0].error().code, Code::already_exists);
    return;
  }
  ASSERT_TRUE(udp[0]) << udp[0].error().to_string();
  EXPECT_TRUE(probe.change(lb, TargetChange{{tcp}, {probe.target(1)}, {}}));
  EXPECT_TRUE(probe.targets(lb, {*udp[0]}).empty());
  EXPECT_TRUE(probe.remove(lb, tcp));
  EXPECT_TRUE(probe.find(lb, *udp[0]));
}

// Whatever is spoken there: TCP and HTTPS meet each other, HTTPS and QUIC do not.
void port_is_given_once_for_each_transport(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  for (const Protocol first : kProtocols) {
    if (!probe.has(first)) continue;
    const ListenerId id = probe.create(lb, probe.spec(0, first));
    for (const Protocol second : kProtocols) {
      if (!probe.has(second)) continue;
      SCOPED_TRACE(fmt::format("{} beside {}", to_string(second), to_string(first)));
      ListenerSpec other = probe.spec(0, second);
      other.name = "conformance-other";
      if (!probe.abilities().has_both_protocols || share_a_transport(first, second)) {
        EXPECT_EQ(probe.refusal(lb, other), Code::already_exists);
      } else {
        EXPECT_TRUE(probe.remove(lb, probe.create(lb, other)));
      }
    }
    EXPECT_TRUE(probe.remove(lb, id));
  }
}

void protocols_that_are_not_spoken_are_unsupported(Subject& subject) {
  Probe probe(subject);
  for (const Protocol protocol : kProtocols) {
    if (probe.abilities().protocols.has(protocol)) continue;
    EXPECT_EQ(probe.refusal(subject.first(), probe.spec(0, protocol)), Code::unsupported)
        << to_string(protocol);
  }
  EXPECT_TRUE(probe.list(subject.first()).empty());
}

void load_balancers_are_independent(Subject& subject) {
  Probe probe(subject);
  const ListenerId a = probe.create(subject.first(), probe.spec(0));
  const ListenerId b = probe.create(subject.second(), probe.spec(0));
  EXPECT_TRUE(probe.change(subject.first(), TargetChange{{a}, {probe.target(1)}, {}}));
  EXPECT_TRUE(probe.targets(subject.second(), {b}).empty());
  EXPECT_TRUE(probe.remove(subject.first(), a));
  EXPECT_TRUE(probe.find(subject.second(), b));
}

void expired_context_changes_nothing(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  Context expired = subject.context();
  expired.deadline = expired.tasks.now() - std::chrono::seconds{1};
  const ListenerSpec spec = probe.spec(0);
  const auto results = probe.driver().create(expired, lb, {&spec, 1});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_FALSE(results[0]);
  EXPECT_TRUE(probe.list(lb).empty());
}

}  // namespace

std::vector<Check> listener_checks() {
  return {
      {"LimitsArePositive", limits_are_positive},
      {"DescribesWhereALoadBalancerIsReached", describes_where_a_load_balancer_is_reached},
      {"UnknownLoadBalancerIsNotFound", unknown_load_balancer_is_not_found},
      {"CreatedListenerIsListedAsAsked", created_listener_is_listed_as_asked},
      {"CreationAddsNoTargets", creation_adds_no_targets},
      {"TakenPortAlreadyExists", taken_port_already_exists},
      {"BatchSucceedsInPart", batch_succeeds_in_part},
      {"WholeBatchHasDistinctIdsInOrder", whole_batch_has_distinct_ids_in_order},
      {"RemovedListenerIsGoneAndItsPortFree", removed_listener_is_gone_and_its_port_free},
      {"RemovalOfWhatIsGoneSucceeds", removal_of_what_is_gone_succeeds},
      {"RemovalOfSomeThatAreGoneRemovesTheOthers",
       removal_of_some_that_are_gone_removes_the_others},
      {"EmptyBatchesChangeNothing", empty_batches_change_nothing},
      {"RangesTakeAllTheirPorts", ranges_take_all_their_ports},
      {"ProtocolsShareAPortWhereTheProviderCan", protocols_share_a_port_where_the_provider_can},
      {"PortIsGivenOnceForEachTransport", port_is_given_once_for_each_transport},
      {"ProtocolsThatAreNotSpokenAreUnsupported", protocols_that_are_not_spoken_are_unsupported},
      {"LoadBalancersAreIndependent", load_balancers_are_independent},
      {"ExpiredContextChangesNothing", expired_context_changes_nothing},
  };
}

}  // namespace berth::lb
