// Load balancers, quotas and the calls of other services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/cloud/tencent/setup.h"
#include "sim/cloud/tencent/test_client.h"
#include "wire/yaml.h"

namespace berth::sim::tencent {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using wire::Array;
using wire::Object;

std::int64_t found(TestClient& client, const Object& question) {
  return wire::int_at(client.call("DescribeLoadBalancers", question), "/TotalCount").value_or(-1);
}

Object filter(const char* name, const char* value) {
  return {{"Filters", Array{Object{{"Name", name}, {"Values", Array{value}}}}}};
}

TEST(LoadBalancers, AreFoundByIdNameTagAndKind) {
  TestClient client;
  client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.tags = {{"team", "rooms"}}; });
  client.cloud.add_load_balancer(
      {.id = "lb-other001", .account = kUin, .region = kRegion, .name = "rooms-2", .forward = 0},
      client.now + seconds{1});
  client.cloud.add_load_balancer({.id = "lb-far00001", .account = kUin, .region = "ap-shanghai"},
                                 client.now);
  EXPECT_EQ(found(client, {}), 2);
  EXPECT_EQ(found(client, {{"LoadBalancerIds", Array{kLb, "lb-far00001"}}}), 1);
  EXPECT_EQ(found(client, {{"LoadBalancerIds", Array{"lb-nothere1"}}}), 0);
  EXPECT_EQ(found(client, {{"LoadBalancerName", "rooms"}}), 2);
  EXPECT_EQ(found(client, {{"LoadBalancerName", "rooms-2"}}), 1);
  EXPECT_EQ(found(client, {{"Forward", 1}}), 1);
  EXPECT_EQ(found(client, filter("tag:team", "rooms")), 1);
  EXPECT_EQ(found(client, filter("tag:team", "others")), 0);
  EXPECT_EQ(found(client, filter("tag-key", "team")), 1);
  EXPECT_EQ(client.refused("DescribeLoadBalancers", filter("colour", "red")),
            "InvalidParameterValue.InvalidFilter");
  const wire::Value page = client.call("DescribeLoadBalancers", {{"Offset", 1}, {"Limit", 1}});
  EXPECT_EQ(wire::string_at(page, "/LoadBalancerSet/0/LoadBalancerId"), kLb);  // the older one
  EXPECT_EQ(wire::string_at(page, "/LoadBalancerSet/0/LoadBalancerVips/0"), "203.0.113.7");
}

TEST(LoadBalancers, OneThatIsNotThereMayBeAnError) {
  TestClient client;
  client.cloud.change_settings([](Settings& s) { s.unsure.describing_missing_is_refused = true; });
  EXPECT_EQ(
      client.refused("DescribeLoadBalancers", {{"LoadBalancerIds", Array{kLb, "lb-nothere1"}}}),
      "InvalidParameter.LBIdNotFound");
  EXPECT_EQ(found(client, {{"LoadBalancerIds", Array{kLb}}}), 1);
}

TEST(LoadBalancers, AreMadeAndDeletedByTasks) {
  TestClient client;
  const Object wanted{{"LoadBalancerType", "OPEN"},
                      {"LoadBalancerName", "new"},
                      {"VpcId", "vpc-12345678"},
                      {"Tags", Array{Object{{"TagKey", "a"}, {"TagValue", "b"}}}},
                      {"ClientToken", "once"}};
  const wire::Value first = client.call("CreateLoadBalancer", wanted);
  const std::string id(wire::string_at(first, "/LoadBalancerIds/0"));
  ASSERT_FALSE(id.empty()) << wire::to_json(first);
  EXPECT_FALSE(client.cloud.load_balancer(id)->normal);
  const Object listener{{"LoadBalancerId", id}, {"Ports", Array{80}}, {"Protocol", "TCP"}};
  EXPECT_EQ(client.refused("CreateListener", listener), "FailedOperation.ResourceInOperating");
  const wire::Value again = client.call("CreateLoadBalancer", wanted);
  EXPECT_EQ(wire::string_at(again, "/LoadBalancerIds/0"), id);
  client.now += seconds{10};
  const std::string task(wire::string_at(again, "/RequestId"));
  const wire::Value status = client.call("DescribeTaskStatus", {{"TaskId", task}});
  EXPECT_EQ(wire::int_at(status, "/Status"), 0);
  EXPECT_EQ(wire::string_at(status, "/LoadBalancerIds/0"), id);
  client.done("CreateListener", listener);
  client.done("DeleteLoadBalancer", {{"LoadBalancerIds", Array{wire::Value(id)}}});
  EXPECT_EQ(client.refused("CreateListener", listener), "InvalidParameter.LBIdNotFound");
}

