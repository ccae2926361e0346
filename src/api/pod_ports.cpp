#include "api/pod_ports.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/walkers.h"
#include "base/text_memo.h"

namespace berth::api {
namespace {

using wire::Array;
using wire::Value;

constexpr std::string_view kGrammar =
    "each line is 'POOL PORT' or 'POOL PROTOCOL PORT', for example 'rooms TCP 8000': POOL is name, "
    "name.namespace, name/item or name/item.namespace; PROTOCOL is TCP, UDP, TCP_UDP or TCP_SSL; "
    "PORT is a container port's number or name, '/hostport' may follow it";
constexpr std::string_view kHostPortSuffix = "/hostport";
constexpr std::size_t kMaxPortName = 15;

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

Result<> read_pool(std::string_view word, std::string_view pod_namespace, PortRequest& out) {
  const auto bad = [&](std::string_view why) {
    return fail(Code::invalid, "pool '{}' {}", word, why);
  };
  if (std::ranges::count(word, '.') > 1) return bad("has more than one '.'");
  if (std::ranges::count(word, '/') > 1) return bad("has more than one '/'");
  const std::size_t dot = word.find('.');
  const std::string_view path = word.substr(0, dot);
  const std::size_t slash = path.find('/');
  if (word.find('/') != slash) return bad("has its '/' behind the '.'");
  const bool in_other = dot != std::string_view::npos;
  out.pool = {std::string(in_other ? word.substr(dot + 1) : pod_namespace),
              std::string(path.substr(0, slash))};
  if (out.pool.name.empty()) return bad("has no name");
  if (in_other && out.pool.ns.empty()) return bad("has no namespace behind the '.'");
  if (slash == std::string_view::npos) return {};
  out.item = path.substr(slash + 1);
  if (out.item.empty()) return bad("has no item behind the '/'");
  return {};
}

Result<std::vector<model::Protocol>> read_protocols(std::string_view word) {
  if (word == "TCP_UDP") return std::vector{model::Protocol::tcp, model::Protocol::udp};
  const Result<model::Protocol> one = parse_pool_protocol(word);
  if (!one)
    return fail(Code::invalid, "protocol '{}' is not one of TCP, UDP, TCP_UDP, TCP_SSL", word);
  return std::vector{*one};
}

// As Kubernetes has it for ports of containers.
bool is_port_name(std::string_view word) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return word.size() <= kMaxPortName && std::ranges::any_of(word, is_letter) &&
         std::ranges::all_of(
             word, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

bool ends_with_host_port(std::string_view word) {
  if (word.size() < kHostPortSuffix.size()) return false;
  return std::ranges::equal(
      word.substr(word.size() - kHostPortSuffix.size()), kHostPortSuffix,
      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

Result<> read_port(std::string_view word, PortRequest& out) {
  if (ends_with_host_port(word)) {
    out.host_port = true;
    word.remove_suffix(kHostPortSuffix.size());
  }
  if (is_port_name(word)) {
    out.port_name = word;
    return {};
  }
  const Result<model::Port> port = model::parse_port(word);
  if (!port)
    return fail(Code::invalid, "port '{}' is neither 1-65535 nor a container port's name", word);
  out.port = *port;
  return {};
}

Result<PortRequest> parse_line(std::string_view line, std::string_view pod_namespace) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.size() != 2 && words.size() != 3)
    return bad_line(line, fmt::format("has {} words, not 2 or 3", words.size()));
  PortRequest request;
  if (Result<> pool = read_pool(words[0], pod_namespace, request); !pool)
    return bad_line(line, pool.error().message);
  if (words.size() == 3) {
    Result<std::vector<model::Protocol>> protocols = read_protocols(words[1]);
    if (!protocols) return bad_line(line, protocols.error().message);
    request.protocols = std::move(*protocols);
  }
  if (Result<> port = read_port(words.back(), request); !port)
    return bad_line(line, port.error().message);
  return request;
}

Failure bad_bindings(std::string_view why) {
  return fail(error_of(Code::invalid, "is not a list of bindings: {}", why)
                  .at(fmt::format("metadata.annotations[{}]", kPoolBindingsAnnotation)));
}

Result<> check_binding(const PortBindingItem& item) {
  if (const auto protocol = parse_pool_protocol(item.protocol); !protocol)
    return fail(protocol.error());
  const auto is_port = [](std::int64_t n) { return model::port_of(n) != 0; };
  if (!is_port(item.start_port)) return fail(Code::invalid, "startPort {}", item.start_port);
  if (!is_port(item.rs_start_port))
    return fail(Code::invalid, "rsStartPort {}", item.rs_start_port);
  if (item.end_port != 0 && (!is_port(item.end_port) || item.end_port < item.start_port))
    return fail(Code::invalid, "endPort {}", item.end_port);
  return {};
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
    if (requests.size() == kMaxPortRequests)
      return bad_line(line, fmt::format("is one more than the {} allowed lines", kMaxPortRequests));
    Result<PortRequest> request = parse_line(line, pod_namespace);
    if (!request) return pass(request);
    requests.push_back(std::move(*request));
  }
  if (requests.empty()) return bad_line(annotation, "asks for no port");
  return requests;
}

PortBindingItem told_of(const kube::ObjectKey& pool, const PortPoolItemStatus& item,
                        model::Protocol protocol, model::PortRange ports, model::PodPort pod_port) {
  return {.pool_name = pool.name,
          .pool_namespace = pool.ns,
          .load_balancer_ids = item.load_balancer_ids,
          .pool_item_load_balancers = item.pool_item_load_balancers,
          .pool_item_name = item.item_name,
          .protocol = std::string(pool_protocol_text(protocol)),
          .start_port = ports.first,
          .end_port = ports.size() > 1 ? ports.last : 0,
          .rs_start_port = pod_port.port,
          .host_port = pod_port.on_host,
          .external = item.external};
}

std::string encode_pool_bindings(const std::vector<PortBindingItem>& bindings) {
  Array list;
  for (const PortBindingItem& item : bindings) list.push_back(encode(item));
  return wire::to_json(list);
}

namespace {

Result<std::vector<PortBindingItem>> parse_pool_bindings(std::string_view annotation) {
  const Result<Value> json = wire::parse_json(annotation);
  if (!json) return bad_bindings(json.error().message);
  if (!json->is_array()) return bad_bindings("it is no JSON array");
  // The list becomes the field of an object: readers take objects alone.
  PortBindingSpec spec;
  wire::JsonReader reader;
  Result<> read = reader.read(
      fmt::format(R"({{"list":{}}})", annotation), [&](std::string_view, wire::JsonNode list) {
        list.items(
            [&](wire::JsonNode item) { decode(spec.port_binding_list.emplace_back(), item); });
      });
  if (!read) return bad_bindings(read.error().message);
  for (const PortBindingItem& item : spec.port_binding_list) {
    if (Result<> sound = check_binding(item); !sound) return bad_bindings(sound.error().message);
  }
  return std::move(spec.port_binding_list);
}

// Of Pods that are looked at again and again.
constexpr std::size_t kKnownBindings = 256;

}  // namespace

Result<std::vector<PortBindingItem>> decode_pool_bindings(std::string_view annotation) {
  static thread_local TextMemo<std::vector<PortBindingItem>, kKnownBindings> known;
  if (const auto* const items = known.find(annotation)) return *items;
  Result<std::vector<PortBindingItem>> parsed = parse_pool_bindings(annotation);
  if (parsed) known.put(annotation, *parsed);
  return parsed;
}

}  // namespace berth::api
