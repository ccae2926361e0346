#include "app/serve.h"

#include "app/server_metrics.h"
#include "base/log.h"
#include "net/server.h"

namespace berth::app {
namespace {

// An admission waits for the API server nearly all of its time, and a few wait for a pool that is
// being filled (admission::kMaxWaitingPods).
constexpr int kWebhookThreads = 64;
// An API server has some hundred calls under way at most, each on a connection of its own. Anybody
// who reaches the port can open connections too, so those that are idle make room.
constexpr std::size_t kMaxWebhookConnections = 512;
// Of all reviews together: 64 KiB for each connection, which is more than most reviews have, and 32
// MiB for large ones, which have 7 MiB at most.
constexpr std::size_t kMaxReviewBytesInFlight = 64u << 20;
// The API server sends a review at once. What is slower would find nobody who waits for the answer.
constexpr Duration kReviewHeaderTimeout = std::chrono::seconds{3};
constexpr Duration kReviewBodyTimeout = std::chrono::seconds{5};
static_assert(kReviewHeaderTimeout + kReviewBodyTimeout <
              std::chrono::seconds{controllers::install::kWebhookTimeoutSeconds});

// The kubelet and a few that scrape; nobody sends a body.
constexpr std::size_t kMaxOpsConnections = 64;
constexpr std::size_t kMaxOpsBytesInFlight = 8u << 20;
constexpr Duration kOpsTimeout = std::chrono::seconds{5};

std::string host_in_url(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

net::ServerCertificate serving_part(const kube::WebhookCertificate& certificate) {
  return {certificate.serving.certificate_pem, certificate.serving.key_pem};
}

Result<std::unique_ptr<net::Server>> start_webhooks(App& app, const Config& config) {
  return net::Server::start(
      {.address = config.webhook_address,
       .port = config.webhook_port,
       .share_port = config.share_webhook_port,
       .certificate =
           std::make_shared<const net::ServerCertificate>(serving_part(*app.certificate())),
       .handler_threads = kWebhookThreads,
       .max_connections = kMaxWebhookConnections,
       .max_bytes_in_flight = kMaxReviewBytesInFlight,
       .header_timeout = kReviewHeaderTimeout,
       .body_timeout = kReviewBodyTimeout},
      [&app](const net::Request& request, const net::Peer&, std::stop_token stop) {
        return app.admit(request, std::move(stop));
      });
}

Result<std::unique_ptr<net::Server>> start_ops(App& app, const Config& config) {
  return net::Server::start({.address = config.ops_address,
                             .port = config.ops_port,
                             .handler_threads = 2,
                             .max_connections = kMaxOpsConnections,
                             .max_bytes_in_flight = kMaxOpsBytesInFlight,
                             .header_timeout = kOpsTimeout,
                             .body_timeout = kOpsTimeout},
                            [&app](const net::Request& request, const net::Peer&, std::stop_token) {
                              return app.health().handle(request);
                            });
}

}  // namespace

Result<> serve(App& app, const Config& config, const Context& context,
               const std::function<void(const Endpoints&)>& on_listening) {
  if (Result<> prepared = app.prepare(context); !prepared) return prepared;
  Result<std::unique_ptr<net::Server>> webhooks = start_webhooks(app, config);
  if (!webhooks) return pass(webhooks);
  Result<std::unique_ptr<net::Server>> ops = start_ops(app, config);
  if (!ops) return pass(ops);

  const auto webhook_numbers = show_server(app.registry(), "webhooks", **webhooks);
  const auto ops_numbers = show_server(app.registry(), "ops", **ops);
  app.on_certificate([&server = **webhooks](const kube::WebhookCertificate& certificate) {
    if (Result<> swapped = server.set_certificate(serving_part(certificate)); !swapped) {
      log_error("renewed certificate not in use", {{"error", swapped.error().to_string()}});
    }
  });
  const Endpoints endpoints{
      .webhooks =
          fmt::format("https://{}:{}", host_in_url(config.webhook_address), (*webhooks)->port()),
      .ops = fmt::format("http://{}:{}", host_in_url(config.ops_address), (*ops)->port())};
  if (config.webhook_service.empty()) {
    app.set_webhook_address({.url = endpoints.webhooks});
  } else {
    app.set_webhook_address(
        {.service_namespace = config.ns, .service_name = config.webhook_service});
  }
  if (on_listening) on_listening(endpoints);
  const Result<> ran = app.run(context);
  app.on_certificate({});
  return ran;
}

}  // namespace berth::app
