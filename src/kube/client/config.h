// Where the API server is and who we are: read from kubeconfig files or from inside a cluster.
//
// A ClusterConfig is immutable and shared; credentials that change over time (token files, exec
// plugins, certificate files) live behind Credentials, which is thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/secret.h"
#include "net/http.h"

namespace berth::kube {

// What one request shows: TLS settings (with a client certificate, if any) and a bearer token, if
// any.
struct Identity {
  std::shared_ptr<const net::TlsSettings> tls{};
  Secret bearer_token{};
  std::string basic_user{};
  Secret basic_password{};
};

class Credentials {
 public:
  virtual ~Credentials() = default;
  virtual Result<Identity> identity(const Context& context) = 0;
  // The server answered 401 to this identity: fetch a new one next time if that is possible.
  virtual void rejected(const Identity& identity) = 0;
};

struct ClusterConfig {
  std::string server{};     // "https://[::1]:6443", no slash at the end
  std::string proxy_url{};  // empty: none
  std::string default_namespace = "default";
  std::string context_name{};  // for messages
  std::shared_ptr<Credentials> credentials{};
};

// What of the environment counts; `cmd` fills it in, nothing below reads the environment.
struct ConfigSource {
  std::string explicit_file{};                  // --kubeconfig: alone, and it must exist
  std::vector<std::string> kubeconfig_files{};  // $KUBECONFIG, split; missing files are passed over
  std::string home{};                           // for ~/.kube/config
  std::string context{};                        // --context: empty for the files' current one
  std::string service_host{};                   // $KUBERNETES_SERVICE_HOST
  std::string service_port{};
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Order: explicit file, $KUBECONFIG list merged, in-cluster, ~/.kube/config. Errors name file and
// field.
Result<std::shared_ptr<const ClusterConfig>> load_config(const ConfigSource& source);
Result<std::shared_ptr<const ClusterConfig>> load_kubeconfig(const std::vector<std::string>& files,
                                                             std::string_view context);
Result<std::shared_ptr<const ClusterConfig>> load_in_cluster(const ConfigSource& source);

// A fixed identity, for tests and for servers that run in our own process.
std::shared_ptr<const ClusterConfig> fixed_config(std::string server, Identity identity);

}  // namespace berth::kube
