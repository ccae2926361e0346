#include "sim/kube/account_tokens.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "base/encoding.h"
#include "crypto/digest.h"
#include "sim/kube/object_meta.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Who issues tokens, and whom they are for unless the request says otherwise.
constexpr std::string_view kIssuer = "https://kubernetes.default.svc";
constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr std::int64_t kDefaultSeconds = 3600;
constexpr std::int64_t kLeastSeconds = 600;
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;
const GroupResource kAccounts{"", "serviceaccounts"};

Kind make_token_request_kind() {
  Kind kind;
  kind.group = "authentication.k8s.io";
  kind.plural = "tokenrequests";
  kind.kind = "TokenRequest";
  kind.list_kind = "TokenRequestList";
  kind.versions = {{.name = "v1", .columns = builtin_columns("TokenRequest")}};
  return kind;
}

std::int64_t unix_seconds(WallTime at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

std::int64_t seconds_of(const Value& object) {
  return wire::int_at(object, "/spec/expirationSeconds").value_or(kDefaultSeconds);
}

// The request as its sender means it, and owns its fields.
Outcome<Value> decode_request(const WriteRequest& request) {
  const ServedKind& served = token_request_kind();
  Outcome<Value> object =
      decode_body(request.http.body, request.http.headers.get("Content-Type"), served);
  if (!object) return object;
  Outcome<> fine = settle(*object, served, UnknownFields::ignore, false, request.warnings);
  if (!fine) return refuse(fine);
  Value& spec = object->get_object()["spec"];
  if (!spec.is_object()) spec.emplace_object();
  spec.get_object()["expirationSeconds"] = seconds_of(*object);
  track_update(nullptr, *object,
               {.served = served,
                .manager = request.writer().manager,
                .subresource = request.info.subresource,
                .now = request.now});
  return object;
}

// The account gives the metadata that is missing, and the server the audience.
Outcome<> complete(Value& object, const Value& account, WallTime now) {
  Object& metadata = metadata_of(object);
  for (const char* key : {"name", "namespace", "uid"}) {
    metadata[key] = *wire::find(account, "/metadata/" + std::string(key));
  }
  metadata["creationTimestamp"] = format_rfc3339(now);
  Object& fields = object.get_object()["spec"].get_object();
  const Array* audiences = wire::array_at(object, "/spec/audiences");
  if (audiences == nullptr || audiences->empty()) fields["audiences"] = Array{kIssuer};
  const std::int64_t seconds = seconds_of(object);
  if (!fields.contains("boundObjectRef")) fields["boundObjectRef"] = nullptr;
  const auto defect = [&](std::string_view why) {
    return refuse(invalid({"authentication.k8s.io", "TokenRequest"}, {},
                          {invalid_value("spec.expirationSeconds", Value(seconds), why)}));
  };
  if (seconds < kLeastSeconds) return defect("may not specify a duration less than 10 minutes");
  if (seconds > kMostSeconds) return defect("may not specify a duration larger than 2^32 seconds");
  return {};
}

// Name, namespace and uid in the body, where it has them, must be the account's.
Outcome<> check_metadata(const WriteRequest& request, const Value& object) {
  const GroupResource about{"authentication.k8s.io", "TokenRequest"};
  for (const auto& [key, own] :
       {std::pair{"name", &request.info.name}, std::pair{"namespace", &request.info.ns}}) {
    const std::string_view given = wire::string_at(object, fmt::format("/metadata/{}", key));
    if (given.empty() || given == *own) continue;
    return refuse(invalid(
        about, request.info.name,
        {invalid_value(fmt::format("metadata.{}", key), Value(given),
                       fmt::format("must match the service account {} if specified", key))}));
  }
  return {};
}

Outcome<> check_account_uid(const Value& object, const Value& account) {
  const std::string_view given = wire::string_at(object, "/metadata/uid");
  const std::string_view own = wire::string_at(account, "/metadata/uid");
  if (given.empty() || given == own) return {};
  return refuse(conflict({"authentication.k8s.io", "TokenRequest"}, name_of(account),
                         fmt::format("the UID in the token request ({}) does not match the UID of "
                                     "the service account ({})",
                                     given, own)));
}

Object reference_to(const Value& object) {
  return {{"name", name_of(object)}, {"uid", wire::string_at(object, "/metadata/uid")}};
}

// The claims between the two dots of a token.
std::optional<Value> decode_claims(std::string_view part) {
  std::string text(part);
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  text.resize((text.size() + 3) / 4 * 4, '=');
  const Result<std::string> json = base64_decode(text);
  if (!json) return std::nullopt;
  Result<Value> claims = wire::parse_json(*json);
  if (!claims) return std::nullopt;
  return std::move(*claims);
}

}  // namespace

const ServedKind& token_request_kind() {
  static const KindPtr kKind = std::make_shared<const Kind>(make_token_request_kind());
  static const ServedKind kServed{kKind, &kKind->versions.front()};
  return kServed;
}

