#include "app/serve.h"

#include "base/log.h"
#include "net/server.h"

namespace berth::app {
namespace {

// An admission waits for the API server nearly all of its time, and a few wait for a pool that is
// being filled (admission::kMaxWaitingPods).
constexpr int kWebhookThreads = 64;

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
       .handler_threads = kWebhookThreads},
      [&app, &config](const net::Request& request, const net::Peer& peer, std::stop_token stop) {
        if (!is_api_server(config, peer)) return app.turn_away();
        return app.admit(request, std::move(stop));
      });
}

Result<std::unique_ptr<net::Server>> start_ops(App& app, const Config& config) {
  return net::Server::start(
      {.address = config.ops_address, .port = config.ops_port, .handler_threads = 2},
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
