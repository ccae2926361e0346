// Who may use a pool, and how much of it: annotations of ours on the PortPool, because upstream's
// schema would prune a field. Pure functions.
//
// Without them everybody may, as ever. A pool's own namespace always may; others when they are
// listed or selected. An annotation that cannot be read lets nobody in from elsewhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/cache/object_meta.h"
#include "wire/value.h"

namespace berth::api {

// "games,studios": names of namespaces.
inline constexpr std::string_view kAllowedNamespacesAnnotation = "berth.dev/allowed-namespaces";
// "team=x,tier!=test": labels of namespaces; all terms must hold. Terms: key=value, key!=value,
// key, !key.
inline constexpr std::string_view kAllowedSelectorAnnotation =
    "berth.dev/allowed-namespace-selector";
// "20": ports of the pool that Pods of one namespace may have at one time; its own counts too.
inline constexpr std::string_view kMaxPortsAnnotation = "berth.dev/max-ports-per-namespace";

struct SelectorTerm {
  enum class Kind : std::uint8_t { equals, differs, exists, missing };
  Kind kind = Kind::equals;
  std::string key{};
  std::string value{};

  bool holds(const std::map<std::string, std::string>& labels) const;
};

struct PoolAccess {
  bool restricted = false;  // others need to be listed or selected
  std::vector<std::string> namespaces{};
  std::vector<SelectorTerm> selector{};
  std::optional<std::size_t> max_ports{};

  // Any namespace but the pool's own.
  bool lists(std::string_view ns) const;
  bool selects(const std::map<std::string, std::string>& labels) const;
};

// Errors name the annotation, what was found and what is allowed.
Result<PoolAccess> pool_access(const kube::StringMap& annotations);

// The annotations above, of an object as JSON; for comparing.
kube::StringMap access_annotations(const wire::Value& object);

}  // namespace berth::api
