// What a kind of ours is apart from its fields: names, columns, and the CRD made from them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind_table.h"
#include "kube/cache/object_meta.h"
#include "kube/client/resource.h"
#include "wire/value.h"

namespace berth::api {

// How pools, their items and the ports of a Pod stand.
inline constexpr std::string_view kReady = "Ready";
inline constexpr std::string_view kNotReady = "NotReady";

inline constexpr std::string_view kNetworkExtensionGroup = "networkextension.bkbcs.tencent.com";

struct PrinterColumn {
  std::string_view name;
  std::string_view type;  // "string", "integer", "date"
  std::string_view json_path;
};

// Another version under which objects of a kind are served; the schema is the same, and they are
// stored in the kind's own version.
struct ServedVersion {
  std::string_view name;
  bool deprecated = false;
};

struct KindInfo {
  kube::ResourceType type;
  std::string_view singular;
  std::vector<std::string_view> short_names{};
  std::string_view doc;
  bool status_subresource = true;
  std::vector<PrinterColumn> columns{};
  std::span<const Field> (*spec_fields)() = nullptr;
  std::span<const Field> (*status_fields)() = nullptr;
  std::vector<ServedVersion> also_served{};
};

// The CustomResourceDefinition, with a structural schema from the kind's table.
wire::Value crd_of(const KindInfo& kind);

}  // namespace berth::api
