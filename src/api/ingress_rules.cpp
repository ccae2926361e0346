// Which Ingresses are refused: the part of ingress.h beside its tables.
#include <algorithm>

#include "api/ingress_checks.h"
#include "api/keys.h"
#include "api/listener_rules.h"

namespace berth::api {
namespace {

using model::LoadBalancerRef;

Failure refuse(const Ingress& ingress, const Breach& breach) {
  return fail(error_of(Code::invalid, "{}", breach.message)
                  .about("Ingress " + ingress.meta.key().to_string())
                  .at(breach.path));
}

std::string with_hint(const Error& error) {
  return error.hint.empty() ? error.message : error.message + ": " + error.hint;
}

// What is wrong with one load balancer beside those before it; empty for nothing.
std::string find_fault(const LoadBalancerRef& ref, const std::string& text, bool by_name,
                       const std::vector<LoadBalancerRef>& before) {
  if (!by_name && model::is_name(ref)) {
    return fmt::format("'{}' is not the id of a {} load balancer: write names in {}", text,
                       model::traits_of(ref.provider).title, kLoadBalancerNamesAnnotation);
  }
  if (std::ranges::find(before, ref) != before.end())
    return fmt::format("'{}' is named twice", text);
  return {};
}

Result<std::vector<LoadBalancerRef>> read_load_balancers(const Ingress& ingress,
                                                         const model::Reading& reading) {
  Result<IngressLoadBalancers> named = load_balancers_of(ingress);
  if (!named) return pass(named);
  const std::string path =
      fmt::format("metadata.annotations[{}]",
                  named->by_name ? kLoadBalancerNamesAnnotation : kLoadBalancerIdsAnnotation);
  std::vector<LoadBalancerRef> out;
  for (const std::string& text : named->texts) {
    Result<LoadBalancerRef> ref = reading.read(text);
    if (!ref) return refuse(ingress, {path, with_hint(ref.error())});
    const std::string fault = find_fault(*ref, text, named->by_name, out);
    if (!fault.empty()) return refuse(ingress, {path, fault});
    out.push_back(std::move(*ref));
  }
  return out;
}

std::int64_t listeners_of(const PortMapping& mapping) {
  const std::int64_t pods = std::max<std::int64_t>(mapping.end_index - mapping.start_index, 0);
  return is_segment(mapping) ? pods : pods * segment_length_of(mapping);
}

void check_count(const Ingress& ingress, Breaches& out) {
  auto count = static_cast<std::int64_t>(ingress.spec.rules.size());
  for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i) {
    count += listeners_of(ingress.spec.port_mappings[i]);
    if (count <= kMaxListenersPerIngress) continue;
    return out.add(fmt::format("spec.portMappings[{}].endIndex", i),
                   fmt::format("makes {} listeners with what is before it, at most {} are allowed "
                               "on a load balancer for one Ingress: write another Ingress",
                               count, kMaxListenersPerIngress));
  }
}

std::string in_words(const model::PortRange& ports) {
  return ports.size() == 1 ? fmt::format("port {}", ports.first)
                           : fmt::format("ports {}-{}", ports.first, ports.last);
}

std::string port_field(const std::string& part) {
  return part + (part.starts_with("spec.rules") ? ".port" : ".startPort");
}

void check_overlaps(const Ingress& ingress, const Providers& providers, Breaches& out) {
  const bool one_protocol = std::ranges::any_of(providers, [](model::Provider provider) {
    return !model::traits_of(provider).abilities.has_both_protocols;
  });
  const std::vector<IngressPorts> all = ports_of(ingress);
  for (std::size_t j = 0; j < all.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const bool same_transport = all[i].transport == all[j].transport;
      if (!all[i].ports.overlaps(all[j].ports) || (!same_transport && !one_protocol)) continue;
      out.add(port_field(all[j].field),
              fmt::format("{} {} {} {} of {}{}", model::to_string(all[j].transport),
                          in_words(all[j].ports), all[j].ports.size() == 1 ? "overlaps" : "overlap",
                          in_words(all[i].ports), all[i].field,
                          same_transport ? ""
                                         : ": a port of these load balancers has one "
                                           "protocol"));
    }
  }
}

}  // namespace

Result<> validate(const Ingress& ingress, const model::Reading& reading) {
  Result<std::vector<LoadBalancerRef>> load_balancers = read_load_balancers(ingress, reading);
  if (!load_balancers) return pass(load_balancers);
  if (const auto breaches = check(ingress.spec, "spec"); !breaches.empty())
    return refuse(ingress, breaches.front());
  Providers providers;
  for (const LoadBalancerRef& ref : *load_balancers) providers.insert(ref.provider);
  Breaches found;
  for (std::size_t i = 0; i < ingress.spec.rules.size(); ++i)
    check_rule(ingress.spec.rules[i], providers, fmt::format("spec.rules[{}]", i), found);
  for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i) {
    check_mapping(ingress.spec.port_mappings[i], providers, fmt::format("spec.portMappings[{}]", i),
                  found);
  }
  check_count(ingress, found);
  check_overlaps(ingress, providers, found);
  if (const Breach* const first = found.first()) return refuse(ingress, *first);
  return {};
}

Result<> validate_segments(const Ingress& ingress, const LoadBalancerRef& lb,
                           std::string_view type) {
  for (std::size_t i = 0; i < ingress.spec.port_mappings.size(); ++i) {
    if (!is_segment(ingress.spec.port_mappings[i])) continue;
    if (auto breach =
            check_segments(lb, type, fmt::format("spec.portMappings[{}].segmentLength", i)))
      return refuse(ingress,
                    {breach->path, breach->message + "; with ignoreSegment: true every port has a "
                                                     "listener of its own"});
  }
  return {};
}

}  // namespace berth::api
