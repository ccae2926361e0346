#include "both_servers.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>

#include "base/encoding.h"
#include "base/file.h"
#include "sim/kube/request_info.h"

namespace berth::parity {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr Duration kLifetime = std::chrono::hours{24};
constexpr Duration kBackdated = std::chrono::hours{1};
// Where kube-apiserver notes how far it has compacted; its watch caches look there.
constexpr std::string_view kCompactedKey = "compact_rev_key";
// Who shows a client certificate, and which groups it names.
const std::string kCarol = "carol";
const std::vector<std::string> kCrew{"crew"};

// The embedded server has no RBAC. This is what the rules of a new cluster amount to for users
// that nobody has granted anything.
bool allowed_by_default(const sim::kube::User& user, const sim::kube::RequestInfo& request) {
  if (request.is_resource || (request.verb != "get" && request.verb != "head")) return false;
  const bool health = request.path == "/healthz" || request.path == "/livez" ||
                      request.path == "/readyz" || request.path == "/version";
  const bool discovery = request.path.starts_with("/api") || request.path.starts_with("/openapi");
  return health || (discovery && user.name != "system:anonymous");
}

}  // namespace

Result<std::unique_ptr<BothServers>> BothServers::start() {
  auto both = std::make_unique<BothServers>();
  auto hooks = WebhookHost::start(both->tasks_);
  if (!hooks) return pass(hooks);
  both->hooks_ = std::move(*hooks);
  if (Result<> started = both->start_real(); !started) return pass(started);
  if (Result<> started = both->start_embedded(); !started) return pass(started);
  return both;
}

BothServers::~BothServers() {
  if (!scratch_.empty()) std::filesystem::remove(scratch_);
}

Peer& BothServers::add_peer(std::string name, std::string server, const std::string& ca_pem) {
  Peer peer{.name = name,
            .transport = transport_,
            .server = std::move(server),
            .identities = {},
            .hooks = *hooks_,
            .compact = {}};
  auto tls = std::make_shared<net::TlsSettings>();
  tls->ca_pem = ca_pem;
  peer.identities["nobody"] = {.tls = tls};
  peer.identities["impostor"] = {.tls = tls, .bearer_token = Secret("wrong")};
  peer.identities["admin"] = {.tls = tls, .bearer_token = Secret(real_->admin_token())};
  peer.identities["plain-user"] = {.tls = tls, .bearer_token = Secret(real_->user_token())};
  return peers_.emplace(std::move(name), std::move(peer)).first->second;
}

void BothServers::add_certificate(Peer& peer, const std::string& who, const crypto::KeyPair& pair) {
  auto tls = std::make_shared<net::TlsSettings>(*peer.identities.at("nobody").tls);
  tls->cert_pem = pair.certificate_pem;
  tls->key_pem = pair.key_pem;
  peer.identities[who] = {.tls = std::move(tls)};
}

Result<> BothServers::start_real() {
  const WallTime from = tasks_.wall_time() - kBackdated;
  auto authority = crypto::make_authority(
      {.common_name = "parity-clients", .not_before = from, .lifetime = kLifetime});
  if (!authority) return pass(authority);
  scratch_ = std::filesystem::temp_directory_path() / fmt::format("berth-parity-{}", ::getpid());
  if (auto written = write_file(scratch_, authority->certificate_pem, 0600); !written) {
    return written;
  }
  auto real = testing::ControlPlane::start({.api_server_args = {"--client-ca-file=" + scratch_}});
  if (!real) return fail(Code::unavailable, "{}", real.error());
  real_ = std::move(*real);
  Peer& peer = add_peer("real", real_->url(), real_->ca_pem());
  peer.compact = [this](const Context& context) { return compact_real(context); };
  auto carol = crypto::issue_certificate(*authority, {.common_name = kCarol,
                                                      .organizations = kCrew,
                                                      .not_before = from,
                                                      .lifetime = kLifetime,
                                                      .client = true});
  if (!carol) return pass(carol);
  add_certificate(peer, kCarol, *carol);
  return {};
}

Result<> BothServers::start_embedded() {
  sim::kube::HttpsOptions options{.transport = &transport_};
  options.server.access.authorizer = allowed_by_default;
  options.server.access.tokens = {
      {real_->admin_token(), {"admin", {"system:masters"}, "admin-uid"}},
      {real_->user_token(), {std::string(testing::ControlPlane::kUserName), {}, "user-uid"}}};
  auto embedded = sim::kube::HttpsFrontend::start(tasks_, std::move(options));
  if (!embedded) return pass(embedded);
  embedded_ = std::move(*embedded);
  Peer& peer = add_peer("embedded", embedded_->url(), embedded_->ca_pem());
  peer.compact = [this](const Context&) -> Result<> {
    embedded_->server().compact();
    return {};
  };
  auto carol = embedded_->issue_client(kCarol, kCrew);
  if (!carol) return pass(carol);
  add_certificate(peer, kCarol, *carol);
  return {};
}

Result<Value> BothServers::etcd(const Context& context, std::string_view path, const Value& body) {
  const net::Request request{
      .method = "POST", .url = real_->etcd_url() + std::string(path), .body = wire::to_json(body)};
  auto response = transport_.call(context, request);
  if (!response) return pass(response);
  if (response->status != 200) return fail(Code::internal, "etcd says {}", response->body);
  return wire::parse_json(response->body);
}

Result<> BothServers::compact_real(const Context& context) {
  auto status = etcd(context, "/v3/maintenance/status", Object{});
  if (!status) return pass(status);
  const std::string revision(wire::string_at(*status, "/header/revision"));
  auto noted =
      etcd(context, "/v3/kv/put",
           Object{{"key", base64_encode(kCompactedKey)}, {"value", base64_encode(revision)}});
  if (!noted) return pass(noted);
  auto done =
      etcd(context, "/v3/kv/compaction", Object{{"revision", revision}, {"physical", true}});
  if (!done) return pass(done);
  return {};
}

Result<std::vector<std::string>> BothServers::transcript(bool real, const Value& steps,
                                                         int number) {
  const Context context{.tasks = tasks_};
  const std::string ns = fmt::format("parity-{}", number);
  const Variables variables{{"ns", ns}, {"group", fmt::format("g{}.parity.berth.dev", number)}};
  const Peer& peer = peers_.at(real ? "real" : "embedded");
  const Value make_namespace = Array{Object{{"do", "POST /api/v1/namespaces"},
                                            {"body", Object{{"metadata", Object{{"name", ns}}}}}}};
  if (auto made = run_case(context, peer, make_namespace, variables); !made) return made;
  return run_case(context, peer, steps, variables);
}

}  // namespace berth::parity