// Its address is in AddressIPv6 alone: who looks at the VIPs first would tell players none, or one
// of the wrong family.
TEST(LoadBalancers, OfIpv6HaveAnAddressOfThatFamily) {
  TestClient client;
  const wire::Value made = client.done(
      "CreateLoadBalancer", {{"LoadBalancerType", "OPEN"}, {"AddressIPVersion", "IPV6"}});
  const std::string id(wire::string_at(made, "/LoadBalancerIds/0"));
  const wire::Value answer =
      client.call("DescribeLoadBalancers", {{"LoadBalancerIds", Array{id.c_str()}}});
  EXPECT_EQ(wire::string_at(answer, "/LoadBalancerSet/0/AddressIPVersion"), "ipv6");
  EXPECT_THAT(wire::string_at(answer, "/LoadBalancerSet/0/AddressIPv6"), StartsWith("2001:db8:"));
  EXPECT_TRUE(wire::array_at(answer, "/LoadBalancerSet/0/LoadBalancerVips")->empty());
}

TEST(LoadBalancers, CreationThatFailsLeavesNothing) {
  TestClient client;
  client.cloud.inject({.kind = FaultKind::fail_task, .action = "CreateLoadBalancer"});
  client.call("CreateLoadBalancer", {{"LoadBalancerType", "OPEN"}, {"Number", 2}});
  EXPECT_EQ(client.cloud.load_balancer_ids().size(), 3u);
  client.cloud.advance(client.now + seconds{10});
  EXPECT_EQ(client.cloud.load_balancer_ids().size(), 1u);
}

TEST(LoadBalancers, CreationIsChecked) {
  TestClient client;
  EXPECT_EQ(client.refused("CreateLoadBalancer", {{"LoadBalancerType", "INTERNAL"}}),
            "MissingParameter");
  EXPECT_EQ(
      client.refused("CreateLoadBalancer", {{"LoadBalancerType", "OPEN"}, {"VipIsp", "CMCC"}}),
      "InvalidParameterCombination");
  EXPECT_EQ(client.refused("CreateLoadBalancer", {{"LoadBalancerType", "OPEN"}, {"Number", 21}}),
            "InvalidParameterValue.Range");
  client.cloud.edit_account(kUin, [](Account& account) { account.domain_only = true; });
  EXPECT_EQ(client.message("CreateLoadBalancer", {{"LoadBalancerType", "OPEN"}}),
            "only suport domain clb");
  client.cloud.edit_account(kUin, [](Account& account) { account.domain_only = false; });
  client.cloud.change_settings([](Settings& s) { s.limits.public_load_balancers = 1; });
  EXPECT_EQ(client.refused("CreateLoadBalancer", {{"LoadBalancerType", "OPEN"}}), "LimitExceeded");
}

TEST(LoadBalancers, DeletionIsGuarded) {
  TestClient client;
  client.cloud.add_listener(kLb, {.port = 80, .rules = {{.targets = std::vector<Target>(20)}}});
  const Object all{{"LoadBalancerIds", Array{kLb}}};
  EXPECT_EQ(client.refused("DeleteLoadBalancer", all), "FailedOperation.TargetNumCheckRisk");
  client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.delete_protect = true; });
  Object forced = all;
  forced["ForceDelete"] = true;
  EXPECT_EQ(client.refused("DeleteLoadBalancer", forced), "OperationDenied");
  client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.delete_protect = false; });
  client.done("DeleteLoadBalancer", forced);
  EXPECT_FALSE(client.cloud.load_balancer(kLb));
}

