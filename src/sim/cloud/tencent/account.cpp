// What concerns the account: quotas, tasks, and the few calls of other services that controllers
// make.
#include <algorithm>
#include <boost/json.hpp>

#include "sim/cloud/tencent/encode.h"
#include "sim/cloud/tencent/operations.h"

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Of certificates that nobody said anything about, in the cloud's local time.
constexpr std::string_view kFirstSecond = "2026-01-01 00:00:00";
constexpr std::string_view kLastSecond = "2035-12-31 23:59:59";
// How the certificate service counts.
constexpr int kIssued = 1;
constexpr int kExpired = 3;

std::int64_t count_of_type(const Call& call, std::string_view type) {
  return std::ranges::count_if(call.state.load_balancers, [&](const auto& one) {
    return one.second.account == call.account.uin && one.second.region == call.region &&
           one.second.type == type;
  });
}

Object quota(std::string_view id, std::int64_t limit, Value current = nullptr) {
  return {{"QuotaId", id}, {"QuotaLimit", limit}, {"QuotaCurrent", std::move(current)}};
}

// "qcs::clb:ap-guangzhou:uin/1:clb/lb-12345678"
std::string resource_id(std::string_view resource) {
  return std::string(resource.substr(resource.rfind('/') + 1));
}

Object encode_address(const LoadBalancer& lb, const std::string& vip) {
  return {{"AddressId", "eip-" + lb.id.substr(lb.id.find('-') + 1)},
          {"AddressIp", vip},
          {"AddressStatus", "BIND"},
          {"InstanceId", lb.id},
          {"InstanceType", "CLB"}};
}

std::vector<std::string> filter_values(const Params& in, std::string_view name) {
  for (const Params& filter : in.objects("Filters")) {
    if (filter.text("Name") == name) return filter.texts("Values");
  }
  return {};
}

bool is_wanted(const std::vector<std::string>& list, const std::string& text) {
  return list.empty() || std::ranges::find(list, text) != list.end();
}

}  // namespace

Answered describe_quota(Call& call) {
  const Limits& limits = call.settings().limits;
  return Object{
      {"QuotaSet",
       Array{
           quota("TOTAL_OPEN_CLB_QUOTA", limits.public_load_balancers, count_of_type(call, "OPEN")),
           quota("TOTAL_INTERNAL_CLB_QUOTA", limits.internal_load_balancers,
                 count_of_type(call, "INTERNAL")),
           quota("TOTAL_LISTENER_QUOTA", limits.listeners_per_load_balancer),
           quota("TOTAL_LISTENER_RULE_QUOTA", limits.rules_per_listener),
           quota("TOTAL_TARGET_BIND_QUOTA", limits.targets_per_rule),
           quota("TOTAL_SNAT_IP_QUOTA", static_cast<std::int64_t>(limits.snat_ips)),
           quota("TOTAL_ISP_CLB_QUOTA", 3), quota("TOTAL_FULL_PORT_RANGE_LISTENER_QUOTA", 1)}}};
}

Answered describe_task_status(Call& call) {
  const std::string id = call.in.has("TaskId") ? call.in.text("TaskId") : call.in.text("DealName");
  if (id.empty()) return refuse("MissingParameter", "One of `TaskId` and `DealName` is needed.");
  const Task* task = call.tasks.find(id);
  if (task == nullptr || task->account != call.account.uin)
    return refuse("InvalidParameter", "Task {} not found", id);
  return Object{
      {"Status", static_cast<int>(task->status)},
      {"LoadBalancerIds", texts_to_json(task->load_balancers)},
      {"Message", task->status == TaskStatus::failed ? Value(*task->fails_with) : Value(nullptr)}};
}

Answered get_user_app_id(Call& call) {
  return Object{
      {"OwnerUin", call.account.uin}, {"Uin", call.account.uin}, {"AppId", call.account.app_id}};
}

Answered tag_resources(Call& call) {
  Array failed;
  for (const std::string& resource : call.in.texts("ResourceList")) {
    const auto it = call.state.load_balancers.find(resource_id(resource));
    if (it == call.state.load_balancers.end() || it->second.account != call.account.uin) {
      failed.push_back(Object{{"Resource", resource},
                              {"Code", "ResourceNotFound"},
                              {"Message", "the resource is not there"}});
      continue;
    }
    for (const Params& tag : call.in.objects("Tags")) {
      std::erase_if(it->second.tags, [&](const Tag& one) { return one.key == tag.text("TagKey"); });
      it->second.tags.push_back({tag.text("TagKey"), tag.text("TagValue")});
    }
  }
  return Object{{"FailedResources", std::move(failed)}};
}

Answered describe_addresses(Call& call) {
  const auto wanted = filter_values(call.in, "instance-id");
  Array out;
  for (const auto& [id, lb] : call.state.load_balancers) {
    if (lb.account != call.account.uin || lb.region != call.region || !is_wanted(wanted, id))
      continue;
    for (const std::string& ip : lb.elastic_ips) out.push_back(encode_address(lb, ip));
  }
  const std::size_t count = out.size();
  return Object{{"TotalCount", count}, {"AddressSet", std::move(out)}};
}

Answered describe_instances(Call& call) {
  const auto ids = call.in.texts("InstanceIds");
  const auto ips = filter_values(call.in, "private-ip-address");
  Array out;
  for (const Instance& one : call.account.instances) {
    if (one.region != call.region || !is_wanted(ids, one.id) || !is_wanted(ips, one.ip)) continue;
    out.push_back(Object{{"InstanceId", one.id},
                         {"InstanceState", "RUNNING"},
                         {"PrivateIpAddresses", Array{Value(one.ip)}},
                         {"VirtualPrivateCloud", Object{{"VpcId", one.vpc_id}}}});
  }
  const std::size_t count = out.size();
  return Object{{"TotalCount", count}, {"InstanceSet", std::move(out)}};
}

Answered describe_certificate(Call& call) {
  const std::string id = call.in.text("CertificateId");
  const auto& known = call.account.certificates;
  if (known && std::ranges::find(*known, id) == known->end())
    return refuse("FailedOperation.CertificateNotFound", "Certificate {} not found", id);
  const auto ends = call.account.certificate_ends.find(id);
  const std::string end(ends == call.account.certificate_ends.end() ? kLastSecond : ends->second);
  const bool over = end < local_time(call.now);
  return Object{{"CertificateId", id},
                {"CertificateType", "SVR"},
                {"CertBeginTime", kFirstSecond},
                {"CertEndTime", end},
                {"Status", over ? kExpired : kIssued}};
}

}  // namespace berth::sim::tencent
