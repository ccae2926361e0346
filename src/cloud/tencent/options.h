// Where the cloud's API is and how it is reached, and the same out of an environment. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/signers.h"
#include "net/http.h"

namespace berth::cloud::tencent {

struct Options {
  std::string scheme = "https";
  std::string endpoint = "clb.tencentcloudapi.com";  // with a port, if it has one of its own
  std::string region{};                              // of searches that name none
  std::string proxy{};                               // "http://host:port"; empty: none
  std::shared_ptr<const net::TlsSettings> tls{};     // none: the system's authorities are trusted
  // Of each action, for one account in one region; as documented. 0: found out by refusals.
  std::uint32_t calls_per_second = 20;
};

// Trusts these authorities instead of the system's.
void trust(Options& options, std::string ca_pem);

// "clb.internal.tencentcloudapi.com", "http://127.0.0.1:8080": what people write as the endpoint.
Result<> set_endpoint(Options& options, std::string_view text);

struct Settings {
  Options options{};
  crypto::CloudCredentials credentials{};

  bool has_credentials() const { return !credentials.id.empty() || !credentials.key.empty(); }
};

// The value of a variable; empty if it is not set. Only commands read the environment, so they pass
// it in.
using GetEnv = std::function<std::string(std::string_view name)>;

// With the names of bcs-ingress-controller, TENCENTCLOUD_ACESS_KEY included, and those of the
// cloud's SDK. Line breaks at the end of a key are not part of it.
Result<Settings> settings_from(const GetEnv& get);
// Nothing: this cloud is not used. Whoever asks for it is told what is wrong; others use it where
// the environment has keys, and what is wrong there is in the log and stops nobody.
Result<std::optional<Settings>> settings_if_used(const GetEnv& get, bool is_asked_for);

}  // namespace berth::cloud::tencent
