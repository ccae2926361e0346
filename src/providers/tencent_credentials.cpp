#include "providers/tencent_credentials.h"

#include <boost/json.hpp>
#include <map>

#include "base/encoding.h"
#include "cloud/tencent/credential_texts.h"
#include "cloud/tencent/followed_credentials.h"
#include "module/namespace_config.h"

namespace berth::providers {
namespace {

using cloud::tencent::FollowedCredentials;
using crypto::CloudCredentials;
using kube::ObjectKey;
using wire::Value;

// An editor may write a file in place.
constexpr Duration kHalfWritten = std::chrono::seconds{10};
constexpr Duration kFilePeriod = std::chrono::seconds{2};
// An API server that takes longer is not there; the call to the cloud has its time, too.
constexpr Duration kReadWithin = std::chrono::seconds{5};
// Namespaces whose keys are remembered. Beyond, all are read anew.
constexpr std::size_t kMaxNamespaces = 4096;

std::string about(const ObjectKey& secret) { return "Secret " + secret.to_string(); }

// What bcs-ingress-controller reads where a namespace has no Secret.
std::string about_config(const ObjectKey& config) {
  return "ControllerConfig " + config.to_string();
}

// `entries`: where they are in the object, "/data" of a Secret.
Result<std::optional<Secret>> entry_of(const Value& object, std::string_view entries,
                                       std::string_view name) {
  const std::string_view encoded =
      wire::string_at(object, fmt::format("{}/{}", entries, wire::escape_pointer_step(name)));
  if (encoded.empty()) return std::optional<Secret>();
  Result<std::string> bytes = base64_decode(encoded);
  if (!bytes) {
    return fail(error_of(Code::forbidden, "it is not base64")
                    .at(std::string(name))
                    .with_hint("echo -n \"<SecretKey>\" | base64, or write the text itself under "
                               "stringData"));
  }
  return std::optional(Secret(std::move(*bytes)));
}

Result<CloudCredentials> credentials_in(const Value& object, std::string_view entries,
                                        std::string about) {
  Result<CloudCredentials> out = cloud::tencent::credentials_from(
      [&](std::string_view name) { return entry_of(object, entries, name); });
  if (!out) return fail(std::move(out.error()).about(std::move(about)));
  return out;
}

Result<CloudCredentials> credentials_in(const Value& secret, const ObjectKey& key) {
  return credentials_in(secret, "/data", about(key));
}

// People see it on Listeners and pools: it says what is to be done.
Error unreadable(Error error, const ObjectKey& key) {
  error.object = about(key);
  if (error.code == Code::not_found) {
    error.message = "it does not exist, and keys of Tencent are read from it";
    error.hint = fmt::format(
        "kubectl -n {} create secret generic {} --from-literal=TENCENTCLOUD_ACCESS_KEY_ID=... "
        "--from-literal=TENCENTCLOUD_ACESS_KEY=...",
        key.ns, key.name);
  } else if (error.code == Code::forbidden) {
    error.hint =
        "give the controller's service account `get` on this Secret: `berth manifests` with the "
        "same options prints it";
  }
  return error;
}

// Nobody has that kind, or rights to it, who has not used it with the controller before us.
bool is_absent(const Error& config) {
  return config.code == Code::not_found || config.code == Code::forbidden ||
         config.code == Code::unsupported;
}

// The Secret of one namespace, or the ControllerConfig in its place. When a namespace goes, its
// Secret goes with the rest, and what its Listeners have at the cloud must still be removed: so
// what was read last is used as long as the same namespace is on its way out, and for nobody who
// comes after it.
class NamespaceSecret {
 public:
  NamespaceSecret(kube::Client& client, std::string ns)
      : client_(client),
        key_{std::move(ns), std::string(module::kNamespaceSecret)},
        config_{key_.ns, std::string(module::kNamespaceConfig)} {}

  Result<CloudCredentials> read(const Context& outer) {
    const Context context = outer.within(kReadWithin);
    Result<Value> secret = client_.get(context, kube::types::kSecret, key_);
    if (!secret && secret.error().code == Code::not_found) {
      Result<Value> config = client_.get(context, module::controller_config_type(), config_);
      if (config)
        return take(context, *config,
                    credentials_in(*config, "/spec/secret", about_config(config_)));
      if (!is_absent(config.error())) return pass(config);
      if (std::optional<CloudCredentials> last = of_the_leaving(context)) return std::move(*last);
    }
    if (!secret) return fail(unreadable(std::move(secret.error()), key_));
    return take(context, *secret, credentials_in(*secret, key_));
  }

