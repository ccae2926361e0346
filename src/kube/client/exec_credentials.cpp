#include "kube/client/exec_credentials.h"

#include <boost/json/object.hpp>

#include "base/encoding.h"
#include "base/subprocess.h"
#include "crypto/certificates.h"
#include "kube/client/status.h"

namespace berth::kube {
namespace {

// Of what the plugin wrote to standard error, in our error.
constexpr std::size_t kMaxShownError = 500;

Result<std::optional<WallTime>> read_expiry(const wire::Value& document) {
  const std::string_view text = wire::string_at(document, "/status/expirationTimestamp");
  if (text.empty()) return std::nullopt;
  auto at = parse_rfc3339(text);
  if (!at) return fail(std::move(at.error()).at("status.expirationTimestamp"));
  return *at;
}

Result<> check_output(const ExecOutput& output) {
  const bool has_certificate = !output.certificate_pem.empty();
  if (has_certificate == output.key_pem.empty())
    return fail(Code::invalid, "clientCertificateData and clientKeyData must come together");
  if (!has_certificate && output.token.empty())
    return fail(error_of(Code::invalid, "has neither a token nor a certificate").at("status"));
  if (!has_certificate) return {};
  if (auto fits = crypto::check_key_pair(output.certificate_pem, output.key_pem); !fits)
    return fail(std::move(fits.error()).at("status.clientKeyData"));
  return {};
}

}  // namespace

struct ExecCredentials::Run {
  std::vector<std::unique_ptr<Signal>> waiting;
  std::optional<Result<>> result;  // set once, before the notifications
};

Result<ExecOutput> parse_exec_output(std::string_view text, std::string_view api_version) {
  const auto document = wire::parse_json(text);
  if (!document) return fail(Code::invalid, "what it printed is not JSON");
  if (wire::string_at(*document, "/kind") != "ExecCredential")
    return fail(error_of(Code::invalid, "must be ExecCredential").at("kind"));
  if (wire::string_at(*document, "/apiVersion") != api_version)
    return fail(
        error_of(Code::invalid, "must be {}, which was asked for", api_version).at("apiVersion"));
  ExecOutput output{
      .certificate_pem = std::string(wire::string_at(*document, "/status/clientCertificateData")),
      .key_pem = Secret(std::string(wire::string_at(*document, "/status/clientKeyData")))};
  if (const std::string_view token = wire::string_at(*document, "/status/token"); !token.empty()) {
    auto usable = usable_token(token);
    if (!usable) return fail(std::move(usable.error()).at("status.token"));
    output.token = *std::move(usable);
  }
  auto expires = read_expiry(*document);
  if (!expires) return pass(expires);
  output.expires = *expires;
  if (auto checked = check_output(output); !checked) return pass(checked);
  return output;
}

std::string exec_info(const ExecEntry& exec, const ClusterEntry& cluster, std::string_view ca_pem) {
  wire::Object spec{{"interactive", false}};
  if (exec.provide_cluster_info) {
    wire::Object info{{"server", cluster.server}};
    if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
    if (cluster.insecure) info["insecure-skip-tls-verify"] = true;
    if (!ca_pem.empty()) info["certificate-authority-data"] = base64_encode(ca_pem);
    if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
    if (!cluster.exec_config.is_null()) info["config"] = cluster.exec_config;
    spec["cluster"] = std::move(info);
  }
  return wire::to_json(wire::Object{
      {"apiVersion", exec.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}});
}

ExecCredentials::ExecCredentials(ExecEntry exec, ClusterEntry cluster, TlsReader tls)
    : exec_(std::move(exec)), cluster_(std::move(cluster)), tls_(std::move(tls)) {}

ExecCredentials::~ExecCredentials() = default;

Result<Identity> ExecCredentials::identity(const Context& context) {
  for (;;) {
    auto own_signal = context.tasks.signal();
    Signal& finished = *own_signal;
    std::shared_ptr<Run> run;
    bool runs_it = false;
    std::string ca_pem;
    {
      const MutexLock lock(mu_);
      if (has_valid(context.tasks.wall_time())) return compose(context.tasks.now());
      runs_it = run_ == nullptr;
      if (runs_it) run_ = std::make_shared<Run>();
      run = run_;
      if (!runs_it) run->waiting.push_back(std::move(own_signal));
      ca_pem = tls_.current(context.tasks.now())->ca_pem;
    }
    if (runs_it) {
      finish(run, run_plugin(context, ca_pem));
    } else if (!context.tasks.wait(finished, context.deadline, context.stop)) {
      return fail(context.end_error());
    }
    const MutexLock lock(mu_);
    if (*run->result && output_) return compose(context.tasks.now());
    if (*run->result) continue;  // and rejected since
    // That its caller ran out of time says nothing about ours.
    const Code code = run->result->error().code;
    if (!runs_it && (code == Code::stopped || code == Code::timeout)) continue;
    return fail(run->result->error());
  }
}

void ExecCredentials::finish(const std::shared_ptr<Run>& run, Result<ExecOutput> output) {
  if (!output) log_warn("no credentials", {{"error", output.error().to_string()}});
  {
    const MutexLock lock(mu_);
    run_.reset();
    if (output) {
      run->result.emplace();
      output_ = *std::move(output);
      tls_with_certificate_.reset();
    } else {
      run->result.emplace(Failure(std::move(output.error())));
    }
  }
  // Nobody can join this run any more, so the list is ours.
  for (const auto& signal : run->waiting) signal->notify();
}

Result<ExecOutput> ExecCredentials::run_plugin(const Context& context,
                                               const std::string& ca_pem) const {
  const auto refuse = [&](Code code, std::string message) {
    return fail(
        exec_.origin.mark(error_of(code, "the credential plugin {} {}", exec_.command, message)
                              .with_hint(exec_.install_hint)));
  };
  Command command{.program = exec_.command, .args = exec_.args, .extra_env = exec_.env};
  command.extra_env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(exec_, cluster_, ca_pem));
  auto ran = run_command(context, command);
  if (!ran && (ran.error().code == Code::stopped || ran.error().code == Code::timeout))
    return fail(exec_.origin.mark(std::move(ran.error())));
  // Whatever went wrong, the caller's object is not "not found" and its input not "invalid".
  if (!ran) return refuse(Code::unauthorized, "did not run: " + ran.error().message);
  const Secret printed(std::move(ran->out));
  if (ran->exit_code != 0)
    return refuse(Code::unauthorized, fmt::format("failed with exit code {}: {}", ran->exit_code,
                                                  printable(ran->err, kMaxShownError)));
  if (ran->truncated) return refuse(Code::unauthorized, "printed too much");
  auto output = parse_exec_output(printed.reveal(), exec_.api_version);
  if (!output) {
    const Error& error = output.error();
    return refuse(Code::unauthorized,
                  fmt::format("gave an answer that cannot be used: {}{}{}", error.field,
                              error.field.empty() ? "" : ": ", error.message));
  }
  return output;
}

bool ExecCredentials::has_valid(WallTime now) const {
  return output_ && (!output_->expires || now < *output_->expires);
}

Identity ExecCredentials::compose(Instant now) {
  auto plain = tls_.current(now);
  if (output_->certificate_pem.empty())
    return {.tls = std::move(plain), .bearer_token = output_->token};
  if (!tls_with_certificate_ || plain_tls_ != plain) {
    net::TlsSettings settings = *plain;
    settings.cert_pem = output_->certificate_pem;
    settings.key_pem = output_->key_pem;
    tls_with_certificate_ = std::make_shared<const net::TlsSettings>(std::move(settings));
    plain_tls_ = std::move(plain);
  }
  return {.tls = tls_with_certificate_, .bearer_token = output_->token};
}

void ExecCredentials::rejected(const Identity& identity) {
  const MutexLock lock(mu_);
  tls_.expire();
  // An identity of an earlier run says nothing about this one.
  const bool is_current =
      output_ && output_->token.reveal() == identity.bearer_token.reveal() &&
      (output_->certificate_pem.empty() || identity.tls->cert_pem == output_->certificate_pem);
  if (is_current) output_.reset();
}

}  // namespace berth::kube
