#include "sim/cloud/tencent/https_frontend.h"

#include "crypto/certificates.h"
#include "net/url.h"

namespace berth::sim::tencent {
namespace {

constexpr Duration kLifetime = std::chrono::hours{24 * 365};
// Clocks of peers may lag behind ours.
constexpr Duration kBackdated = std::chrono::hours{1};
constexpr std::size_t kMaxBody = 11u << 20;  // the API itself refuses more than 10 MB
constexpr int kGatewayTimeout = 504;
constexpr int kHandlerThreads = 64;  // an answer that comes late holds one

}  // namespace

Result<std::unique_ptr<HttpsFrontend>> HttpsFrontend::start(Tasks& tasks, Cloud& cloud,
                                                            HttpsOptions options) {
  std::unique_ptr<HttpsFrontend> out(new HttpsFrontend(tasks, cloud, std::move(options)));
  if (Result<> listening = out->listen(); !listening) return pass(listening);
  return out;
}

Result<> HttpsFrontend::listen() {
  const WallTime from = tasks_.wall_time() - kBackdated;
  Result<crypto::KeyPair> authority = crypto::make_authority(
      {.common_name = "berth-sim-tencent", .not_before = from, .lifetime = kLifetime});
  if (!authority) return pass(authority);
  ca_pem_ = authority->certificate_pem;
  // The names of the real endpoints too, for clients that are led here by a resolver.
  Result<crypto::KeyPair> own = crypto::issue_certificate(
      *authority, {.common_name = "tencentcloudapi.com",
                   .dns_names = {"localhost", "*.tencentcloudapi.com",
                                 "*.internal.tencentcloudapi.com", "*.test.tencentcloudapi.com"},
                   .ip_addresses = {options_.address},
                   .not_before = from,
                   .lifetime = kLifetime});
  if (!own) return pass(own);
  net::ServerOptions http;
  http.address = options_.address;
  http.port = options_.port;
  http.handler_threads = kHandlerThreads;
  http.max_body_bytes = kMaxBody;
  http.certificate = std::make_shared<const net::ServerCertificate>(
      net::ServerCertificate{own->certificate_pem, own->key_pem});
  auto started = net::Server::start(
      std::move(http), [this](const net::Request& request, const net::Peer&, std::stop_token stop) {
        return handle(request, std::move(stop));
      });
  if (!started) return pass(started);
  server_ = std::move(*started);
  return {};
}

net::Reply HttpsFrontend::handle(const net::Request& request, std::stop_token stop) {
  net::Reply reply = cloud_.handle(request, tasks_.wall_time());
  if (options_.before_answer) options_.before_answer(stop);
  if (is_lost(reply)) {
    sleep_for(tasks_, options_.lost_after, stop);
    return {.status = kGatewayTimeout};
  }
  if (options_.round_trip > Duration{}) sleep_for(tasks_, options_.round_trip, stop);
  return reply;
}

std::string HttpsFrontend::host() const {
  return net::join_host_port(options_.address, server_->port());
}

std::string HttpsFrontend::url() const { return "https://" + host(); }

}  // namespace berth::sim::tencent
