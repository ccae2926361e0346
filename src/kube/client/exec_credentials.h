// Credentials from an exec plugin (client.authentication.k8s.io v1 and v1beta1): a program that
// prints a token or a certificate. Thread-safe.
//
// The plugin runs when nothing valid is at hand: at first, after the time it gave, after a 401.
// Callers that arrive meanwhile wait for that run and share its result.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/client/credentials.h"

namespace berth::kube {

// What a plugin prints.
struct ExecOutput {
  Secret token{};
  std::string certificate_pem{};
  Secret key_pem{};
  std::optional<WallTime> expires{};
};

// Errors never show what the plugin printed.
Result<ExecOutput> parse_exec_output(std::string_view text, std::string_view api_version);

// The value of KUBERNETES_EXEC_INFO.
std::string exec_info(const ExecEntry& exec, const ClusterEntry& cluster, std::string_view ca_pem);

class ExecCredentials final : public Credentials {
 public:
  ExecCredentials(ExecEntry exec, ClusterEntry cluster, TlsReader tls);
  ~ExecCredentials() override;
  Result<Identity> identity(const Context& context) override;
  void rejected(const Identity& identity) override;

 private:
  struct Run;
  Result<ExecOutput> run_plugin(const Context& context, const std::string& ca_pem) const;
  Identity compose(Instant now) REQUIRES(mu_);
  bool has_valid(WallTime now) const REQUIRES(mu_);
  void finish(const std::shared_ptr<Run>& run, Result<ExecOutput> output);

  const ExecEntry exec_;
  const ClusterEntry cluster_;
  Mutex mu_;
  TlsReader tls_ GUARDED_BY(mu_);
  std::optional<ExecOutput> output_ GUARDED_BY(mu_);
  std::shared_ptr<Run> run_ GUARDED_BY(mu_);  // the one under way
  // The settings with the plugin's certificate, and those it was added to.
  std::shared_ptr<const net::TlsSettings> plain_tls_ GUARDED_BY(mu_);
  std::shared_ptr<const net::TlsSettings> tls_with_certificate_ GUARDED_BY(mu_);
};

}  // namespace berth::kube
