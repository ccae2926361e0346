#include "sim/kube/https_frontend.h"

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>

#include "base/context.h"
#include "base/encoding.h"
#include "crypto/digest.h"
#include "net/url.h"
#include "wire/value.h"
#include "wire/yaml.h"

namespace berth::sim::kube {

namespace {

constexpr Duration kLifetime = std::chrono::hours{24 * 365};
// Clocks of peers may lag behind ours.
constexpr Duration kBackdated = std::chrono::hours{1};
constexpr std::size_t kTokenKeyBytes = 32;
constexpr Duration kTick = std::chrono::seconds{1};

class TransportCaller final : public WebhookCaller {
 public:
  TransportCaller(Tasks& tasks, net::Transport* transport, ServiceResolver resolve, int max_waiting)
      : tasks_(tasks),
        transport_(transport),
        resolve_(std::move(resolve)),
        max_waiting_(max_waiting) {}

  Result<net::Response> call(const WebhookTarget& target, const std::string& body,
                             Duration timeout) override {
    if (transport_ == nullptr) return fail(Code::unavailable, "webhooks cannot be reached");
    const Waiting waiting(waiting_);
    if (waiting.number > max_waiting_) {
      return fail(Code::throttled, "{} requests wait for webhooks", max_waiting_);
    }
    Result<std::string> url = url_of(target);
    if (!url) return pass(url);
    auto tls = std::make_shared<net::TlsSettings>();
    tls->ca_pem = target.ca_pem;
    if (!target.service_name.empty()) {
      tls->server_name = target.service_name + "." + target.service_namespace + ".svc";
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
    const char joint = url->find('?') == std::string::npos ? '?' : '&';
    net::Request request{
        .method = "POST",
        .url = fmt::format("{}{}timeout={}s", *url, joint, seconds),
        .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json, */*"}},
        .body = body,
        .tls = std::move(tls)};
    const Context context{.tasks = tasks_, .stop = stop_.get_token()};
    Result<net::Response> response = transport_->call(context.within(timeout), request);
    if (response || response.error().code != Code::timeout) return response;
    return fail(Code::timeout, "Post \"{}\": context deadline exceeded", request.url);
  }
  void stop() { stop_.request_stop(); }

 private:
  Result<std::string> url_of(const WebhookTarget& target) const {
    if (!target.url.empty()) return target.url;
    const auto base =
        resolve_ ? resolve_(target.service_namespace, target.service_name, target.service_port)
                 : std::nullopt;
    if (!base) {
      return fail(Code::unavailable, "service \"{}\" not found", target.service_name);
    }
    return net::join_path(*base, target.service_path);
  }

  struct Waiting {
    explicit Waiting(std::atomic<int>& all) : count(all), number(++all) {}
    ~Waiting() { --count; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    std::atomic<int>& count;
    const int number;  // this one included
  };

  Tasks& tasks_;
  net::Transport* const transport_;
  const ServiceResolver resolve_;
  const int max_waiting_;
  std::atomic<int> waiting_ = 0;
  std::stop_source stop_;
};

}  // namespace

class HttpsFrontend::Impl {
 public:
  Impl(Tasks& tasks, HttpsOptions options)
      : tasks_(tasks),
        address_(options.address),
        caller_(tasks, options.transport, std::move(options.resolve_service),
                std::max(1, options.handler_threads / 2)),
        server_(with_caller(std::move(options.server)), tasks.wall_time()) {}

  ~Impl() {
    caller_.stop();
    // Ended watches let the server's connections end.
    server_.drop_watches();
    http_.reset();
  }

  Result<> start(const HttpsOptions& options) {
    const WallTime from = tasks_.wall_time() - kBackdated;
    Result<crypto::KeyPair> authority = crypto::make_authority(
        {.common_name = "berth-embedded", .not_before = from, .lifetime = kLifetime});
    if (!authority) return pass(authority);
    authority_ = std::move(*authority);
    Result<crypto::KeyPair> own = crypto::issue_certificate(
        authority_,
        {.common_name = "kube-apiserver",
         .dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
         .ip_addresses = {address_},
         .not_before = from,
         .lifetime = kLifetime});
    if (!own) return pass(own);
    net::ServerOptions http;
    http.address = address_;
    http.port = options.port;
    http.handler_threads = options.handler_threads;
    http.client_ca_pem = authority_.certificate_pem;
    http.certificate = std::make_shared<const net::ServerCertificate>(
        net::ServerCertificate{own->certificate_pem, own->key_pem});
    auto started = net::Server::start(
        std::move(http), [this](const net::Request& request, const net::Peer& peer,
                                std::stop_token stop) { return handle(request, peer, stop); });
    if (!started) return pass(started);
    http_ = std::move(*started);
    ticker_ = tasks_.spawn("kube-tick", [this](std::stop_token stop) {
      while (sleep_for(tasks_, kTick, stop)) server_.tick(tasks_.wall_time());
    });
    return {};
  }

  net::Reply handle(const net::Request& request, const net::Peer& peer, std::stop_token stop) {
    Answer answer = server_.handle(request, peer, tasks_.wall_time());
    if (answer.delay > Duration{}) sleep_for(tasks_, answer.delay, stop);
    return std::move(answer.reply);
  }

  Result<crypto::KeyPair> issue_client(const std::string& user,
                                       const std::vector<std::string>& groups) const {
    return crypto::issue_certificate(authority_, {.common_name = user,
                                                  .organizations = groups,
                                                  .not_before = tasks_.wall_time() - kBackdated,
                                                  .lifetime = kLifetime,
                                                  .client = true});
  }

  Server& server() { return server_; }
  std::uint16_t port() const { return http_->port(); }
  std::string url() const { return "https://" + net::join_host_port(address_, port()); }
  const std::string& ca_pem() const { return authority_.certificate_pem; }

 private:
  ServerOptions with_caller(ServerOptions options) {
    options.webhooks = &caller_;
    if (options.token_key.empty()) options.token_key = crypto::random_bytes(kTokenKeyBytes);
    return options;
  }

  Tasks& tasks_;
  const std::string address_;
  TransportCaller caller_;
  Server server_;
  crypto::KeyPair authority_;
  std::unique_ptr<Task> ticker_;
  std::unique_ptr<net::Server> http_;
};

Result<std::unique_ptr<HttpsFrontend>> HttpsFrontend::start(Tasks& tasks, HttpsOptions options) {
  auto impl = std::make_unique<Impl>(tasks, options);
  if (Result<> started = impl->start(options); !started) return pass(started);
  return std::unique_ptr<HttpsFrontend>(new HttpsFrontend(std::move(impl)));
}

HttpsFrontend::HttpsFrontend(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpsFrontend::~HttpsFrontend() = default;

Server& HttpsFrontend::server() { return impl_->server(); }
std::uint16_t HttpsFrontend::port() const { return impl_->port(); }
std::string HttpsFrontend::url() const { return impl_->url(); }
const std::string& HttpsFrontend::ca_pem() const { return impl_->ca_pem(); }

Result<crypto::KeyPair> HttpsFrontend::issue_client(const std::string& user,
                                                    const std::vector<std::string>& groups) const {
  return impl_->issue_client(user, groups);
}

Result<std::string> HttpsFrontend::kubeconfig(const std::string& user,
                                              const std::vector<std::string>& groups) const {
  Result<crypto::KeyPair> client = issue_client(user, groups);
  if (!client) return pass(client);
  using wire::Array;
  using wire::Object;
  const wire::Value config = Object{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "berth"},
      {"clusters",
       Array{Object{{"name", "berth"},
                    {"cluster", Object{{"server", url()},
                                       {"certificate-authority-data", base64_encode(ca_pem())}}}}}},
      {"contexts",
       Array{Object{{"name", "berth"}, {"context", Object{{"cluster", "berth"}, {"user", user}}}}}},
      {"users",
       Array{Object{
           {"name", user},
           {"user", Object{{"client-certificate-data", base64_encode(client->certificate_pem)},
                           {"client-key-data", base64_encode(client->key_pem.reveal())}}}}}}};
  return wire::to_yaml(config);
}

}  // namespace berth::sim::kube