 private:
  Result<CloudCredentials> take(const Context& context, const Value& object,
                                Result<CloudCredentials> read) {
    if (read) remember(context, wire::string_at(object, "/metadata/resourceVersion"), *read);
    return read;
  }

  struct Remembered {
    std::string version{};  // of the Secret
    std::string namespace_uid{};
    CloudCredentials credentials{};
  };

  void remember(const Context& context, std::string_view version, const CloudCredentials& read) {
    {
      const MutexLock lock(mu_);
      if (remembered_.version == version) return;
    }
    const Result<Value> ns = client_.get(context, kube::types::kNamespace, {"", key_.ns});
    if (!ns) return;  // at the next look
    const MutexLock lock(mu_);
    remembered_ = {std::string(version), std::string(wire::string_at(*ns, "/metadata/uid")), read};
  }

  std::optional<CloudCredentials> of_the_leaving(const Context& context) {
    const Result<Value> ns = client_.get(context, kube::types::kNamespace, {"", key_.ns});
    if (!ns || wire::string_at(*ns, "/metadata/deletionTimestamp").empty()) return std::nullopt;
    const MutexLock lock(mu_);
    if (remembered_.version.empty()) return std::nullopt;
    if (wire::string_at(*ns, "/metadata/uid") != remembered_.namespace_uid) return std::nullopt;
    return remembered_.credentials;
  }

  kube::Client& client_;
  const ObjectKey key_;
  const ObjectKey config_;
  Mutex mu_;
  Remembered remembered_ GUARDED_BY(mu_);
};

class Credentials final : public cloud::tencent::CredentialSource {
 public:
  Credentials(net::Transport& transport, std::shared_ptr<const kube::ClusterConfig> cluster,
              TencentCredentials sources)
      : client_(transport, std::move(cluster)),
        sources_(std::move(sources)),
        own_(read_own(), own_options()) {}

  Result<CloudCredentials> credentials(const Context& context,
                                       const model::CredentialId& id) override {
    if (id.empty()) return own_.get(context);
    if (!sources_.of_namespaces) {
      return fail(error_of(Code::forbidden, "keys of namespace '{}' are not read", id.value)
                      .with_hint("see --is-namespace-scope of the controller"));
    }
    return followed(id)->get(context);
  }

 private:
  FollowedCredentials::Read read_own() {
    if (!sources_.file.empty()) return cloud::tencent::credentials_in_file(sources_.file);
    if (sources_.secret.empty()) return [this](const Context&) { return given(); };
    return [this, key = ObjectKey{sources_.ns, sources_.secret}](
               const Context& context) -> Result<CloudCredentials> {
      Result<Value> secret = client_.get(context.within(kReadWithin), kube::types::kSecret, key);
      if (!secret) return fail(unreadable(std::move(secret.error()), key));
      return credentials_in(*secret, key);
    };
  }

  Result<CloudCredentials> given() const {
    if (Result<> good = cloud::tencent::check_credentials(sources_.given); !good) return pass(good);
    return sources_.given;
  }

  FollowedCredentials::Options own_options() const {
    if (!sources_.file.empty())
      return {.period = kFilePeriod, .grace = kHalfWritten, .name = sources_.file};
    if (sources_.secret.empty()) return {.name = "environment"};
    return {.name = about({sources_.ns, sources_.secret})};
  }

  std::shared_ptr<FollowedCredentials> followed(const model::CredentialId& id) {
    const MutexLock lock(mu_);
    if (const auto it = of_namespaces_.find(id); it != of_namespaces_.end()) return it->second;
    if (of_namespaces_.size() >= kMaxNamespaces) of_namespaces_.clear();
    const auto secret = std::make_shared<NamespaceSecret>(client_, id.value);
    const auto out = std::make_shared<FollowedCredentials>(
        [secret](const Context& context) { return secret->read(context); },
        FollowedCredentials::Options{.name =
                                         about({id.value, std::string(module::kNamespaceSecret)})});
    of_namespaces_.emplace(id, out);
    return out;
  }

  kube::Client client_;
  const TencentCredentials sources_;
  FollowedCredentials own_;
  Mutex mu_;
  std::map<model::CredentialId, std::shared_ptr<FollowedCredentials>> of_namespaces_
      GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<cloud::tencent::CredentialSource> tencent_credentials(
    net::Transport& transport, std::shared_ptr<const kube::ClusterConfig> cluster,
    TencentCredentials sources) {
  return std::make_shared<Credentials>(transport, std::move(cluster), std::move(sources));
}

}  // namespace berth::providers
