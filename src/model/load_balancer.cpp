#include "model/load_balancer.h"

#include <algorithm>
#include <array>

namespace berth::model {
namespace {

constexpr std::array<std::string_view, 4> kProviders{"edge", "tencent", "aws", "gcp"};
// Providers that people may put where a region belongs.
constexpr std::array<std::string_view, 5> kNoRegions{"tencent", "tencentcloud", "aws", "gcp",
                                                     "azure"};
constexpr std::string_view kArn = "arn:aws:elasticloadbalancing:";
constexpr std::string_view kEdge = "edge:";

Failure bad_reference(std::string_view text, std::string_view why) {
  return fail(error_of(Code::invalid, "load balancer '{}' {}", text, why)
                  .with_hint("write an id (lb-1), region:id (ap-nanjing:lb-1), an ARN, or "
                             "edge:name"));
}

// The n-th part of an ARN, which colons separate.
std::string_view arn_part(std::string_view arn, int n) {
  for (; n > 0; --n) {
    const std::size_t colon = arn.find(':');
    if (colon == std::string_view::npos) return {};
    arn.remove_prefix(colon + 1);
  }
  return arn.substr(0, arn.find(':'));
}

Result<LoadBalancerRef> parse_arn(std::string_view text) {
  const std::string_view resource = arn_part(text, 5);
  if (arn_part(text, 3).empty() || !resource.starts_with("loadbalancer/"))
    return bad_reference(text, "is not the ARN of a load balancer");
  return LoadBalancerRef{Provider::aws, std::string(arn_part(text, 3)), std::string(text)};
}

// FNV-1a: the same text has the same hash in every process and on every machine.
std::uint32_t stable_hash(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

bool fits_object_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

// Lower case, and a dash for what object names do not know.
std::string plain(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return fits_object_name(c) ? c : '-';
  });
  return out;
}

// The name of a load balancer in its ARN: arn:…:loadbalancer/net/NAME/0123.
std::string_view name_in_arn(std::string_view arn) {
  std::string_view path = arn_part(arn, 5);
  for (int i = 0; i < 2; ++i) path.remove_prefix(std::min(path.size(), path.find('/') + 1));
  return path.substr(0, path.find('/'));
}

}  // namespace

std::string_view to_string(Provider provider) {
  return kProviders[static_cast<std::size_t>(provider)];
}

Result<Provider> parse_provider(std::string_view text) {
  const auto it = std::ranges::find(kProviders, text);
  if (it == kProviders.end())
    return fail(Code::invalid, "provider '{}' is not one of edge, tencent, aws, gcp", text);
  return static_cast<Provider>(it - kProviders.begin());
}

Result<LoadBalancerRef> parse_load_balancer(std::string_view text,
                                            const LoadBalancerDefaults& defaults) {
  if (text.empty()) return bad_reference(text, "is empty");
  if (text.find_first_of(" \t\r\n,;") != std::string_view::npos)
    return bad_reference(text, "has blanks or separators in it");
  if (text.starts_with(kArn)) return parse_arn(text);
  if (text.starts_with(kEdge)) {
    if (text.size() == kEdge.size()) return bad_reference(text, "has no name");
    return LoadBalancerRef{Provider::edge, "", std::string(text.substr(kEdge.size()))};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return LoadBalancerRef{defaults.provider, defaults.region, std::string(text)};
  const std::string_view id = text.substr(colon + 1);
  if (colon == 0 || id.empty() || id.find(':') != std::string_view::npos)
    return bad_reference(text, "is not region:id");
  const std::string_view region = text.substr(0, colon);
  if (std::ranges::find(kNoRegions, region) != kNoRegions.end())
    return bad_reference(text, "begins with a provider, which is written for edge alone");
  return LoadBalancerRef{defaults.provider, std::string(region), std::string(id)};
}

std::string to_string(const LoadBalancerRef& ref) {
  if (ref.provider == Provider::edge && ref.region.empty()) return std::string(kEdge) + ref.id;
  if (ref.region.empty() || ref.provider == Provider::aws) return ref.id;
  return ref.region + ":" + ref.id;
}

std::size_t max_listener_name(Provider provider) {
  switch (provider) {
    case Provider::tencent: return 60;
    case Provider::gcp: return 63;
    case Provider::aws:
    case Provider::edge: return 255;
  }
  return 60;
}

std::string canonical(const LoadBalancerRef& ref) {
  return fmt::format("{}//{}/{}", to_string(ref.provider), ref.region, ref.id);
}

std::optional<LoadBalancerRef> parse_canonical(std::string_view text) {
  std::string_view parts[3];  // an id may have slashes
  for (std::string_view& part : parts) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    part = text.substr(0, slash);
    text.remove_prefix(slash + 1);
  }
  const Result<Provider> provider = parse_provider(parts[0]);
  if (!provider || !parts[1].empty() || text.empty()) return std::nullopt;
  return LoadBalancerRef{*provider, std::string(parts[2]), std::string(text)};
}

std::string object_name(const LoadBalancerRef& ref) {
  const std::string exact = fmt::format("{}.{}{}{}", to_string(ref.provider), ref.region,
                                        ref.region.empty() ? "" : ".", ref.id);
  std::string name = plain(exact);
  // What was changed, or would be too long, is told apart by a hash of the exact text.
  constexpr std::size_t kMaxName = 200;
  if (name == exact && name.size() <= kMaxName) return name;
  name.resize(std::min(name.size(), kMaxName));
  return fmt::format("{}-{:08x}", name, stable_hash(exact));
}

std::string listener_base_name(const LoadBalancerRef& ref) {
  if (ref.provider == Provider::aws && ref.id.starts_with(kArn))
    return plain(fmt::format("{}-{}", ref.region, name_in_arn(ref.id)));
  return plain(ref.id);
}

}  // namespace berth::model
