// OpenAPI v3: an index of documents, one per group and version, for `kubectl explain`, `apply`,
// `create` and `diff`. Built-in kinds come from `field_table.h`, custom kinds from their
// definitions. Pure.
//
// Version 2 is not served. kubectl asks for it only to merge objects of its built-in kinds, and
// falls back to what it knows of them; that is also why no path here offers strategic merge: the
// table does not have every field.
#pragma once

#include <string_view>
#include <vector>

#include "net/server.h"
#include "sim/kube/kinds.h"

namespace berth::sim::kube {

inline constexpr std::string_view kOpenApi = "/openapi/v3";

// `path` is what follows kOpenApi: nothing, or "/apis/apps/v1".
Outcome<net::Reply> openapi(std::string_view path, const std::vector<KindPtr>& kinds);

}  // namespace berth::sim::kube
