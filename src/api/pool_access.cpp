#include "api/pool_access.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "api/dns_names.h"
#include "base/text.h"

namespace berth::api {
namespace {

// Longer lists are a selector's work.
constexpr std::size_t kMaxEntries = 256;
constexpr std::size_t kMaxLabelKey = 253 + 1 + 63;
constexpr std::size_t kMaxLabelValue = 63;

Error bad(std::string_view annotation, std::string message, std::string hint) {
  return error_of(Code::invalid, "{}", message)
      .at(fmt::format("metadata.annotations[{}]", annotation))
      .with_hint(std::move(hint));
}

std::vector<std::string_view> entries_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    out.push_back(trimmed(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return out;
}

bool is_label_text(std::string_view text, std::size_t most) {
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return text.size() <= most && !text.empty() && alphanumeric(text.front()) &&
         alphanumeric(text.back()) && std::ranges::all_of(text, [&](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '/';
         });
}

std::optional<SelectorTerm> parse_term(std::string_view text) {
  using Kind = SelectorTerm::Kind;
  SelectorTerm out{.kind = Kind::exists};
  std::string_view key = text;
  if (text.starts_with('!')) {
    out.kind = Kind::missing;
    key = trimmed(text.substr(1));
  } else if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    const bool differs = equals > 0 && text[equals - 1] == '!';
    out.kind = differs ? Kind::differs : Kind::equals;
    key = trimmed(text.substr(0, differs ? equals - 1 : equals));
    std::string_view value = text.substr(equals + 1);
    if (!differs && value.starts_with('=')) value.remove_prefix(1);
    value = trimmed(value);
    const bool possible = value.empty() || (is_label_text(value, kMaxLabelValue) &&
                                            value.find('/') == std::string_view::npos);
    if (!possible) return std::nullopt;
    out.value = std::string(value);
  }
  if (!is_label_text(key, kMaxLabelKey)) return std::nullopt;
  out.key = std::string(key);
  return out;
}

Result<> read_list(std::string_view text, PoolAccess& out) {
  for (const std::string_view entry : entries_of(text)) {
    if (!is_dns_label(entry) || out.namespaces.size() == kMaxEntries) {
      return fail(bad(kAllowedNamespacesAnnotation,
                      fmt::format("'{}' is no name of a namespace", entry.substr(0, kMaxDnsLabel)),
                      fmt::format("names with commas between them, {} at the most, for example "
                                  "games,studios",
                                  kMaxEntries)));
    }
    out.namespaces.emplace_back(entry);
  }
  return {};
}

Result<> read_selector(std::string_view text, PoolAccess& out) {
  for (const std::string_view entry : entries_of(text)) {
    std::optional<SelectorTerm> term = parse_term(entry);
    if (!term || out.selector.size() == kMaxEntries) {
      return fail(bad(kAllowedSelectorAnnotation,
                      fmt::format("'{}' is no term of a selector", entry.substr(0, kMaxDnsLabel)),
                      "key=value, key!=value, key or !key, with commas between them"));
    }
    out.selector.push_back(std::move(*term));
  }
  return {};
}

Result<> read_bound(std::string_view text, PoolAccess& out) {
  std::size_t most = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), most);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(bad(kMaxPortsAnnotation, fmt::format("'{}' is no number", text.substr(0, 20)),
                    "a whole number, 0 or more"));
  }
  out.max_ports = most;
  return {};
}

}  // namespace

bool SelectorTerm::holds(const std::map<std::string, std::string>& labels) const {
  const auto it = labels.find(key);
  switch (kind) {
    case Kind::equals: return it != labels.end() && it->second == value;
    case Kind::differs: return it == labels.end() || it->second != value;
    case Kind::exists: return it != labels.end();
    case Kind::missing: return it == labels.end();
  }
  return false;
}

bool PoolAccess::lists(std::string_view ns) const {
  return !restricted || std::ranges::find(namespaces, ns) != namespaces.end();
}

bool PoolAccess::selects(const std::map<std::string, std::string>& labels) const {
  return !selector.empty() && std::ranges::all_of(selector, [&](const SelectorTerm& term) {
    return term.holds(labels);
  });
}

Result<PoolAccess> pool_access(const kube::StringMap& annotations) {
  PoolAccess out;
  const auto read = [&](std::string_view key, Result<> (*into)(std::string_view, PoolAccess&)) {
    return kube::has(annotations, key) ? into(trimmed(kube::get(annotations, key)), out)
                                       : Result<>();
  };
  out.restricted = kube::has(annotations, kAllowedNamespacesAnnotation) ||
                   kube::has(annotations, kAllowedSelectorAnnotation);
  if (Result<> ok = read(kAllowedNamespacesAnnotation, read_list); !ok) return pass(ok);
  if (Result<> ok = read(kAllowedSelectorAnnotation, read_selector); !ok) return pass(ok);
  if (Result<> ok = read(kMaxPortsAnnotation, read_bound); !ok) return pass(ok);
  return out;
}

kube::StringMap access_annotations(const wire::Value& object) {
  kube::StringMap out;
  for (const std::string_view key :
       {kAllowedNamespacesAnnotation, kAllowedSelectorAnnotation, kMaxPortsAnnotation}) {
    const wire::Value* const found =
        wire::find(object, "/metadata/annotations/" + wire::escape_pointer_step(key));
    if (found && found->is_string())
      out.emplace_back(kube::Interned(key), std::string(found->get_string()));
  }
  return out;
}

}  // namespace berth::api