TEST(LoadBalancers, HaveTenAddressesForTranslation) {
  TestClient client;
  const auto ips = [](int count) {
    return Object{{"LoadBalancerId", kLb},
                  {"SnatIps", Array{Object{{"SubnetId", "subnet-1"}}}},
                  {"Number", count}};
  };
  EXPECT_EQ(client.refused("CreateLoadBalancerSnatIps", ips(1)), "UnsupportedOperation");
  client.done("ModifyLoadBalancerAttributes", {{"LoadBalancerId", kLb}, {"SnatPro", true}});
  client.done("CreateLoadBalancerSnatIps", ips(10));
  EXPECT_EQ(client.refused("CreateLoadBalancerSnatIps", ips(1)), "LimitExceeded");
  const std::string ip = client.cloud.load_balancer(kLb)->snat_ips.front();
  client.done("DeleteLoadBalancerSnatIps", {{"LoadBalancerId", kLb}, {"Ips", Array{ip.c_str()}}});
  EXPECT_EQ(client.cloud.load_balancer(kLb)->snat_ips.size(), 9u);
}

TEST(Quotas, AllHaveALimitAndTheirDocumentedNames) {
  TestClient client;
  const wire::Value answer = client.call("DescribeQuota");
  std::set<std::string> names;
  for (const wire::Value& quota : *wire::array_at(answer, "/QuotaSet")) {
    EXPECT_TRUE(wire::int_at(quota, "/QuotaLimit"));
    names.emplace(wire::string_at(quota, "/QuotaId"));
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"TOTAL_OPEN_CLB_QUOTA", "TOTAL_INTERNAL_CLB_QUOTA",
                                   "TOTAL_LISTENER_QUOTA", "TOTAL_LISTENER_RULE_QUOTA",
                                   "TOTAL_TARGET_BIND_QUOTA", "TOTAL_SNAT_IP_QUOTA",
                                   "TOTAL_ISP_CLB_QUOTA", "TOTAL_FULL_PORT_RANGE_LISTENER_QUOTA"}));
}

TEST(OtherServices, AnswerWhatControllersAsk) {
  TestClient client;
  client.cloud.edit_account(kUin, [](Account& account) {
    account.instances = {{"ins-near0001", kRegion, "vpc-12345678", "10.0.0.9"}};
  });
  client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.elastic_ips = {"198.51.100.1"}; });
  const auto on = [&](const char* service, const char* version) {
    client.service = service;
    client.host = std::string(service) + ".tencentcloudapi.com";
    client.version = version;
  };
  on("cam", "2019-01-16");
  EXPECT_EQ(wire::string_at(client.call("GetUserAppId"), "/OwnerUin"), kUin);
  on("vpc", "2017-03-12");
  const wire::Value addresses = client.call("DescribeAddresses", filter("instance-id", kLb));
  EXPECT_EQ(wire::string_at(addresses, "/AddressSet/0/AddressIp"), "198.51.100.1");
  on("cvm", "2017-03-12");
  const wire::Value machines =
      client.call("DescribeInstances", filter("private-ip-address", "10.0.0.9"));
  EXPECT_EQ(wire::string_at(machines, "/InstanceSet/0/InstanceId"), "ins-near0001");
  on("tag", "2018-08-13");
  client.call("TagResources",
              {{"ResourceList", Array{"qcs::clb:ap-guangzhou:uin/1:clb/lb-room0001"}},
               {"Tags", Array{Object{{"TagKey", "k"}, {"TagValue", "v"}}}}});
  EXPECT_EQ(client.cloud.load_balancer(kLb)->tags.size(), 1u);
  on("ssl", "2019-12-05");
  const wire::Value certificate = client.call("DescribeCertificate", {{"CertificateId", "x"}});
  EXPECT_EQ(wire::int_at(certificate, "/Status"), 1);
  EXPECT_EQ(wire::string_at(certificate, "/CertEndTime"), "2035-12-31 23:59:59");
}