Outcome<Value> AccountTokens::issue(const WriteRequest& request) {
  if (request.info.verb != "create") return refuse(method_not_allowed());
  Outcome<Value> object = decode_request(request);
  if (!object) return object;
  const std::string& ns = request.info.ns;
  const std::string& name = request.info.name;
  MutexLock lock(core_.mu);
  Outcome<> fine = check_namespace(core_, request.kind(), ns, name);
  if (fine) fine = check_metadata(request, *object);
  if (!fine) return refuse(fine);
  const ObjectPtr account = core_.storage.find(kAccounts, storage_key(ns, name));
  if (account == nullptr) return refuse(not_found(kAccounts, name));
  fine = check_account_uid(*object, *account);
  if (fine) fine = complete(*object, *account, request.now);
  if (!fine) return refuse(fine);
  const Value* reference = wire::find(*object, "/spec/boundObjectRef");
  Outcome<Object> bound = bound_claims(ns, name, *reference);
  if (!bound) return refuse(bound);

  const std::int64_t seconds = seconds_of(*object);
  (*bound)["namespace"] = ns;
  (*bound)["serviceaccount"] = reference_to(*account);
  const std::int64_t issued = unix_seconds(request.now);
  const Value claims = Object{{"aud", *wire::find(*object, "/spec/audiences")},
                              {"exp", issued + seconds},
                              {"iat", issued},
                              {"iss", kIssuer},
                              {"jti", random_uid(core_.random)},
                              {"kubernetes.io", std::move(*bound)},
                              {"nbf", issued},
                              {"sub", fmt::format("system:serviceaccount:{}:{}", ns, name)}};
  const std::string text =
      base64url_encode(kHeader) + "." + base64url_encode(wire::to_json(claims));
  object->get_object()["status"] =
      Object{{"token", text + "." + signature_of(text)},
             {"expirationTimestamp", format_rfc3339(request.now + std::chrono::seconds{seconds})}};
  return object;
}

Outcome<Object> AccountTokens::bound_claims(const std::string& ns, std::string_view account,
                                            const Value& reference) const {
  if (reference.is_null()) return Object{};
  const std::string_view kind = wire::string_at(reference, "/kind");
  const std::string_view version = wire::string_at(reference, "/apiVersion");
  const std::string_view name = wire::string_at(reference, "/name");
  const bool pod = kind == "Pod";
  const bool node = kind == "Node";
  const bool core = version.find('/') == std::string_view::npos;
  if (!core || !(pod || node || kind == "Secret")) {
    return refuse(bad_request(fmt::format("cannot bind token to object of type {}{}, Kind={}",
                                          core ? "/" : "", version, kind)));
  }
  const GroupResource resource{"", pod ? "pods" : node ? "nodes" : "secrets"};
  const ObjectPtr found = core_.storage.find(resource, storage_key(node ? "" : ns, name));
  if (found == nullptr) return refuse(not_found(resource, name));
  if (pod && wire::string_at(*found, "/spec/serviceAccountName") != account) {
    return refuse(
        bad_request(fmt::format("cannot bind token for serviceaccount \"{}\" to pod running with "
                                "different serviceaccount name.",
                                account)));
  }
  const std::string_view uid = wire::string_at(reference, "/uid");
  if (!uid.empty() && uid != wire::string_at(*found, "/metadata/uid")) {
    return refuse(conflict({"", std::string(kind)}, name,
                           fmt::format("the UID in the bound object reference ({}) does not match "
                                       "the UID in record. The object might have been deleted and "
                                       "then recreated",
                                       uid)));
  }
  return Object{{pod ? "pod" : node ? "node" : "secret", reference_to(*found)}};
}

std::string AccountTokens::signature_of(std::string_view text) const {
  return base64url_encode(crypto::hmac_sha256(key_, text));
}

bool AccountTokens::still_there(std::string_view kind, std::string_view ns,
                                const Value* claim) const {
  if (claim == nullptr) return true;
  const GroupResource resource{"", std::string(kind)};
  const ObjectPtr found =
      core_.storage.find(resource, storage_key(ns, wire::string_at(*claim, "/name")));
  return found != nullptr &&
         wire::string_at(*found, "/metadata/uid") == wire::string_at(*claim, "/uid");
}

std::optional<User> AccountTokens::bearer(std::string_view token, WallTime now) const {
  const std::size_t dot = std::min(token.find('.'), token.size());
  const std::size_t last = token.rfind('.');
  if (last == std::string_view::npos || last == dot) return std::nullopt;
  const std::string_view text = token.substr(0, last);
  if (!crypto::constant_time_equal(token.substr(last + 1), signature_of(text))) return std::nullopt;
  const std::optional<Value> claims = decode_claims(text.substr(dot + 1));
  if (!claims || wire::int_at(*claims, "/exp").value_or(0) <= unix_seconds(now)) {
    return std::nullopt;
  }
  const Array* audiences = wire::array_at(*claims, "/aud");
  if (audiences == nullptr || std::ranges::find(*audiences, Value(kIssuer)) == audiences->end()) {
    return std::nullopt;
  }
  const Value& about = *wire::find(*claims, "/kubernetes.io");
  const std::string ns(wire::string_at(about, "/namespace"));
  const Value* account = wire::find(about, "/serviceaccount");
  MutexLock lock(core_.mu);
  if (!still_there("serviceaccounts", ns, account) ||
      !still_there("pods", ns, wire::find(about, "/pod")) ||
      !still_there("secrets", ns, wire::find(about, "/secret")) ||
      !still_there("nodes", {}, wire::find(about, "/node"))) {
    return std::nullopt;
  }
  return User{.name = std::string(wire::string_at(*claims, "/sub")),
              .groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns},
              .uid = std::string(wire::string_at(*account, "/uid"))};
}

}  // namespace berth::sim::kube
