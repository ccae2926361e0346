#include "webhook_host.h"

#include <boost/json.hpp>

#include <fmt/format.h>

#include "base/encoding.h"
#include "crypto/certificates.h"
#include "net/url.h"

namespace berth::parity {
namespace {

using wire::Object;
using wire::Value;

constexpr Duration kLifetime = std::chrono::hours{24};
constexpr Duration kBackdated = std::chrono::hours{1};
// Calls that wait for their scripted time each hold a thread.
constexpr int kHandlerThreads = 32;

Value response_of(const Value& script, const Value& call) {
  const Object* given = wire::object_at(script, "/response");
  Object response = given == nullptr ? Object{{"allowed", true}} : *given;
  if (!response.contains("uid")) response["uid"] = wire::string_at(call, "/request/uid");
  if (Value* patch = response.if_contains("patch"); patch != nullptr && patch->is_array()) {
    *patch = base64_encode(wire::to_json(*patch));
    response["patchType"] = "JSONPatch";
  }
  return response;
}

std::string body_of(const Value& script, const Value& call) {
  if (const Value* raw = wire::find(script, "/raw")) return std::string(raw->as_string());
  Object review{{"apiVersion", "admission.k8s.io/v1"},
                {"kind", "AdmissionReview"},
                {"response", response_of(script, call)}};
  if (const Object* other = wire::object_at(script, "/review")) {
    for (const auto& member : *other) review[member.key()] = member.value();
  }
  return wire::to_json(review);
}

}  // namespace

Result<std::unique_ptr<WebhookHost>> WebhookHost::start(Tasks& tasks) {
  std::unique_ptr<WebhookHost> host(new WebhookHost(tasks));
  if (Result<> listening = host->listen(); !listening) return pass(listening);
  return host;
}

WebhookHost::~WebhookHost() = default;

Result<> WebhookHost::listen() {
  const WallTime from = tasks_.wall_time() - kBackdated;
  auto authority = crypto::make_authority(
      {.common_name = "parity-webhooks", .not_before = from, .lifetime = kLifetime});
  if (!authority) return pass(authority);
  ca_pem_ = authority->certificate_pem;
  auto own = crypto::issue_certificate(*authority, {.common_name = "webhooks",
                                                    .ip_addresses = {"127.0.0.1"},
                                                    .not_before = from,
                                                    .lifetime = kLifetime});
  if (!own) return pass(own);
  net::ServerOptions options;
  options.handler_threads = kHandlerThreads;
  options.drain = std::chrono::seconds{1};
  options.certificate = std::make_shared<const net::ServerCertificate>(
      net::ServerCertificate{own->certificate_pem, own->key_pem});
  auto http = net::Server::start(std::move(options),
                                 [this](const net::Request& request, const net::Peer&,
                                        std::stop_token stop) { return handle(request, stop); });
  if (!http) return pass(http);
  http_ = std::move(*http);
  url_ = fmt::format("https://127.0.0.1:{}", http_->port());
  return {};
}

void WebhookHost::script(const std::string& path, Value answer) {
  MutexLock lock(mu_);
  hooks_[path].answer = std::move(answer);
}

std::vector<Value> WebhookHost::take_calls(const std::string& path) {
  MutexLock lock(mu_);
  return std::exchange(hooks_[path].calls, {});
}

void WebhookHost::forget_calls(std::string_view prefix) {
  MutexLock lock(mu_);
  for (auto& [path, hook] : hooks_) {
    if (path.starts_with(prefix)) hook.calls.clear();
  }
}

net::Reply WebhookHost::handle(const net::Request& request, std::stop_token stop) {
  const net::Target target = net::split_target(request.url);
  Result<Value> call = wire::parse_json(request.body);
  if (!call) return {.status = 400, .body = call.error().message};
  Value script;
  {
    MutexLock lock(mu_);
    Hook& hook = hooks_[std::string(target.path)];
    hook.calls.push_back(Object{{"query", target.query}, {"review", *call}});
    script = hook.answer;
  }
  if (const auto after = wire::int_at(script, "/after")) {
    sleep_for(tasks_, std::chrono::seconds{*after}, stop);
  }
  const std::string_view type = wire::string_at(script, "/type");
  return {.status = static_cast<int>(wire::int_at(script, "/status").value_or(200)),
          .headers = {{"Content-Type", std::string(type.empty() ? "application/json" : type)}},
          .body = body_of(script, *call)};
}

}  // namespace berth::parity
