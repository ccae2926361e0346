#include "api/pod_ports.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

using model::Protocol;

PortRequest request(std::string_view line) {
  auto parsed = parse_port_requests(line, "games");
  EXPECT_TRUE(parsed) << parsed.error().to_string();
  return parsed && parsed->size() == 1 ? parsed->front() : PortRequest{};
}

TEST(PortRequests, LinesAndSemicolons) {
  const auto lines = parse_port_requests("rooms TCP 8000\npool2.shared UDP 9000\n\n", "games");
  ASSERT_TRUE(lines) << lines.error().to_string();
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].pool, (kube::ObjectKey{"games", "rooms"}));
  EXPECT_EQ((*lines)[1].pool, (kube::ObjectKey{"shared", "pool2"}));
  EXPECT_EQ((*lines)[1].protocols, std::vector{Protocol::udp});
  EXPECT_EQ((*lines)[1].port, 9000);
  EXPECT_EQ(parse_port_requests("rooms TCP 1;rooms TCP 2;", "games").value().size(), 2u);
}

TEST(PortRequests, EveryFormOfALine) {
  const PortRequest two = request("rooms 8000");
  EXPECT_TRUE(two.protocols.empty()) << "the container's";
  EXPECT_EQ(two.port, 8000);
  EXPECT_TRUE(two.item.empty());

  const PortRequest pinned = request("rooms/item1.shared TCP_UDP game/HostPort");
  EXPECT_EQ(pinned.pool, (kube::ObjectKey{"shared", "rooms"}));
  EXPECT_EQ(pinned.item, "item1");
  EXPECT_EQ(pinned.protocols, (std::vector{Protocol::tcp, Protocol::udp}));
  EXPECT_EQ(pinned.port_name, "game");
  EXPECT_TRUE(pinned.host_port);

  EXPECT_EQ(request("rooms/item1 UDP 1").item, "item1");
  EXPECT_EQ(request("rooms TCP_SSL 443").protocols, std::vector{Protocol::tls});
  EXPECT_EQ(request("rooms TCP 80-tcp").port_name, "80-tcp");
}

TEST(PortRequests, RefusalsQuoteTheLine) {
  const auto message = [](std::string_view text) {
    const auto result = parse_port_requests(text, "games");
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(message("rooms"), "'rooms': has 1 words, not 2 or 3");
  EXPECT_EQ(message("rooms TCP"),
            "'rooms TCP': port 'TCP' is neither 1-65535 nor a container port's name");
  EXPECT_EQ(message("rooms SCTP 1"),
            "'rooms SCTP 1': protocol 'SCTP' is not one of TCP, UDP, TCP_UDP, TCP_SSL");
  EXPECT_EQ(message("rooms TCP 0"),
            "'rooms TCP 0': port '0' is neither 1-65535 nor a container port's name");
  EXPECT_EQ(message("a.b.c TCP 1"), "'a.b.c TCP 1': pool 'a.b.c' has more than one '.'");
  EXPECT_EQ(message("a/b/c TCP 1"), "'a/b/c TCP 1': pool 'a/b/c' has more than one '/'");
  EXPECT_EQ(message("a.b/c TCP 1"), "'a.b/c TCP 1': pool 'a.b/c' has its '/' behind the '.'");
  EXPECT_EQ(message("a/ TCP 1"), "'a/ TCP 1': pool 'a/' has no item behind the '/'");
  EXPECT_EQ(message("a. TCP 1"), "'a. TCP 1': pool 'a.' has no namespace behind the '.'");
  EXPECT_EQ(message("rooms TCP /hostport"),
            "'rooms TCP /hostport': port '' is neither 1-65535 nor a container port's name");
  EXPECT_EQ(message("rooms SSL 443"),
            "'rooms SSL 443': protocol 'SSL' is not one of TCP, UDP, TCP_UDP, TCP_SSL");
  EXPECT_EQ(message(""), "'': asks for no port");
  EXPECT_EQ(message(";;"), "';;': asks for no port");
  EXPECT_EQ(parse_port_requests("x", "games").error().field,
            "metadata.annotations[ports.portpools.networkextension.bkbcs.tencent.com]");
}

TEST(PortRequests, LinesAreBounded) {
  std::string text;
  for (std::size_t i = 0; i < kMaxPortRequests; ++i) text += "rooms TCP 80\n";
  EXPECT_TRUE(parse_port_requests(text, "games"));
  const auto more = parse_port_requests(text + "rooms TCP 81\n", "games");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "'rooms TCP 81': is one more than the 64 allowed lines");
}

