#include "kube/client/credentials.h"

#include <algorithm>

#include "base/file.h"
#include "crypto/certificates.h"

namespace berth::kube {
namespace {

Result<Secret> read_material(const Material& material) {
  if (!material.data.empty() || material.file.empty()) return material.data;
  auto content = read_file(material.file, kMaxCredentialFile);
  if (!content) return fail(material.origin.mark(std::move(content.error())));
  return Secret(*std::move(content));
}

Result<> check_authority(const Material& origin, const std::string& pem) {
  if (pem.empty()) return {};
  if (auto info = crypto::describe_certificate(pem); !info)
    return fail(origin.origin.mark(std::move(info.error())));
  return {};
}

Result<> check_pair(const TlsSource& source, const net::TlsSettings& settings) {
  if (settings.cert_pem.empty()) return {};
  if (auto info = crypto::describe_certificate(settings.cert_pem); !info)
    return fail(source.certificate.origin.mark(std::move(info.error())));
  if (auto fits = crypto::check_key_pair(settings.cert_pem, settings.key_pem); !fits)
    return fail(source.key.origin.mark(std::move(fits.error())));
  return {};
}

Result<net::TlsSettings> read_tls(const TlsSource& source) {
  auto authority = read_material(source.authority);
  if (!authority) return pass(authority);
  auto certificate = read_material(source.certificate);
  if (!certificate) return pass(certificate);
  auto key = read_material(source.key);
  if (!key) return pass(key);
  net::TlsSettings settings{.ca_pem = authority->reveal(),
                            .cert_pem = certificate->reveal(),
                            .key_pem = *std::move(key),
                            .server_name = source.server_name,
                            .insecure = source.insecure};
  if (auto checked = check_authority(source.authority, settings.ca_pem); !checked)
    return pass(checked);
  if (auto checked = check_pair(source, settings); !checked) return pass(checked);
  return settings;
}

bool same(const net::TlsSettings& a, const net::TlsSettings& b) {
  return a.ca_pem == b.ca_pem && a.cert_pem == b.cert_pem &&
         a.key_pem.reveal() == b.key_pem.reveal();
}

Result<Secret> read_token(const std::string& file) {
  auto content = read_file(file, kMaxCredentialFile);
  if (!content) return pass(content);
  const Secret whole(*std::move(content));  // wiped at the end of this call
  auto token = usable_token(whole.reveal());
  if (!token) return fail(std::move(token.error()).about(file));
  return token;
}

}  // namespace

bool ReloadTimer::due(Instant now) {
  if (!due_at_) due_at_ = saturating_add(now, interval_);
  return now >= *due_at_;
}

void ReloadTimer::read(Instant now, bool succeeded) {
  due_at_ = saturating_add(now, succeeded ? interval_ : std::min(interval_, kReloadRetry));
}

Result<Secret> usable_token(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return fail(Code::invalid, "the token is empty");
  text = text.substr(first, text.find_last_not_of(kBlank) - first + 1);
  const bool fit = std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
  if (!fit) return fail(Code::invalid, "the token has characters that no token has");
  return Secret(std::string(text));
}

TlsReader::TlsReader(TlsSource source, net::TlsSettings settings)
    : source_(std::move(source)),
      settings_(std::make_shared<const net::TlsSettings>(std::move(settings))) {}

Result<TlsReader> TlsReader::open(TlsSource source) {
  auto settings = read_tls(source);
  if (!settings) return pass(settings);
  return TlsReader(std::move(source), *std::move(settings));
}

bool TlsReader::has_files() const {
  return std::ranges::any_of(
      std::initializer_list<const Material*>{&source_.authority, &source_.certificate,
                                             &source_.key},
      [](const Material* m) { return m->data.empty() && !m->file.empty(); });
}

std::shared_ptr<const net::TlsSettings> TlsReader::current(Instant now) {
  if (!has_files() || !timer_.due(now)) return settings_;
  auto next = read_tls(source_);
  timer_.read(now, next.has_value());
  if (!next) {
    log_warn("TLS files cannot be used: going on with those read before",
             {{"error", next.error().to_string()}});
  } else if (!same(*next, *settings_)) {
    log_info("TLS files changed",
             {{"file", source_.certificate.file.empty() ? source_.authority.file
                                                        : source_.certificate.file}});
    settings_ = std::make_shared<const net::TlsSettings>(*std::move(next));
  }
  return settings_;
}

Result<TokenReader> TokenReader::open(Secret token, std::string file) {
  if (!file.empty()) {
    auto from_file = read_token(file);
    if (from_file) return TokenReader(*std::move(from_file), std::move(file));
    if (token.empty()) return pass(from_file);
  }
  return TokenReader(std::move(token), std::move(file));
}

const Secret& TokenReader::current(Instant now) {
  if (file_.empty() || !timer_.due(now)) return token_;
  auto next = read_token(file_);
  timer_.read(now, next.has_value());
  if (next) {
    token_ = *std::move(next);
  } else {
    log_warn("the token file cannot be used: going on with the token read before",
             {{"error", next.error().to_string()}});
  }
  return token_;
}

FileCredentials::FileCredentials(TlsReader tls, TokenReader token, std::string user,
                                 Secret password)
    : tls_(std::move(tls)),
      token_(std::move(token)),
      user_(std::move(user)),
      password_(std::move(password)) {}

Result<Identity> FileCredentials::identity(const Context& context) {
  const Instant now = context.tasks.now();
  const MutexLock lock(mu_);
  return Identity{.tls = tls_.current(now),
                  .bearer_token = token_.current(now),
                  .basic_user = user_,
                  .basic_password = password_};
}

void FileCredentials::rejected(const Identity&) {
  const MutexLock lock(mu_);
  tls_.expire();
  token_.expire();
}

}  // namespace berth::kube
