#include "sim/cloud/tencent/setup.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

namespace berth::sim::tencent {
namespace {

using std::chrono::milliseconds;
using Read = std::pair<std::string_view, void (*)(Settings&, std::int64_t)>;
using Switch = std::pair<std::string_view, bool Unsure::*>;

Duration ms(std::int64_t count) { return milliseconds{count}; }
std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Settings by their names in the file.
constexpr Read kNumbers[] = {
    {"seed", [](Settings& s, std::int64_t n) { s.seed = static_cast<std::uint64_t>(n); }},
    {"taskMs", [](Settings& s, std::int64_t n) { s.tasks.usual = ms(n); }},
    {"createLoadBalancerMs",
     [](Settings& s, std::int64_t n) { s.tasks.of["CreateLoadBalancer"] = ms(n); }},
    {"deleteLoadBalancerMs",
     [](Settings& s, std::int64_t n) { s.tasks.of["DeleteLoadBalancer"] = ms(n); }},
    {"healthyAfterMs", [](Settings& s, std::int64_t n) { s.healthy_after = ms(n); }},
    {"callsPerSecond",
     [](Settings& s, std::int64_t n) {
       s.limits.calls_per_second = static_cast<std::uint32_t>(n);
     }},
    {"listenersPerLoadBalancer",
     [](Settings& s, std::int64_t n) { s.limits.listeners_per_load_balancer = n; }},
    {"rulesPerListener", [](Settings& s, std::int64_t n) { s.limits.rules_per_listener = n; }},
    {"targetsPerRule", [](Settings& s, std::int64_t n) { s.limits.targets_per_rule = n; }},
    {"publicLoadBalancers",
     [](Settings& s, std::int64_t n) { s.limits.public_load_balancers = n; }},
    {"createListenerPorts",
     [](Settings& s, std::int64_t n) { s.limits.create_listener_ports = size(n); }},
    {"batchTargets", [](Settings& s, std::int64_t n) { s.limits.batch_targets = size(n); }},
    {"lockOutlivesTaskMs",
     [](Settings& s, std::int64_t n) { s.unsure.lock_outlives_task = ms(n); }}};

constexpr Switch kSwitches[] = {
    {"batchTargetsAreTasks", &Unsure::batch_targets_are_tasks},
    {"batchFailsWholeOnUnknownListener", &Unsure::batch_fails_whole_on_unknown_listener},
    {"registeringAgainIsRefused", &Unsure::registering_again_is_refused},
    {"deregisteringMissingIsRefused", &Unsure::deregistering_missing_is_refused},
    {"sessionNeedsWrr", &Unsure::session_needs_wrr},
    {"timeoutBelowInterval", &Unsure::timeout_below_interval},
    {"busyNamesTheTask", &Unsure::busy_names_the_task},
    {"slowLoadBalancerIds", &Unsure::slow_load_balancer_ids},
    {"inapplicableIsRefused", &Unsure::inapplicable_is_refused},
    {"namesMatchInPart", &Unsure::names_match_in_part},
    {"describingMissingIsRefused", &Unsure::describing_missing_is_refused},
    {"defaultDomainNeedsAnother", &Unsure::default_domain_needs_another},
    {"untargetedAreLeftOut", &Unsure::untargeted_are_left_out},
    {"targetsGoByWhatBoundThem", &Unsure::targets_go_by_what_bound_them}};

const std::map<std::string, FaultKind>& fault_kinds() {
  static const std::map<std::string, FaultKind> kinds = [] {
    std::map<std::string, FaultKind> out;
    for (const FaultKind kind : kFaultKinds) out.emplace(to_string(kind), kind);
    return out;
  }();
  return kinds;
}

Fields settings_fields() {
  Fields out;
  constexpr std::int64_t kMost = 1'000'000'000;
  for (const Read& one : kNumbers) out.push_back(number(std::string(one.first)).within(0, kMost));
  for (const Switch& one : kSwitches) out.push_back(yes_no(std::string(one.first)));
  return out;
}

constexpr std::int64_t kTimeLength = 19;  // 2026-06-01 07:59:59

Fields account_fields() {
  return {text("uin").required(),
          yes_no("portRanges"),
          yes_no("networkShiftUp"),
          yes_no("domainOnly"),
          texts("certificates"),
          objects("certificateEnds",
                  {text("id").required(), text("at").required().within(kTimeLength, kTimeLength)}),
          objects("networks", {text("region").required(), text("vpc").required(),
                               text("cidr").required(), yes_no("globalRoute")}),
          objects("instances", {text("id").required(), text("region").required(),
                                text("vpc").required(), text("ip").required()})};
}

Fields load_balancer_fields() {
  return {text("id").required(),
          text("name"),
          text("account").required(),
          text("region").required(),
          text("type").one_of({"OPEN", "INTERNAL"}),
          text("vpc"),
          texts("vips"),
          texts("elasticIps"),
          yes_no("snatPro"),
          texts("snatIps"),
          objects("tags", {text("key").required(), text("value").required()}),
          number("listenerQuota").within(1, 100'000)};
}

Fields fault_fields() {
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : fault_kinds()) kinds.push_back(name);
  return {text("kind").required().one_of(kinds),
          text("action"),
          text("loadBalancer"),
          text("code"),
          text("message"),
          number("ms").within(0, 86'400'000),
          texts("listeners"),
          number("count").within(1, 1'000'000)};
}

Fields document_fields() {
  return {objects("accounts", account_fields()),
          objects("keys", {text("secretId").required(), text("secretKey").required(), text("token"),
                           text("account").required(), texts("policy")}),
          objects("loadBalancers", load_balancer_fields()),
          object("settings", settings_fields()),
          objects("faults", fault_fields()),
          objects("health", {text("ip").required(), number("port").required().within(1, 65535),
                             text("is").required().one_of({"alive", "dead", "unknown"})})};
}

Settings settings_of(const Params& in) {
  Settings out;
  for (const auto& [name, set] : kNumbers) {
    if (const auto value = in.number(name)) set(out, *value);
  }
  for (const auto& [name, member] : kSwitches) {
    if (const auto value = in.yes_no(name)) out.unsure.*member = *value;
  }
  return out;
}

Account account_of(const Params& in) {
  Account out{.uin = in.text("uin")};
  out.port_ranges = in.yes_no("portRanges").value_or(out.port_ranges);
  out.network_shift_up = in.yes_no("networkShiftUp").value_or(out.network_shift_up);
  out.domain_only = in.yes_no("domainOnly").value_or(out.domain_only);
  if (in.has("certificates")) out.certificates = in.texts("certificates");
  for (const Params& one : in.objects("certificateEnds"))
    out.certificate_ends[one.text("id")] = one.text("at");
  for (const Params& one : in.objects("networks")) {
    out.networks.push_back({.region = one.text("region"),
                            .vpc_id = one.text("vpc"),
                            .cidr = one.text("cidr"),
                            .global_route = one.yes_no("globalRoute").value_or(false)});
  }
  for (const Params& one : in.objects("instances")) {
    out.instances.push_back({.id = one.text("id"),
                             .region = one.text("region"),
                             .vpc_id = one.text("vpc"),
                             .ip = one.text("ip")});
  }
  return out;
}

AccessKey key_of(const Params& in) {
  AccessKey out{.secret_id = in.text("secretId"),
                .secret_key = Secret(in.text("secretKey")),
                .token = Secret(in.text("token")),
                .account = in.text("account")};
  if (in.has("policy")) out.policy = in.texts("policy");
  if (out.policy == Policy{"guide"}) out.policy = guide_policy();
  return out;
}

LoadBalancer load_balancer_of(const Params& in) {
  LoadBalancer out{.id = in.text("id"),
                   .account = in.text("account"),
                   .region = in.text("region"),
                   .name = in.text("name")};
  if (in.has("type")) out.type = in.text("type");
  out.vpc_id = in.text("vpc");
  out.vips = in.texts("vips");
  if (std::ranges::any_of(out.vips, [](const std::string& vip) { return vip.contains(':'); })) {
    out.ip_version = "ipv6";
    out.ipv6_mode = "IPv6Nat64";
  }
  out.elastic_ips = in.texts("elasticIps");
  out.snat_pro = in.yes_no("snatPro").value_or(false);
  out.snat_ips = in.texts("snatIps");
  for (const Params& tag : in.objects("tags"))
    out.tags.push_back({tag.text("key"), tag.text("value")});
  out.listener_quota = in.number("listenerQuota");
  return out;
}

Fault fault_of(const Params& in) {
  Fault out{.kind = fault_kinds().at(in.text("kind")),
            .action = in.text("action"),
            .load_balancer = in.text("loadBalancer")};
  if (in.has("code")) out.error.code = in.text("code");
  if (in.has("message")) out.error.message = in.text("message");
  out.duration = ms(in.number("ms").value_or(0));
  out.listeners = in.texts("listeners");
  out.count = static_cast<int>(in.number("count").value_or(1));
  return out;
}

SaidHealth health_of(const Params& in) {
  const std::string is = in.text("is");
  return {.ip = in.text("ip"),
          .port = *in.number("port"),
          .health = is == "alive"  ? Health::alive
                    : is == "dead" ? Health::dead
                                   : Health::unknown};
}

}  // namespace

Result<Setup> read_setup(const wire::Value& document) {
  if (!document.is_object()) return fail(Code::invalid, "the setup is no mapping");
  const wire::Object& body = document.get_object();
  if (auto good = check(document_fields(), body); !good)
    return fail(Code::invalid, "{}", good.error().message);
  const Params in(body);
  Setup out;
  if (const auto settings = in.object("settings")) out.settings = settings_of(*settings);
  for (const Params& one : in.objects("accounts")) out.accounts.push_back(account_of(one));
  for (const Params& one : in.objects("keys")) out.keys.push_back(key_of(one));
  for (const Params& one : in.objects("loadBalancers"))
    out.load_balancers.push_back(load_balancer_of(one));
  for (const Params& one : in.objects("faults")) out.faults.push_back(fault_of(one));
  for (const Params& one : in.objects("health")) out.health.push_back(health_of(one));
  return out;
}

Setup example_setup() {
  Setup out;
  out.accounts = {{.uin = kExampleUin}};
  out.keys = {{.secret_id = kExampleSecretId,
               .secret_key = Secret(kExampleSecretKey),
               .account = kExampleUin}};
  out.load_balancers = {{.id = kExampleLoadBalancer,
                         .account = kExampleUin,
                         .region = kExampleRegion,
                         .name = "example",
                         .vpc_id = "vpc-example1",
                         .vips = {"203.0.113.10"}}};
  return out;
}

std::unique_ptr<Cloud> make_cloud(Setup setup, WallTime now) {
  auto out = std::make_unique<Cloud>(std::move(setup.settings));
  for (Account& one : setup.accounts) out->add_account(std::move(one));
  for (AccessKey& one : setup.keys) out->add_key(std::move(one));
  for (LoadBalancer& one : setup.load_balancers) out->add_load_balancer(std::move(one), now);
  for (Fault& one : setup.faults) out->inject(std::move(one));
  for (const SaidHealth& one : setup.health) out->set_health(one.ip, one.port, one.health);
  return out;
}

}  // namespace berth::sim::tencent
