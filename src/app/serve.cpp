#include "app/serve.h"

#include <algorithm>

#include "app/forwarding.h"
#include "app/leader_address.h"
#include "app/leader_only.h"
#include "app/server_metrics.h"
#include "base/log.h"
#include "net/curl_transport.h"
#include "net/server.h"
#include "net/url.h"

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

// A request that is handed on waits in a thread for the leader, kForwardDeadline at most.
constexpr int kModuleThreads = 32;
// Of the leader, for those of all other replicas.
constexpr int kForwardedThreads = 64;
// A leader that is well takes a connection at once.
constexpr net::CurlTransportOptions kTransportToLeader{
    .max_response_bytes = kMaxForwardedReplyBytes,
    .connect_timeout = std::chrono::seconds{2},
    .never_twice = true};

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

// What has the port is not ours to look for.
Result<std::unique_ptr<net::Server>> started(Result<std::unique_ptr<net::Server>> server,
                                             std::string_view flag) {
  if (server) return server;
  return fail(
      std::move(server.error())
          .with_hint(fmt::format("stop what has the port, or choose another with {}", flag)));
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

// The HTTP servers of modules, and what brings requests to the leader.
class ModuleServers {
 public:
  ModuleServers(App& app, const Config& config, Tasks& tasks)
      : app_(app), config_(config), tasks_(tasks), to_leader_(kTransportToLeader) {}

  // Each is reached where health is: by those who are in the cluster.
  Result<> start(Endpoints& endpoints) {
    const auto needs_leader = [](const ModuleServer& one) { return one.is.leader_only; };
    if (std::ranges::any_of(app_.servers(), needs_leader))
      if (Result<> started = start_forwarded(endpoints); !started) return started;
    for (const ModuleServer& one : app_.servers()) {
      net::Handler handler =
          one.is.leader_only
              ? leader_only(one.answer, leads(), forward_to_leader(seams(), one.is.name))
              : one.answer;
      Result<std::string> url = run(one.is.name,
                                    {.address = config_.ops_address,
                                     .port = one.is.port,
                                     .handler_threads = kModuleThreads,
                                     .max_body_bytes = one.is.max_body_bytes},
                                    std::move(handler));
      if (!url) return pass(url);
      endpoints.servers[one.is.name] = "http://" + *url;
    }
    return {};
  }

  // Connections from now on are made with it.
  Result<> set_certificate(const kube::WebhookCertificate& certificate) {
    return forwarded_ ? forwarded_->set_certificate(serving_part(certificate)) : Result<>();
  }

 private:
  Result<> start_forwarded(Endpoints& endpoints) {
    Result<std::string> host = advertised_address(config_.advertise_address, config_.ops_address);
    if (!host) return fail(std::move(host.error()).about("--advertise-address"));
    std::size_t largest_body = 0;
    for (const ModuleServer& one : app_.servers())
      largest_body = std::max(largest_body, one.is.max_body_bytes);
    net::ServerOptions options{.address = config_.ops_address,
                               .port = config_.forward_port,
                               .certificate = std::make_shared<const net::ServerCertificate>(
                                   serving_part(*app_.certificate())),
                               .handler_threads = kForwardedThreads,
                               .max_body_bytes = largest_body};
    options.max_header_bytes += kForwardHeaderBytes;
    Result<std::string> url =
        run("forwarded", std::move(options),
            take_forwarded(app_.servers(), leads(), [&app = app_] { return app.keys(); }));
    if (!url) return pass(url);
    forwarded_ = servers_.back().get();
    endpoints.forwarded = "https://" + *url;
    if (host->empty()) {
      log_warn("other replicas cannot reach this one when it leads: it has no address to say",
               {{"listening", config_.ops_address}, {"hint", "--advertise-address or POD_IP"}});
    } else {
      app_.set_own_address(net::join_host_port(*host, forwarded_->port()));
    }
    return {};
  }

  // Where it listens: "127.0.0.1:8090".
  Result<std::string> run(const std::string& name, net::ServerOptions options,
                          net::Handler handler) {
    Result<std::unique_ptr<net::Server>> started =
        net::Server::start(std::move(options), std::move(handler));
    if (!started) return fail(std::move(started.error()).about("server " + name));
    numbers_.push_back(show_server(app_.registry(), name, **started));
    servers_.push_back(std::move(*started));
    return net::join_host_port(config_.ops_address, servers_.back()->port());
  }

  std::function<bool()> leads() {
    return [&app = app_] { return app.leading(); };
  }

  LeaderSeams seams() {
    return {.tasks = tasks_,
            .transport = to_leader_,
            .address = [&app = app_] { return app.leader_address(); },
            .tls = [&app = app_]() -> std::shared_ptr<const net::TlsSettings> {
              const auto certificate = app.certificate();
              if (!certificate) return nullptr;
              net::TlsSettings settings;
              settings.ca_pem = certificate->ca_bundle;
              settings.server_name = app.certificate_name();
              return std::make_shared<const net::TlsSettings>(std::move(settings));
            },
            .keys = [&app = app_] { return app.keys(); },
            .registry = app_.registry()};
  }

  App& app_;
  const Config& config_;
  Tasks& tasks_;
  net::CurlTransport to_leader_;
  // Servers end first: their handlers use the rest.
  std::vector<metrics::ScrapeHook> numbers_;
  std::vector<std::unique_ptr<net::Server>> servers_;
  net::Server* forwarded_ = nullptr;
};

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
    if (prepared.error().code == Code::forbidden) {
      return fail(Error(prepared.error())
                      .with_hint("apply what `berth manifests` of this version prints: it has the "
                                 "roles and the service account"));
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

OwnServers own_servers(std::string api_server, const Endpoints& endpoints) {
  OwnServers out{
      .api_server = std::move(api_server), .webhooks = endpoints.webhooks, .ops = endpoints.ops};
  for (const auto& [name, url] : endpoints.servers) out.others.push_back(url);
  if (!endpoints.forwarded.empty()) out.others.push_back(endpoints.forwarded);
  return out;
}

Result<> serve(App& app, const Config& config, const Context& context,
               const std::function<void(const Endpoints&)>& on_listening,
               const std::function<void(const std::string& ops)>& on_health) {
  Result<std::unique_ptr<net::Server>> ops = started(start_ops(app, config), "--ops-port");
  if (!ops) return pass(ops);
  const std::string ops_url =
      fmt::format("http://{}:{}", host_in_url(config.ops_address), (*ops)->port());
  if (on_health) on_health(ops_url);
  if (Result<> prepared = prepare_when_served(app, context); !prepared) {
    // Told to stop while it waited: nothing was begun.
    return prepared.error().code == Code::stopped ? Result<>() : prepared;
  }
  Result<std::unique_ptr<net::Server>> webhooks =
      started(start_webhooks(app, config), "--webhook-port");
  if (!webhooks) return pass(webhooks);

  Endpoints endpoints{.ops = ops_url};
  ModuleServers of_modules(app, config, context.tasks);
  if (Result<> started = of_modules.start(endpoints); !started) return started;

  const auto webhook_numbers = show_server(app.registry(), "webhooks", **webhooks);
  const auto ops_numbers = show_server(app.registry(), "ops", **ops);
  app.on_certificate(
      [&server = **webhooks, &of_modules](const kube::WebhookCertificate& certificate) {
        Result<> swapped = server.set_certificate(serving_part(certificate));
        if (swapped) swapped = of_modules.set_certificate(certificate);
        if (!swapped) {
          log_error("renewed certificate not in use", {{"error", swapped.error().to_string()}});
        }
      });
  endpoints.webhooks =
      fmt::format("https://{}:{}", host_in_url(config.webhook_address), (*webhooks)->port());
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
