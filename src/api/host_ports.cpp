#include "api/host_ports.h"

#include <algorithm>

#include "base/text.h"

namespace berth::api {
namespace {

std::optional<model::Port> port_in(std::string_view text) {
  const Result<model::Port> port = model::parse_port(text);
  return port ? std::optional(*port) : std::nullopt;
}

}  // namespace

Result<model::PortRange> parse_host_port_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto bad = [&](std::string_view why) {
    return fail(error_of(Code::invalid, "'{}' is no range of ports: {}", text, why)
                    .with_hint("FIRST-LAST, both included, for example 20000-29999"));
  };
  if (dash == std::string_view::npos) return bad("it has no '-'");
  const Result<model::Port> first = model::parse_port(trimmed(text.substr(0, dash)));
  if (!first) return bad(first.error().message);
  const Result<model::Port> last = model::parse_port(trimmed(text.substr(dash + 1)));
  if (!last) return bad(last.error().message);
  if (*last < *first) return bad("it ends before it begins");
  return model::PortRange{*first, *last};
}

Result<std::vector<std::string>> parse_host_port_entries(std::string_view annotation) {
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin <= annotation.size();) {
    const std::size_t end = std::min(annotation.find(',', begin), annotation.size());
    std::string entry(trimmed(annotation.substr(begin, end - begin)));
    begin = end + 1;
    if (entry.empty() || std::ranges::find(entries, entry) != entries.end()) continue;
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) {
    return fail(error_of(Code::invalid, "'{}' names no port", annotation)
                    .at(fmt::format("metadata.annotations[{}]", kHostPortPortsAnnotation))
                    .with_hint("names or numbers of container ports, for example '8080,metric'"));
  }
  return entries;
}

std::string host_port_label(model::Port host_port) {
  return fmt::format("{}.{}", host_port, kHostPortLabel);
}

std::optional<model::Port> port_of_label(std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos || key.substr(dot + 1) != kHostPortLabel) return std::nullopt;
  return port_in(key.substr(0, dot));
}

std::string host_port_result_annotation(model::Port container_port) {
  return fmt::format("{}.{}", kHostPortAnnotation, container_port);
}

bool is_host_port_result(std::string_view annotation_key) {
  if (!annotation_key.starts_with(kHostPortAnnotation)) return false;
  annotation_key.remove_prefix(kHostPortAnnotation.size());
  return annotation_key.starts_with('.') && port_in(annotation_key.substr(1)).has_value();
}

std::string host_port_variable(model::Port container_port) {
  return fmt::format("{}{}", kHostPortVariablePrefix, container_port);
}

std::optional<model::Port> port_of_variable(std::string_view name) {
  if (!name.starts_with(kHostPortVariablePrefix)) return std::nullopt;
  return port_in(name.substr(kHostPortVariablePrefix.size()));
}

}  // namespace berth::api