// As the users' guide prints the file that a Pod reads.
TEST(PoolBindings, AreWrittenAsUsersHaveAlwaysReadThem) {
  const std::vector<PortBindingItem> bindings{
      {.pool_name = "test-pool1",
       .pool_namespace = "test",
       .load_balancer_ids = {"lb-00001"},
       .pool_item_load_balancers = {{.name = "test-nj-loadtest-public1",
                                     .id = "lb-00001",
                                     .region = "ap-nanjing",
                                     .type = "OPEN",
                                     .ips = {"1.1.1.1"}}},
       .pool_item_name = "item1",
       .protocol = "TCP",
       .start_port = 31001,
       .rs_start_port = 80}};
  const std::string text = encode_pool_bindings(bindings);
  EXPECT_EQ(
      text,
      R"([{"poolName":"test-pool1","poolNamespace":"test","loadBalancerIDs":["lb-00001"],"poolItemLoadBalancers":[{"loadbalancerName":"test-nj-loadtest-public1","loadbalancerID":"lb-00001","region":"ap-nanjing","type":"OPEN","ips":["1.1.1.1"]}],"poolItemName":"item1","protocol":"TCP","startPort":31001,"endPort":0,"rsStartPort":80}])");
  const auto back = decode_pool_bindings(text);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(*back, bindings);
}

TEST(PoolBindings, EveryFieldStandsInItsPlace) {
  PortBindingItem item{.pool_name = "p",
                       .pool_namespace = "n",
                       .load_balancer_ids = {"l"},
                       .listener_attribute = ListenerAttribute{.session_time = 30},
                       .pool_item_load_balancers = {{.ips = {"::1"},
                                                     .dns_name = "lb.example.com",
                                                     .scheme = "internal",
                                                     .aws_lb_type = "network"}},
                       .pool_item_name = "i",
                       .protocol = "UDP",
                       .start_port = 100,
                       .end_port = 104,
                       .rs_start_port = 7,
                       .host_port = true,
                       .external = "x"};
  item.uptime_check.text = std::string(R"({"enabled":true})");
  const std::string text = encode_pool_bindings({item});
  EXPECT_EQ(
      text,
      R"([{"poolName":"p","poolNamespace":"n","loadBalancerIDs":["l"],"listenerAttribute":{"sessionTime":30},"uptimeCheck":{"enabled":true},"poolItemLoadBalancers":[{"ips":["::1"],"dnsName":"lb.example.com","scheme":"internal","awsLBType":"network"}],"poolItemName":"i","protocol":"UDP","startPort":100,"endPort":104,"rsStartPort":7,"hostPort":true,"external":"x"}])");
  EXPECT_EQ(decode_pool_bindings(text).value(), std::vector{item});
  EXPECT_EQ(public_address(item), "[::1],lb.example.com:100-104");
  EXPECT_EQ(ports_of(item), (model::PortRange{100, 104}));
}

TEST(PoolBindings, PartsThatAreKeptAsTheyAreAreEqualInAnySpelling) {
  const auto read = [](std::string_view check) {
    return decode_pool_bindings(fmt::format(
        R"([{{"protocol":"TCP","startPort":1,"rsStartPort":1,"uptimeCheck":{}}}])", check));
  };
  const auto one = read("{\"a\\u0008\": 1.0}");
  const auto other = read("{ \"a\\b\":1 }");
  ASSERT_TRUE(one && other);
  EXPECT_EQ(*one, *other);
}

TEST(PoolBindings, GarbageIsAnErrorThatNamesTheAnnotation) {
  for (const char* bad :
       {"", "{}", "[{}]", "[{\"protocol\":\"X\"}]", "nonsense", "[1]", "[],\"x\":[]",
        R"([{"protocol":"TCP","startPort":70000,"rsStartPort":1}])",
        R"([{"protocol":"TCP","startPort":9,"endPort":8,"rsStartPort":1}])",
        R"([{"protocol":"TCP","startPort":"9","rsStartPort":1}])"}) {
    const auto result = decode_pool_bindings(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_NE(result.error().field.find("poolbindings.portpool"), std::string::npos);
  }
}

TEST(PoolBindings, APortWithTlsIsToldAsItIsWritten) {
  const PortBindingItem told =
      told_of({"games", "rooms"}, {.item_name = "i", .load_balancer_ids = {"lb-1"}}, Protocol::tls,
              {443, 443}, {.port = 8000});
  EXPECT_EQ(told.protocol, "TCP_SSL");
  const auto read = decode_pool_bindings(encode_pool_bindings({told}));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(lock_of(read->front()), (kube::ObjectKey{"games", "lb-1-tcpssl-443"}));
  EXPECT_FALSE(decode_pool_bindings(R"([{"protocol":"TLS","startPort":1,"rsStartPort":1}])"));
}

}  // namespace
}  // namespace berth::api
