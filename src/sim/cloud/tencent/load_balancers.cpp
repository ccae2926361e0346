// Load balancers: describe, create, delete, attributes, addresses for source translation.
#include <algorithm>
#include <boost/json.hpp>

#include "sim/cloud/tencent/encode.h"
#include "sim/cloud/tencent/operations.h"
#include "sim/cloud/tencent/places.h"

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;

constexpr std::int64_t kDefaultPage = 20;
constexpr std::string_view kTagFilter = "tag:";
constexpr Duration kDeletionWindow = std::chrono::minutes{5};

// --- describing --------------------------------------------------------------------------------

bool is_among(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

Outcome<> check_filters(const std::vector<Params>& filters) {
  static const std::vector<std::string> kKnown{"charge-type",    "internet-charge-type",
                                               "master-zone-id", "tag-key",
                                               "function-name",  "vip-isp",
                                               "sla-type",       "exclusive",
                                               "zones",          "master-zone"};
  for (const Params& filter : filters) {
    const std::string name = filter.text("Name");
    if (name.starts_with(kTagFilter) || is_among(kKnown, name)) continue;
    return refuse("InvalidParameterValue.InvalidFilter", "Filter `{}` is not known", name);
  }
  return {};
}

bool has_tag(const LoadBalancer& lb, const Params& filter) {
  const std::string name = filter.text("Name");
  const auto values = filter.texts("Values");
  return std::ranges::any_of(lb.tags, [&](const Tag& tag) {
    if (name == "tag-key") return is_among(values, tag.key);
    return tag.key == name.substr(kTagFilter.size()) && is_among(values, tag.value);
  });
}

bool passes(const LoadBalancer& lb, const Params& filter) {
  const std::string name = filter.text("Name");
  if (name == "tag-key" || name.starts_with(kTagFilter)) return has_tag(lb, filter);
  const auto values = filter.texts("Values");
  if (name == "charge-type") return is_among(values, lb.charge_type);
  if (name == "vip-isp") return is_among(values, lb.vip_isp);
  if (name == "sla-type") return is_among(values, lb.sla_type);
  return true;  // of what is not simulated, all are alike
}

bool name_fits(const Call& call, const LoadBalancer& lb) {
  if (!call.in.has("LoadBalancerName")) return true;
  const std::string name = call.in.text("LoadBalancerName");
  return call.settings().unsure.names_match_in_part ? lb.name.find(name) != std::string::npos
                                                    : lb.name == name;
}

bool is_asked_for(const Call& call, const LoadBalancer& lb) {
  const Params& in = call.in;
  if (lb.account != call.account.uin || lb.region != call.region || !name_fits(call, lb))
    return false;
  if (in.has("LoadBalancerIds") && !is_among(in.texts("LoadBalancerIds"), lb.id)) return false;
  if (in.has("Forward") && in.number("Forward") != lb.forward) return false;
  if (in.has("LoadBalancerType") && in.text("LoadBalancerType") != lb.type) return false;
  if (in.has("VpcId") && in.text("VpcId") != lb.vpc_id) return false;
  if (in.has("Domain") && lb.domain.find(in.text("Domain")) == std::string::npos) return false;
  if (in.has("LoadBalancerVips")) {
    const auto vips = in.texts("LoadBalancerVips");
    if (!std::ranges::any_of(lb.vips, [&](const auto& vip) { return is_among(vips, vip); }))
      return false;
  }
  return std::ranges::all_of(in.objects("Filters"),
                             [&](const Params& filter) { return passes(lb, filter); });
}

// Youngest first, as the API's default has it.
std::vector<const LoadBalancer*> matching(const Call& call) {
  std::vector<const LoadBalancer*> out;
  for (const auto& [id, lb] : call.state.load_balancers) {
    if (is_asked_for(call, lb)) out.push_back(&lb);
  }
  const bool ascending = call.in.number("OrderType") == 0;
  std::ranges::sort(out, [&](const LoadBalancer* a, const LoadBalancer* b) {
    const auto key = [](const LoadBalancer* lb) { return std::pair(lb->created, lb->id); };
    return ascending ? key(a) < key(b) : key(b) < key(a);
  });
  return out;
}

// --- creating ----------------------------------------------------------------------------------

Outcome<> check_creation(const Call& call) {
  const Params& in = call.in;
  const bool internal = in.text("LoadBalancerType") == "INTERNAL";
  const std::string version = in.text("AddressIPVersion");
  if ((internal || version == "IPv6FullChain") && !in.has("SubnetId"))
    return refuse("MissingParameter", "The request is missing a required parameter `SubnetId`.");
  if (!version.empty() && version != "IPV4" && in.yes_no("LoadBalancerPassToTarget") == true)
    return refuse("InvalidParameterValue", "IPv6 does not support `LoadBalancerPassToTarget`");
  const auto internet = in.object("InternetAccessible");
  const std::string charge = internet ? internet->text("InternetChargeType") : "";
  if (in.has("VipIsp") && in.text("VipIsp") != "BGP" && charge != "BANDWIDTH_PACKAGE") {
    return refuse("InvalidParameterCombination",
                  "`VipIsp` needs InternetChargeType BANDWIDTH_PACKAGE");
  }
  if (call.account.domain_only && !internal && in.yes_no("DynamicVip") != true)
    return refuse("InvalidParameter", "only suport domain clb");
  if (in.has("Vip") && in.number("Number").value_or(1) != 1)
    return refuse("InvalidParameterCombination", "`Vip` goes with one load balancer");
  return {};
}

Outcome<> check_creation_quota(const Call& call) {
  const std::string type = call.in.text("LoadBalancerType");
  const Limits& limits = call.settings().limits;
  const std::int64_t quota =
      type == "OPEN" ? limits.public_load_balancers : limits.internal_load_balancers;
  const auto there = std::ranges::count_if(call.state.load_balancers, [&](const auto& one) {
    return one.second.account == call.account.uin && one.second.region == call.region &&
           one.second.type == type;
  });
  if (there + call.in.number("Number").value_or(1) <= quota) return {};
  return refuse("LimitExceeded", "The number of {} load balancers exceeds the quota {}", type,
                quota);
}

LoadBalancer new_load_balancer(Call& call) {
  const Params& in = call.in;
  LoadBalancer out;
  out.id = call.state.make_id("lb-");
  out.account = call.account.uin;
  out.region = call.region;
  out.name = in.has("LoadBalancerName") ? in.text("LoadBalancerName") : out.id;
  out.type = in.text("LoadBalancerType");
  out.vpc_id = in.text("VpcId");
  out.subnet_id = in.text("SubnetId");
  const std::string version = in.text("AddressIPVersion");
  if (!version.empty() && version != "IPV4") {
    out.ip_version = "ipv6";
    out.ipv6_mode = version == "IPv6FullChain" ? version : "IPv6Nat64";
  }
  out.vip_isp = in.has("VipIsp") ? in.text("VipIsp") : "BGP";
  out.sla_type = in.text("SlaType");
  out.snat_pro = in.yes_no("SnatPro").value_or(false);
  out.pass_to_target = in.yes_no("LoadBalancerPassToTarget").value_or(false);
  for (const Params& tag : in.objects("Tags"))
    out.tags.push_back({tag.text("TagKey"), tag.text("TagValue")});
  for (const Params& ip : in.objects("SnatIps")) out.snat_ips.push_back(ip.text("Ip"));
  if (in.yes_no("DynamicVip") == true)
    out.domain = fmt::format("{}-x.clb.{}.tencentclb.com", out.id, out.region);
  out.vips = {in.has("Vip") ? in.text("Vip") : call.state.make_vip(out)};
  out.normal = false;
  out.created = call.now;
  return out;
}

Object creation_answer(const Call& call, const std::vector<std::string>& ids,
                       const std::string& task) {
  const bool slow = call.settings().unsure.slow_load_balancer_ids;
  return {{"LoadBalancerIds", slow ? Array{} : texts_to_json(ids)}, {"DealName", task}};
}

// --- deleting ----------------------------------------------------------------------------------

Outcome<> check_deletion(Call& call, const LoadBalancer& lb) {
  if (lb.delete_protect)
    return refuse("OperationDenied", "{} is protected against deletion", lb.id);
  if (call.in.yes_no("ForceDelete") == true) return {};
  const Limits& limits = call.settings().limits;
  if (target_count(lb) >= limits.targets_that_protect) {
    return refuse("FailedOperation.TargetNumCheckRisk", "{} has {} or more targets", lb.id,
                  limits.targets_that_protect);
  }
  std::erase_if(call.state.deletions,
                [&](WallTime at) { return at + kDeletionWindow <= call.now; });
  if (call.state.deletions.size() >= limits.deletions_in_five_minutes)
    return refuse("FailedOperation.FrequencyCheckRisk", "Too many deletions in five minutes");
  return {};
}

}  // namespace

