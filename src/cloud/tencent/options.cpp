#include "cloud/tencent/options.h"

#include <initializer_list>

#include "net/url.h"

namespace berth::cloud::tencent {
namespace {

std::string first_of(const GetEnv& get, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    std::string value = get(name);
    while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
    if (!value.empty()) return value;
  }
  return {};
}

}  // namespace

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
  const std::string endpoint = first_of(get, {"TENCENTCLOUD_CLB_DOMAIN"});
  if (!endpoint.empty()) {
    if (Result<> set = set_endpoint(out.options, endpoint); !set)
      return fail(std::move(set.error()).about("TENCENTCLOUD_CLB_DOMAIN"));
  }
  out.options.region = first_of(get, {"TENCENTCLOUD_REGION"});
  out.options.proxy = first_of(get, {"TENCENTCLOUD_PROXY"});
  out.credentials.id = first_of(get, {"TENCENTCLOUD_ACCESS_KEY_ID", "TENCENTCLOUD_SECRET_ID"});
  // The first spelling is upstream's, and so users have it.
  out.credentials.key = Secret(first_of(
      get, {"TENCENTCLOUD_ACESS_KEY", "TENCENTCLOUD_ACCESS_KEY", "TENCENTCLOUD_SECRET_KEY"}));
  out.credentials.token = Secret(first_of(get, {"TENCENTCLOUD_TOKEN"}));
  return out;
}

}  // namespace berth::cloud::tencent
