#include "kube/client/config.h"

#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "kube/client/credentials.h"
#include "kube/client/exec_credentials.h"
#include "kube/client/kubeconfig.h"
#include "net/url.h"

namespace berth::kube {
namespace {

// Kubeconfigs of people with hundreds of clusters stay below this.
constexpr std::size_t kMaxKubeconfig = 10u << 20;
// A namespace's name has 63 characters; the file may end in a newline.
constexpr std::size_t kMaxNamespaceFile = 1024;

using ConfigPtr = std::shared_ptr<const ClusterConfig>;

class FixedCredentials final : public Credentials {
 public:
  explicit FixedCredentials(Identity identity) : identity_(std::move(identity)) {}
  Result<Identity> identity(const Context&) override { return identity_; }
  void rejected(const Identity&) override {}

 private:
  const Identity identity_;
};

Result<std::shared_ptr<Credentials>> make_credentials(const Selection& chosen) {
  UserEntry user = chosen.user;
  const auto url = net::parse_url(chosen.cluster.server);  // checked when it was selected
  const bool is_tls = url && url->scheme == "https";
  if (!is_tls && !user.anonymous()) {
    // As kubectl does: a secret does not travel in the clear.
    log_warn("the API server is reached without TLS: no credentials are sent",
             {{"context", chosen.context.name}, {"server", chosen.cluster.server}});
    user = {};
  }
  auto tls = TlsReader::open({.authority = chosen.cluster.authority,
                              .certificate = user.certificate,
                              .key = user.key,
                              .server_name = chosen.cluster.tls_server_name,
                              .insecure = chosen.cluster.insecure});
  if (!tls) return pass(tls);
  if (user.exec)
    return std::make_shared<ExecCredentials>(*std::move(user.exec), chosen.cluster,
                                             *std::move(tls));
  if (!user.token.empty()) {
    auto token = usable_token(user.token.reveal());
    if (!token)
      return fail(
          std::move(token.error()).about(user.origin.file).at(user.origin.field + ".token"));
    user.token = *std::move(token);
  }
  auto token = TokenReader::open(std::move(user.token), user.token_file);
  if (!token)
    return fail(
        std::move(token.error()).about(user.origin.file).at(user.origin.field + ".tokenFile"));
  return std::make_shared<FileCredentials>(*std::move(tls), *std::move(token), user.username,
                                           user.password);
}

// Which of the files exist, merged in their order.
Result<Kubeconfig> read_files(const std::vector<std::string>& files) {
  Kubeconfig merged;
  std::string names;
  bool any = false;
  for (const std::string& file : files) {
    if (file.empty()) continue;
    names += (names.empty() ? "" : ", ") + file;
    auto text = read_file(file, kMaxKubeconfig);
    if (!text && text.error().code == Code::not_found) continue;
    if (!text) return pass(text);
    const Secret whole(*std::move(text));
    auto parsed = parse_kubeconfig(whole.reveal(), file);
    if (!parsed) return pass(parsed);
    merge_kubeconfig(merged, *std::move(parsed));
    any = true;
  }
  if (!any) return fail(Code::not_found, "no kubeconfig: there is no file {}", names);
  return merged;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || port == 0)
    return fail(Code::invalid, "KUBERNETES_SERVICE_PORT: '{}' is not 1-65535", text);
  return port;
}

}  // namespace

Result<ConfigPtr> load_kubeconfig(const std::vector<std::string>& files, std::string_view context) {
  auto config = read_files(files);
  if (!config) return pass(config);
  auto chosen = select_context(*config, context);
  if (!chosen) return pass(chosen);
  auto credentials = make_credentials(*chosen);
  if (!credentials) return pass(credentials);
  ClusterConfig out{.server = chosen->cluster.server,
                    .proxy_url = chosen->cluster.proxy_url,
                    .context_name = chosen->context.name,
                    .credentials = *std::move(credentials)};
  if (!chosen->context.ns.empty()) out.default_namespace = chosen->context.ns;
  return std::make_shared<const ClusterConfig>(std::move(out));
}

Result<ConfigPtr> load_in_cluster(const ConfigSource& source) {
  auto port = parse_port(source.service_port);
  if (!port) return pass(port);
  const std::string& folder = source.service_account_dir;
  auto token = TokenReader::open({}, folder + "/token");
  if (!token)
    return fail(std::move(token.error())
                    .with_hint("does the Pod mount its service account's token "
                               "(automountServiceAccountToken)?"));
  auto tls = TlsReader::open(
      {.authority = {.file = folder + "/ca.crt", .origin = {.file = "in-cluster configuration"}}});
  if (!tls) return pass(tls);
  ClusterConfig out{.server = "https://" + net::join_host_port(source.service_host, *port),
                    .proxy_url = {},
                    .context_name = "in-cluster",
                    .credentials = std::make_shared<FileCredentials>(
                        *std::move(tls), *std::move(token), "", Secret())};
  if (auto ns = read_file(folder + "/namespace", kMaxNamespaceFile)) {
    const std::string name = ns->substr(0, ns->find_first_of(" \r\n"));
    if (!name.empty()) out.default_namespace = name;
  }
  return std::make_shared<const ClusterConfig>(std::move(out));
}

Result<ConfigPtr> load_config(const ConfigSource& source) {
  if (!source.explicit_file.empty()) return load_kubeconfig({source.explicit_file}, source.context);
  if (!source.kubeconfig_files.empty())
    return load_kubeconfig(source.kubeconfig_files, source.context);
  const std::string home = source.home.empty() ? "" : source.home + "/.kube/config";
  std::error_code ignored;
  const bool has_home = !home.empty() && std::filesystem::exists(home, ignored);
  if (!source.service_host.empty()) {
    auto inside = load_in_cluster(source);
    // A Pod without a token may still bring a kubeconfig.
    const bool without_token = !inside && inside.error().code == Code::not_found;
    if (!without_token || !has_home) return inside;
  }
  if (!has_home)
    return fail(error_of(Code::not_found, "no kubeconfig, and not inside a cluster")
                    .with_hint("give --kubeconfig, set KUBECONFIG, or write ~/.kube/config"));
  return load_kubeconfig({home}, source.context);
}

ConfigPtr fixed_config(std::string server, Identity identity) {
  while (server.ends_with('/')) server.pop_back();
  if (!identity.tls) identity.tls = std::make_shared<const net::TlsSettings>();
  return std::make_shared<const ClusterConfig>(
      ClusterConfig{.server = std::move(server),
                    .proxy_url = {},
                    .context_name = "fixed",
                    .credentials = std::make_shared<FixedCredentials>(std::move(identity))});
}

}  // namespace berth::kube
