#include "app/server_metrics.h"

#include <gmock/gmock.h>

namespace berth::app {
namespace {

using ::testing::HasSubstr;

TEST(ServerMetrics, EachServerHasItsNumbersWhileItLives) {
  metrics::Registry registry;
  const auto server = net::Server::start(
      {}, [](const net::Request&, const net::Peer&, std::stop_token) { return net::Reply{}; });
  ASSERT_TRUE(server);
  const auto hook = show_server(registry, "webhooks", **server);
  (void)registry.text();
  const std::string text = registry.text();
  for (const std::string name :
       {"connections_open", "request_bytes_in_flight", "requests_total",
        "connections_refused_total", "connections_evicted_total", "requests_shed_total"})
    EXPECT_THAT(text, HasSubstr("berth_http_" + name + "{server=\"webhooks\"} 0\n"));
}

}  // namespace
}  // namespace berth::app
