// Which load balancers an Ingress names: the part of ingress.h that reads its annotations.
#include <algorithm>

#include "api/ingress.h"
#include "api/keys.h"

namespace berth::api {
namespace {

Failure refuse(const Ingress& ingress, std::string_view annotation, std::string message) {
  return fail(Error{.code = Code::invalid, .message = std::move(message)}
                  .about("Ingress " + ingress.meta.key().to_string())
                  .at(fmt::format("metadata.annotations[{}]", annotation)));
}

// What is wrong with a list as it is written; empty for nothing.
std::string find_fault(std::string_view text, const std::vector<std::string>& parts,
                       std::string_view example) {
  if (text.empty())
    return fmt::format("is empty: name at least one load balancer, for example {}", example);
  const std::size_t blank = text.find_first_of(" \t\r\n");
  if (blank != std::string_view::npos) {
    const bool line_end = text[blank] == '\n' || text[blank] == '\r';
    return fmt::format(
        "'{}' has a {} in it: write commas alone between load balancers, for "
        "example {}",
        text, line_end ? "line end" : "blank", example);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty())
      return fmt::format(
          "'{}' has an empty part: a comma stands between two load balancers, for "
          "example {}",
          text, example);
    if (parts[i].size() > kMaxLoadBalancerId)
      return fmt::format("'{}' is {} characters long, at most {} are allowed", parts[i],
                         parts[i].size(), kMaxLoadBalancerId);
    if (std::find(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i), parts[i]) !=
        parts.begin() + static_cast<std::ptrdiff_t>(i))
      return fmt::format("'{}' is named twice in '{}'", parts[i], text);
  }
  if (parts.size() > kMaxLoadBalancersPerIngress)
    return fmt::format("names {} load balancers, at most {} are allowed", parts.size(),
                       kMaxLoadBalancersPerIngress);
  return {};
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<IngressLoadBalancers> load_balancers_of(const Ingress& ingress) {
  const bool has_ids = kube::has(ingress.meta.annotations, kLoadBalancerIdsAnnotation);
  const bool has_names = kube::has(ingress.meta.annotations, kLoadBalancerNamesAnnotation);
  if (!has_ids && !has_names) {
    return refuse(ingress, kLoadBalancerIdsAnnotation,
                  fmt::format("is required: name the load balancers, for example lb-1; or by name "
                              "in {}",
                              kLoadBalancerNamesAnnotation));
  }
  const std::string_view key = has_ids ? kLoadBalancerIdsAnnotation : kLoadBalancerNamesAnnotation;
  const std::string_view text = kube::get(ingress.meta.annotations, key);
  IngressLoadBalancers out{.texts = split(text), .by_name = !has_ids};
  const std::string fault =
      find_fault(text, out.texts, has_ids ? "lb-1,ap-shanghai:lb-2" : "games,ap-shanghai:lobby");
  if (!fault.empty()) return refuse(ingress, key, fault);
  return out;
}

}  // namespace berth::api
