// What needs no cluster: the work queue, and admission over TLS.

#include <boost/json.hpp>

#include "base/threads.h"
#include "bench.h"
#include "crypto/certificates.h"
#include "house.h"
#include "kube/admission/router.h"
#include "kube/runtime/work_queue.h"
#include "net/curl_transport.h"

namespace berth::bench {
namespace {

constexpr int kQueueOperations = 1'000'000;
constexpr int kQueueKeys = 1000;
constexpr int kClients = 8;
constexpr int kRequests = 16'000;

Result<std::vector<Line>> work_queue(Environment& environment) {
  ThreadTasks tasks;
  kube::WorkQueue queue(tasks, {});
  std::vector<kube::ObjectKey> keys;
  for (int i = 0; i < kQueueKeys; ++i) keys.push_back({"games", fmt::format("room-{}", i)});
  const Instant begin = tasks.now();
  for (int done = 0; done < kQueueOperations;) {
    for (const auto& key : keys) queue.add(key);
    for (int i = 0; i < kQueueKeys; ++i, ++done) queue.done(*queue.take({}));
  }
  const double ours = kQueueOperations / to_seconds(tasks.now() - begin);
  Result<std::filesystem::path> peers = environment.peers();
  if (!peers) return pass(peers);
  auto theirs = numbers_from(*peers / "clientgo-sync", {"--mode", "workqueue", "--expect",
                                                        fmt::format("{}", kQueueOperations)});
  if (!theirs) return pass(theirs);
  return std::vector<Line>{{"workqueue",
                            "add, take and done of a key, one thread, beside client-go's queue",
                            ours, theirs->at("per_second"), "keys/s", "higher"}};
}

// An admission of a Pod, as kube-apiserver sends it.
std::string review_body() {
  const wire::Object pod{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", wire::Object{{"generateName", "room-"},
                                {"namespace", "games"},
                                {"annotations", wire::Object{{"notes", std::string(600, 'x')}}}}},
      {"spec",
       wire::Object{{"containers", wire::Array{wire::Object{
                                       {"name", "room"}, {"image", "registry.example/room:1"}}}}}}};
  return review_of(pod);
}

struct Load {
  double per_second = 0;
  double p99_ms = 0;
};

// The same client for both servers: what differs is the server.
Result<Load> load(net::Transport& transport, const net::Request& request, int status = 200) {
  ThreadTasks tasks;
  std::vector<double> times(kRequests);
  std::atomic<int> failures{0};
  const Instant begin = tasks.now();
  on_threads(kClients, kRequests, [&](int i) {
    const Instant sent = tasks.now();
    const auto response = transport.call({.tasks = tasks}, request);
    if (!response || response->status != status) ++failures;
    times[static_cast<std::size_t>(i)] = milliseconds(tasks.now() - sent);
  });
  const double seconds = to_seconds(tasks.now() - begin);
  if (failures > 0) return fail(Code::internal, "{} requests failed", failures.load());
  return Load{kRequests / seconds, percentile(std::move(times), 0.99)};
}

// The bound: the same server and bytes with a handler that does nothing.
Result<std::vector<Line>> admission_tls(Environment&) {
  ThreadTasks tasks;
  const WallTime now = tasks.wall_time();
  auto authority = crypto::make_authority({.common_name = "bench",
                                           .not_before = now - std::chrono::hours{1},
                                           .lifetime = std::chrono::hours{2}});
  if (!authority) return pass(authority);
  auto serving = crypto::issue_certificate(*authority, {.common_name = "bench",
                                                        .ip_addresses = {"127.0.0.1"},
                                                        .not_before = now - std::chrono::hours{1},
                                                        .lifetime = std::chrono::hours{2}});
  if (!serving) return pass(serving);
  metrics::Registry registry;
  kube::AdmissionRouter router(tasks, registry);
  router.add(
      "/admit", [](const Context&, const kube::AdmissionRequest&) -> Result<kube::AdmissionAnswer> {
        return kube::AdmissionAnswer{
            .patch = {wire::Object{
                {"op", "add"}, {"path", "/metadata/labels"}, {"value", wire::Object{{"a", "b"}}}}}};
      });
  auto server =
      net::Server::start({.certificate = std::make_shared<const net::ServerCertificate>(
                              net::ServerCertificate{serving->certificate_pem, serving->key_pem})},
                         [&](const net::Request& request, const net::Peer&, std::stop_token stop) {
                           if (request.url == "/nothing") return net::Reply{.body = "{}"};
                           return router.handle(request, std::move(stop));
                         });
  if (!server) return pass(server);
  auto tls = std::make_shared<net::TlsSettings>();
  tls->ca_pem = authority->certificate_pem;
  net::CurlTransport transport;
  net::Request request{.method = "POST",
                       .url = fmt::format("https://127.0.0.1:{}/admit", (*server)->port()),
                       .body = review_body(),
                       .tls = tls};
  auto ours = load(transport, request);
  if (!ours) return pass(ours);
  request.url = fmt::format("https://127.0.0.1:{}/nothing", (*server)->port());
  auto bound = load(transport, request);
  if (!bound) return pass(bound);
  request.url = fmt::format("https://127.0.0.1:{}/forged", (*server)->port());
  auto forged = load(transport, request, 404);
  if (!forged) return pass(forged);
  return std::vector<Line>{
      {"admission-tls",
       "admissions over TLS, 8 clients, beside the same server with an empty handler",
       ours->per_second, bound->per_second, "req/s", "higher"},
      {"admission-tls-p99", "the same, 99th percentile", ours->p99_ms, bound->p99_ms, "ms",
       "lower"},
      {"admission-forged",
       "posts to a path that the webhooks do not have, refused, beside the empty handler",
       forged->per_second, bound->per_second, "req/s", "higher"}};
}

}  // namespace

std::vector<Bench> local_benches() {
  return {{{"workqueue"}, work_queue},
          {{"admission-tls", "admission-tls-p99", "admission-forged"}, admission_tls}};
}

}  // namespace berth::bench
