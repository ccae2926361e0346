#include "model/load_balancer.h"

#include <algorithm>
#include <array>

#include "base/fnv.h"
#include "model/reference_text.h"

namespace berth::model {
namespace {

// Providers that people may put where a region belongs.
constexpr std::array<std::string_view, 5> kNoRegions{"tencent", "tencentcloud", "aws", "gcp",
                                                     "azure"};
constexpr std::string_view kEdge = "edge:";
constexpr std::string_view kProjects = "projects/";

Failure bad_reference(std::string_view text, std::string_view why) {
  return fail(error_of(Code::invalid, "load balancer '{}' {}", text, why)
                  .with_hint("write an id (lb-1), region:id (ap-nanjing:lb-1), an ARN, "
                             "edge:name, or projects/P/regions/R/addresses/NAME"));
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

// In every partition of AWS: arn:aws:…, arn:aws-cn:…, arn:aws-us-gov:….
bool is_arn(std::string_view text) {
  const std::string_view partition = arn_part(text, 1);
  return text.starts_with("arn:") && (partition == "aws" || partition.starts_with("aws-"));
}

Result<LoadBalancerRef> parse_arn(std::string_view text) {
  if (arn_part(text, 2) != "elasticloadbalancing" || arn_part(text, 3).empty() ||
      !arn_part(text, 5).starts_with("loadbalancer/"))
    return bad_reference(text, "is not the ARN of a load balancer");
  return LoadBalancerRef{Provider::aws, std::string(arn_part(text, 3)), std::string(text)};
}

// What is before the next slash, which is taken off with it.
std::string_view next_step(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const std::string_view step = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return step;
}

// As Google writes the path of an address: projects/P/regions/R/addresses/NAME, or
// projects/P/global/addresses/NAME.
Result<LoadBalancerRef> parse_project_path(std::string_view text) {
  std::string_view rest = text.substr(kProjects.size());
  const std::string_view project = next_step(rest);
  std::string_view region = next_step(rest);
  if (region == "regions") {
    region = next_step(rest);
  } else if (region != "global") {
    region = {};
  }
  const bool is_address = next_step(rest) == "addresses";
  const std::string_view name = next_step(rest);
  if (project.empty() || region.empty() || !is_address || name.empty() || !rest.empty())
    return bad_reference(text, "is not the path of an address");
  return LoadBalancerRef{Provider::gcp, std::string(region), std::string(name),
                         std::string(project)};
}

// A text that says everything; nothing for one that leaves something to defaults.
std::optional<Result<LoadBalancerRef>> parse_whole(std::string_view text) {
  if (is_arn(text)) return parse_arn(text);
  if (text.starts_with(kProjects)) return parse_project_path(text);
  if (!text.starts_with(kEdge)) return std::nullopt;
  if (text.size() == kEdge.size()) return bad_reference(text, "has no name");
  return LoadBalancerRef{Provider::edge, "", std::string(text.substr(kEdge.size()))};
}

// "nat-1" and "1.2.3.4" of "nat-1@1.2.3.4".
struct IdAndAddress {
  std::string_view id{};
  std::optional<std::string_view> address{};
};
IdAndAddress split_address(Provider provider, std::string_view id) {
  const std::size_t at = traits_of(provider).has_gateways ? id.rfind('@') : std::string_view::npos;
  if (at == std::string_view::npos) return {.id = id};
  return {id.substr(0, at), id.substr(at + 1)};
}

bool may_be_address(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
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

Result<LoadBalancerRef> parse_load_balancer(std::string_view text,
                                            const LoadBalancerDefaults& defaults) {
  if (text.empty()) return bad_reference(text, "is empty");
  if (text.find_first_of(" \t\r\n,;") != std::string_view::npos)
    return bad_reference(text, "has blanks or separators in it");
  if (auto whole = parse_whole(text)) return *whole;
  const auto [region, id] = split_region(text);
  if (id.empty() || id.find(':') != std::string_view::npos || text.front() == ':')
    return bad_reference(text, "is not region:id");
  if (std::ranges::find(kNoRegions, region) != kNoRegions.end())
    return bad_reference(text, "begins with a provider, which is written for edge alone");
  const bool in_account = traits_of(defaults.provider).has_account_in_id;
  if (in_account && defaults.account.empty())
    return bad_reference(text, "does not say its project, and there is no default");
  const auto [own_id, address] = split_address(defaults.provider, id);
  if (address && (own_id.empty() || !may_be_address(*address)))
    return bad_reference(text, "is not gateway@address");
  return LoadBalancerRef{defaults.provider, region.empty() ? defaults.region : std::string(region),
                         std::string(own_id), in_account ? defaults.account : std::string(),
                         std::string(address.value_or(""))};
}

bool may_mean(std::string_view text, const LoadBalancerRef& ref) {
  if (const auto whole = parse_whole(text)) return *whole && **whole == ref;
  const auto [region, id] = split_region(text);
  return id == id_text(ref) && (region.empty() || region == ref.region);
}

std::string id_text(const LoadBalancerRef& ref) {
  return ref.address.empty() ? ref.id : ref.id + "@" + ref.address;
}

LoadBalancerRef with_id_text(LoadBalancerRef ref, std::string_view text) {
  const auto [id, address] = split_address(ref.provider, text);
  ref.id = id;
  ref.address = address.value_or("");
  return ref;
}

LoadBalancerRef parent(LoadBalancerRef ref) {
  ref.address.clear();
  return ref;
}

std::string to_string(const LoadBalancerRef& ref) {
  if (ref.provider == Provider::edge && ref.region.empty()) return std::string(kEdge) + ref.id;
  if (!ref.account.empty()) {
    return fmt::format("{}{}/{}{}/addresses/{}", kProjects, ref.account,
                       ref.region == "global" ? "" : "regions/", ref.region, ref.id);
  }
  if (ref.region.empty() || ref.provider == Provider::aws) return id_text(ref);
  return ref.region + ":" + id_text(ref);
}

std::string canonical(const LoadBalancerRef& ref) {
  return fmt::format("{}/{}/{}/{}", to_string(ref.provider), ref.account, ref.region, id_text(ref));
}

std::optional<LoadBalancerRef> parse_canonical(std::string_view text) {
  std::string_view parts[3];  // an id may have slashes
  for (std::string_view& part : parts) {
    if (text.find('/') == std::string_view::npos) return std::nullopt;
    part = next_step(text);
  }
  const Result<Provider> provider = parse_provider(parts[0]);
  if (!provider || text.empty() || parts[1].empty() == traits_of(*provider).has_account_in_id)
    return std::nullopt;
  const auto [id, address] = split_address(*provider, text);
  if (address && (id.empty() || !may_be_address(*address))) return std::nullopt;
  return LoadBalancerRef{*provider, std::string(parts[2]), std::string(id), std::string(parts[1]),
                         std::string(address.value_or(""))};
}

std::string object_name(const LoadBalancerRef& ref) {
  std::string exact(to_string(ref.provider));
  for (const std::string& part : {ref.account, ref.region, id_text(ref)})
    if (!part.empty()) exact.append(".").append(part);
  std::string name = plain(exact);
  // What was changed, or would be too long, is told apart by a hash of the exact text.
  constexpr std::size_t kMaxName = 200;
  if (name == exact && name.size() <= kMaxName) return name;
  name.resize(std::min(name.size(), kMaxName));
  return fmt::format("{}-{:08x}", name, Fnv1a32().add(exact).value());
}

std::string listener_base_name(const LoadBalancerRef& ref) {
  if (ref.provider == Provider::aws && is_arn(ref.id))
    return plain(fmt::format("{}-{}", ref.region, name_in_arn(ref.id)));
  return plain(id_text(ref));
}

}  // namespace berth::model
