// Where the cloud's API is and how it is reached, and the same out of an environment. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/signers.h"

namespace berth::cloud::tencent {

struct Options {
  std::string scheme = "https";
  std::string endpoint = "clb.tencentcloudapi.com";  // with a port, if it has one of its own
  std::string region{};                              // of searches that name none
  std::string proxy{};                               // "http://host:port"; empty: none
};

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

}  // namespace berth::cloud::tencent