Answered describe_load_balancers(Call& call) {
  if (auto good = check_filters(call.in.objects("Filters")); !good) return pass(good);
  if (call.settings().unsure.describing_missing_is_refused) {
    for (const std::string& id : call.in.texts("LoadBalancerIds"))
      if (auto there = load_balancer(call, id); !there) return pass(there);
  }
  const auto found = matching(call);
  const auto from = static_cast<std::size_t>(call.in.number("Offset").value_or(0));
  const auto most = static_cast<std::size_t>(call.in.number("Limit").value_or(kDefaultPage));
  Array page;
  for (std::size_t i = from; i < found.size() && page.size() < most; ++i)
    page.push_back(encode_load_balancer(*found[i]));
  return Object{{"TotalCount", found.size()}, {"LoadBalancerSet", std::move(page)}};
}

Answered create_load_balancer(Call& call) {
  if (auto good = check_creation(call); !good) return pass(good);
  const std::pair token{call.account.uin, call.in.text("ClientToken")};
  if (const auto known = call.state.client_tokens.find(token);
      !token.second.empty() && known != call.state.client_tokens.end()) {
    if (const Task* task = call.tasks.find(known->second)) {
      call.tasks.alias(call.request_id, task->id);
      return creation_answer(call, task->load_balancers, task->id);
    }
  }
  if (auto good = check_creation_quota(call); !good) return pass(good);
  std::vector<std::string> ids;
  for (std::int64_t i = 0; i < call.in.number("Number").value_or(1); ++i) {
    LoadBalancer lb = new_load_balancer(call);
    ids.push_back(lb.id);
    call.state.load_balancers.emplace(lb.id, std::move(lb));
  }
  if (!token.second.empty()) call.state.client_tokens[token] = call.request_id;
  begin_task(
      call, ids,
      [ids](State& state, WallTime) {
        for (const std::string& id : ids) {
          const auto it = state.load_balancers.find(id);
          if (it != state.load_balancers.end()) it->second.normal = true;
        }
      },
      [ids](State& state, WallTime) {
        for (const std::string& id : ids) state.load_balancers.erase(id);
      });
  return creation_answer(call, ids, call.request_id);
}