// A controller that watches over expiry asks for what listeners name, also for authorities.
TEST(OtherServices, TellWhenACertificateEnds) {
  TestClient client;
  client.cloud.edit_account(kUin, [](Account& account) {
    account.certificates = {"forever", "soon"};
    account.certificate_ends["soon"] = "2026-06-01 07:59:59";
  });
  client.service = "ssl";
  client.host = "ssl.tencentcloudapi.com";
  client.version = "2019-12-05";
  client.region = "";
  const wire::Value soon = client.call("DescribeCertificate", {{"CertificateId", "soon"}});
  EXPECT_EQ(wire::string_at(soon, "/CertEndTime"), "2026-06-01 07:59:59");
  EXPECT_EQ(wire::int_at(soon, "/Status"), 1);
  client.now += std::chrono::days{4};
  EXPECT_EQ(
      wire::int_at(client.call("DescribeCertificate", {{"CertificateId", "soon"}}), "/Status"), 3);
  EXPECT_EQ(client.refused("DescribeCertificate", {{"CertificateId", "nothere"}}),
            "FailedOperation.CertificateNotFound");
}

TEST(Setup, OfAFile) {
  const auto document = wire::parse_yaml(R"(
accounts: [{uin: "7", portRanges: false, certificateEnds: [{id: c, at: "2026-06-01 07:59:59"}],
            networks: [{region: ap-tokyo, vpc: vpc-1, cidr: 10.0.0.0/8}]}]
keys: [{secretId: A, secretKey: B, account: "7", policy: [guide]}]
loadBalancers: [{id: lb-one, account: "7", region: ap-tokyo, tags: [{key: a, value: b}]},
                {id: lb-in, account: "7", region: ap-tokyo, type: INTERNAL, elasticIps: ["198.51.100.1"]},
                {id: lb-six, account: "7", region: ap-tokyo, vips: ["2001:db8::6"]}]
settings: {taskMs: 10, batchTargetsAreTasks: false}
faults: [{kind: lose_reply, action: CreateListener, count: 2}]
health: [{ip: 10.0.0.1, port: 80, is: dead}]
)");
  ASSERT_TRUE(document) << document.error().to_string();
  auto setup = read_setup(*document);
  ASSERT_TRUE(setup) << setup.error().to_string();
  EXPECT_FALSE(setup->accounts[0].port_ranges);
  EXPECT_EQ(setup->accounts[0].certificate_ends.at("c"), "2026-06-01 07:59:59");
  EXPECT_THAT(setup->load_balancers[1].elastic_ips, ElementsAre("198.51.100.1"));
  EXPECT_EQ(setup->load_balancers[2].ip_version, "ipv6");
  EXPECT_EQ(setup->keys[0].policy, guide_policy());
  EXPECT_EQ(setup->settings.tasks.usual, std::chrono::milliseconds{10});
  EXPECT_FALSE(setup->settings.unsure.batch_targets_are_tasks);
  EXPECT_EQ(setup->faults[0].count, 2);
  EXPECT_EQ(setup->health[0].health, Health::dead);
  const auto cloud = make_cloud(std::move(*setup), WallTime{});
  EXPECT_EQ(cloud->load_balancer("lb-one")->tags[0].value, "b");
}

TEST(Setup, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"colour: red", "settings: {taskMs: soon}", "[]",
                           "keys: [{secretId: A, account: B}]", "faults: [{kind: quake}]"}) {
    const auto document = wire::parse_yaml(text);
    ASSERT_TRUE(document) << text;
    EXPECT_FALSE(read_setup(*document)) << text;
  }
}

}  // namespace
}  // namespace berth::sim::tencent
