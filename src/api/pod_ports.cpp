#include "api/pod_ports.h"

#include <algorithm>
#include <boost/json.hpp>

namespace berth::api {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kGrammar =
    "each entry is 'POOL PROTOCOL PORT', for example 'rooms TCP 8000'";

Failure bad_line(std::string_view line, std::string_view why) {
  return fail(error_of(Code::invalid, "'{}': {}", line, why)
                  .at(fmt::format("metadata.annotations[{}]", kPortsAnnotation))
                  .with_hint(std::string(kGrammar)));
}

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kSpace = " \t\r";
  while (true) {
    const std::size_t begin = line.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

kube::ObjectKey parse_pool(std::string_view word, std::string_view pod_namespace) {
  const std::size_t dot = word.find('.');
  if (dot == std::string_view::npos) return {std::string(pod_namespace), std::string(word)};
  return {std::string(word.substr(dot + 1)), std::string(word.substr(0, dot))};
}

Result<PortRequest> parse_line(std::string_view line, std::string_view pod_namespace) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() != 3) return bad_line(line, fmt::format("has {} words, not 3", words.size()));
  const Result<model::Protocol> protocol = model::parse_protocol(words[1]);
  if (!protocol) return bad_line(line, protocol.error().message);
  const Result<model::Port> port = model::parse_port(words[2]);
  if (!port) return bad_line(line, port.error().message);
  return PortRequest{parse_pool(words[0], pod_namespace), *protocol, *port};
}

}  // namespace

Result<std::vector<PortRequest>> parse_port_requests(std::string_view annotation,
                                                     std::string_view pod_namespace) {
  const char separator = annotation.find('\n') != std::string_view::npos ? '\n' : ';';
  std::vector<PortRequest> requests;
  for (std::size_t begin = 0; begin <= annotation.size();) {
    const std::size_t end = std::min(annotation.find(separator, begin), annotation.size());
    const std::string_view line = annotation.substr(begin, end - begin);
    begin = end + 1;
    if (split_words(line).empty()) continue;  // a block scalar in YAML ends with a newline
    Result<PortRequest> request = parse_line(line, pod_namespace);
    if (!request) return pass(request);
    requests.push_back(std::move(*request));
  }
  if (requests.empty()) return bad_line(annotation, "asks for no port");
  return requests;
}

std::string encode_pool_bindings(const std::vector<PoolBinding>& bindings) {
  Array list;
  for (const PoolBinding& b : bindings) {
    Object entry{{"poolName", b.pool.name},
                 {"poolNamespace", b.pool.ns},
                 {"loadBalancerIDs", Array{Value(b.load_balancer_id)}},
                 {"poolItemLoadBalancers", Array{Object{{"loadbalancerID", b.load_balancer_id},
                                                        {"ips", Array{Value(b.address)}}}}},
                 {"poolItemName", b.item},
                 {"protocol", model::to_string(b.protocol)},
                 {"startPort", b.port},
                 {"endPort", 0},
                 {"rsStartPort", b.container_port}};
    if (!b.external.empty()) entry["external"] = b.external;
    list.push_back(std::move(entry));
  }
  return wire::to_json(list);
}

Result<std::vector<PoolBinding>> decode_pool_bindings(std::string_view annotation) {
  const auto bad = [](std::string_view why) {
    return fail(error_of(Code::invalid, "is not a list of bindings: {}", why)
                    .at(fmt::format("metadata.annotations[{}]", kPoolBindingsAnnotation)));
  };
  const Result<Value> json = wire::parse_json(annotation);
  if (!json) return bad(json.error().message);
  if (!json->is_array()) return bad("it is no JSON array");
  std::vector<PoolBinding> bindings;
  for (const Value& entry : json->get_array()) {
    const Result<model::Protocol> protocol =
        model::parse_protocol(wire::string_at(entry, "/protocol"));
    if (!protocol) return bad(protocol.error().message);
    const auto text = [&](std::string_view pointer) {
      return std::string(wire::string_at(entry, pointer));
    };
    const auto port = [&](std::string_view pointer) {
      return static_cast<model::Port>(
          std::clamp<std::int64_t>(wire::int_at(entry, pointer).value_or(0), 0, 65535));
    };
    bindings.push_back({.pool = {text("/poolNamespace"), text("/poolName")},
                        .item = text("/poolItemName"),
                        .load_balancer_id = text("/loadBalancerIDs/0"),
                        .address = text("/poolItemLoadBalancers/0/ips/0"),
                        .protocol = *protocol,
                        .port = port("/startPort"),
                        .container_port = port("/rsStartPort"),
                        .external = text("/external")});
  }
  return bindings;
}

}  // namespace berth::api
