#include "app/serve.h"

#include "app/leader_only.h"
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
              std::chrono::seconds{module::kWebhookTimeoutSeconds});

// The kubelet and a few that scrape; nobody sends a body.
constexpr std::size_t kMaxOpsConnections = 64;
constexpr std::size_t kMaxOpsBytesInFlight = 8u << 20;
constexpr Duration kOpsTimeout = std::chrono::seconds{5};

// Between two attempts to begin, and between two lines that speak of it.
constexpr Duration kStartRetry = std::chrono::seconds{1};
constexpr Duration kStartReport = std::chrono::minutes{1};

std::string host_in_url(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

net::ServerCertificate serving_part(const kube::WebhookCertificate& certificate) {
  return {certificate.serving.certificate_pem, certificate.serving.key_pem};
}

// Without a client's certificate TLS says nothing of it; one without a name is nobody's.
bool is_api_server(const Config& config, const net::Peer& peer) {
  if (config.webhook_client_ca.empty()) return true;
  const std::string& name = peer.certificate_common_name;
  return !name.empty() &&
         (config.webhook_client_name.empty() || name == config.webhook_client_name);
}

Result<std::unique_ptr<net::Server>> start_webhooks(App& app, const Config& config) {
  return net::Server::start(
      {.address = config.webhook_address,
       .port = config.webhook_port,
       .share_port = config.share_webhook_port,
       .certificate =
           std::make_shared<const net::ServerCertificate>(serving_part(*app.certificate())),
       .client_ca_pem = config.webhook_client_ca,
       .handler_threads = kWebhookThreads,
       .max_connections = kMaxWebhookConnections,
       .max_bytes_in_flight = kMaxReviewBytesInFlight,
       .header_timeout = kReviewHeaderTimeout,
       .body_timeout = kReviewBodyTimeout},
      [&app, &config](const net::Request& request, const net::Peer& peer, std::stop_token stop) {
        if (!is_api_server(config, peer)) return app.turn_away();
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

// Each is reached where health is: by those who are in the cluster.
Result<std::vector<std::unique_ptr<net::Server>>> start_servers(App& app, const Config& config) {
  std::vector<std::unique_ptr<net::Server>> out;
  for (const module::HttpServer& one : app.servers()) {
    net::Handler handler = one.handler;
    if (one.leader_only)
      handler = leader_only(std::move(handler), [&app] { return app.leading(); });
    Result<std::unique_ptr<net::Server>> started =
        net::Server::start({.address = config.ops_address, .port = one.port}, std::move(handler));
    if (!started) return fail(std::move(started.error()).about(one.name));
    out.push_back(std::move(*started));
  }
  return out;
}

// The server does not answer, or has no time: it may in a moment. Anything else is for a person.
bool may_pass(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::timeout ||
         error.code == Code::throttled;
}

// Ending would help nobody: the next start finds the same.
Result<> prepare_when_served(App& app, const Context& context) {
  const Instant begun = context.tasks.now();
  Instant next_report = begun;
  for (;;) {
    const Result<> prepared = app.prepare(context);
    if (prepared) {
      if (next_report > begun) log_info("the API server answers", {});
      return {};
    }
    if (!may_pass(prepared.error()) || context.expired()) return prepared;
    const Instant now = context.tasks.now();
    if (now >= next_report) {
      log_warn("waiting for the API server",
               {{"for_seconds", fmt::format("{:.0f}", to_seconds(now - begun))},
                {"error", prepared.error().to_string()}});
      next_report = saturating_add(now, kStartReport);
    }
    if (!sleep_for(context.tasks, kStartRetry, context.stop)) return fail(context.end_error());
  }
}

}  // namespace

Result<> serve(App& app, const Config& config, const Context& context,
               const std::function<void(const Endpoints&)>& on_listening,
               const std::function<void(const std::string& ops)>& on_health) {
  Result<std::unique_ptr<net::Server>> ops = start_ops(app, config);
  if (!ops) return pass(ops);
  const std::string ops_url =
      fmt::format("http://{}:{}", host_in_url(config.ops_address), (*ops)->port());
  if (on_health) on_health(ops_url);
  if (Result<> prepared = prepare_when_served(app, context); !prepared) {
    // Told to stop while it waited: nothing was begun.
    return prepared.error().code == Code::stopped ? Result<>() : prepared;
  }
  Result<std::unique_ptr<net::Server>> webhooks = start_webhooks(app, config);
  if (!webhooks) return pass(webhooks);

  const auto of_modules = start_servers(app, config);
  if (!of_modules) return fail(of_modules.error());

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
      .ops = ops_url};
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
