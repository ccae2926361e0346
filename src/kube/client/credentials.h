// The Credentials that come from a configuration: fixed values and files that are read again.
// Objects that implement Credentials are thread-safe; the two readers belong to one of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "kube/client/config.h"
#include "kube/client/kubeconfig.h"

namespace berth::kube {

inline constexpr Duration kTlsReload = std::chrono::minutes{5};
inline constexpr Duration kTokenReload = std::chrono::seconds{60};
// After a read that failed: files that are being replaced are whole again soon.
inline constexpr Duration kReloadRetry = std::chrono::seconds{10};
// A bundle of every public authority has a quarter of this.
inline constexpr std::size_t kMaxCredentialFile = 1u << 20;

// When files are to be read again. The first question starts the interval: whoever made the reader
// has just read them.
class ReloadTimer {
 public:
  explicit ReloadTimer(Duration interval) : interval_(interval) {}
  bool due(Instant now);
  void read(Instant now, bool succeeded);
  void expire() { due_at_ = Instant::min(); }

 private:
  Duration interval_;
  std::optional<Instant> due_at_{};
};

struct TlsSource {
  Material authority{};
  Material certificate{};
  Material key{};
  std::string server_name{};
  bool insecure = false;
};

// TLS settings from PEM text and files. Hands out the same object as long as nothing changed, so
// that connections are shared.
class TlsReader {
 public:
  // Reads everything once and fails on what cannot be used.
  static Result<TlsReader> open(TlsSource source);
  // Reads again when that is due; keeps the old settings when it fails.
  std::shared_ptr<const net::TlsSettings> current(Instant now);
  void expire() { timer_.expire(); }

 private:
  TlsReader(TlsSource source, net::TlsSettings settings);
  bool has_files() const;

  TlsSource source_;
  std::shared_ptr<const net::TlsSettings> settings_;
  ReloadTimer timer_{kTlsReload};
};

// A bearer token, fixed or from a file.
class TokenReader {
 public:
  // A token given beside the file is used until the file can be read.
  static Result<TokenReader> open(Secret token, std::string file);
  const Secret& current(Instant now);
  void expire() { timer_.expire(); }

 private:
  TokenReader(Secret token, std::string file) : token_(std::move(token)), file_(std::move(file)) {}

  Secret token_;
  std::string file_;
  ReloadTimer timer_{kTokenReload};
};

class FileCredentials final : public Credentials {
 public:
  FileCredentials(TlsReader tls, TokenReader token, std::string user, Secret password);
  Result<Identity> identity(const Context& context) override;
  void rejected(const Identity& identity) override;

 private:
  Mutex mu_;
  TlsReader tls_ GUARDED_BY(mu_);
  TokenReader token_ GUARDED_BY(mu_);
  const std::string user_;
  const Secret password_;
};

// Trimmed, and fit for a header.
Result<Secret> usable_token(std::string_view text);

}  // namespace berth::kube