Answered delete_load_balancer(Call& call) {
  const auto ids = call.in.texts("LoadBalancerIds");
  for (const std::string& id : ids) {
    auto lb = writable(call, id);
    if (!lb) return pass(lb);
    if (auto good = check_deletion(call, **lb); !good) return pass(good);
  }
  call.state.deletions.insert(call.state.deletions.end(), ids.size(), call.now);
  begin_task(call, ids, [ids](State& state, WallTime) {
    for (const std::string& id : ids) state.load_balancers.erase(id);
  });
  return Object{};
}

Answered modify_load_balancer_attributes(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  LoadBalancer wished = **lb;
  if (call.in.has("LoadBalancerName")) wished.name = call.in.text("LoadBalancerName");
  wished.snat_pro = call.in.yes_no("SnatPro").value_or(wished.snat_pro);
  wished.delete_protect = call.in.yes_no("DeleteProtect").value_or(wished.delete_protect);
  wished.pass_to_target =
      call.in.yes_no("LoadBalancerPassToTarget").value_or(wished.pass_to_target);
  begin_task(call, {wished.id}, [wished](State& state, WallTime) {
    const auto it = state.load_balancers.find(wished.id);
    if (it == state.load_balancers.end()) return;
    it->second.name = wished.name;
    it->second.snat_pro = wished.snat_pro;
    it->second.delete_protect = wished.delete_protect;
    it->second.pass_to_target = wished.pass_to_target;
  });
  return Object{{"DealName", nullptr}};
}

Answered create_snat_ips(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  if (!(*lb)->snat_pro)
    return refuse("UnsupportedOperation", "SnatPro of {} is not enabled", (*lb)->id);
  std::vector<std::string> ips;
  for (const Params& one : call.in.objects("SnatIps")) {
    const std::string ip = one.text("Ip");
    if (!ip.empty() && !is_address(ip))
      return refuse("InvalidParameter.FormatError", "Ip '{}' is none", ip);
    const auto times = one.has("Ip") ? 1 : call.in.number("Number").value_or(1);
    for (std::int64_t i = 0; i < times; ++i)
      ips.push_back(ip.empty() ? fmt::format("10.{}.{}.{}", call.state.random.below(256),
                                             call.state.random.below(256),
                                             1 + call.state.random.below(254))
                               : ip);
  }
  if ((*lb)->snat_ips.size() + ips.size() > call.settings().limits.snat_ips)
    return refuse("LimitExceeded", "{} has at most {} snat ips", (*lb)->id,
                  call.settings().limits.snat_ips);
  begin_task(call, {(*lb)->id}, [id = (*lb)->id, ips](State& state, WallTime) {
    const auto it = state.load_balancers.find(id);
    if (it == state.load_balancers.end()) return;
    it->second.snat_ips.insert(it->second.snat_ips.end(), ips.begin(), ips.end());
  });
  return Object{};
}

Answered delete_snat_ips(Call& call) {
  auto lb = writable(call, call.in.text("LoadBalancerId"));
  if (!lb) return pass(lb);
  begin_task(call, {(*lb)->id},
             [id = (*lb)->id, ips = call.in.texts("Ips")](State& state, WallTime) {
               const auto it = state.load_balancers.find(id);
               if (it == state.load_balancers.end()) return;
               std::erase_if(it->second.snat_ips,
                             [&](const std::string& ip) { return is_among(ips, ip); });
             });
  return Object{};
}

}  // namespace berth::sim::tencent
