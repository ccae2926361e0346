#include "cloud/tencent/options.h"

#include <charconv>
#include <span>

#include "base/log.h"
#include "cloud/tencent/credential_texts.h"
#include "net/url.h"

namespace berth::cloud::tencent {
namespace {

std::string first_of(const GetEnv& get, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    std::string value = get(name);
    while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
    if (!value.empty()) return value;
  }
  return {};
}

std::string first_of(const GetEnv& get, std::string_view name) {
  return first_of(get, std::span(&name, 1));
}

Result<> set_rate(Options& options, const std::string& text) {
  if (text.empty()) return {};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), options.calls_per_second);
  if (error == std::errc{} && end == text.data() + text.size()) return {};
  return fail(Code::invalid, "'{}' is not a number of calls a second", text);
}

}  // namespace

void trust(Options& options, std::string ca_pem) {
  net::TlsSettings settings;
  settings.ca_pem = std::move(ca_pem);
  options.tls = std::make_shared<const net::TlsSettings>(std::move(settings));
}

Result<> set_endpoint(Options& options, std::string_view text) {
  const bool has_scheme = text.find("://") != std::string_view::npos;
  const Result<net::Url> url =
      net::parse_url(has_scheme ? std::string(text) : fmt::format("{}://{}", options.scheme, text));
  if (!url || url->path != "/" || !url->query.empty()) {
    return fail(error_of(Code::invalid, "'{}' is not the address of an API", text)
                    .with_hint("for example clb.tencentcloudapi.com or http://127.0.0.1:8080"));
  }
  options.scheme = url->scheme;
  options.endpoint = url->authority();
  return {};
}

Result<Settings> settings_from(const GetEnv& get) {
  Settings out;
  if (Result<> set = set_rate(out.options, first_of(get, "TENCENTCLOUD_RATELIMIT_QPS")); !set)
    return fail(std::move(set.error()).about("TENCENTCLOUD_RATELIMIT_QPS"));
  const std::string endpoint = first_of(get, "TENCENTCLOUD_CLB_DOMAIN");
  if (!endpoint.empty()) {
    if (Result<> set = set_endpoint(out.options, endpoint); !set)
      return fail(std::move(set.error()).about("TENCENTCLOUD_CLB_DOMAIN"));
  }
  out.options.region = first_of(get, "TENCENTCLOUD_REGION");
  out.options.proxy = first_of(get, "TENCENTCLOUD_PROXY");
  out.credentials.id = first_of(get, kIdNames);
  out.credentials.key = Secret(first_of(get, kKeyNames));
  out.credentials.token = Secret(first_of(get, kTokenNames));
  return out;
}

Result<std::optional<Settings>> settings_if_used(const GetEnv& get, bool is_asked_for) {
  Result<Settings> all = settings_from(get);
  if (is_asked_for && !all) return pass(all);
  if (!all)
    log_warn("load balancers of Tencent are not served", {{"error", all.error().to_string()}});
  if (!all || (!is_asked_for && !all->has_credentials())) return std::optional<Settings>();
  return std::optional(std::move(*all));
}

}  // namespace berth::cloud::tencent
