// OpenAPI v3: an index of documents, one per group and version, for `kubectl explain`, `apply`,
// `create` and `diff`. Built-in kinds come from `field_table.h`, custom kinds from their
// definitions. Pure.
//
// No path here offers strategic merge: the table does not have every field, and kubectl then merges
// by what it knows of the built-in kinds itself.
#pragma once

#include <string_view>
#include <vector>

#include "net/server.h"
#include "sim/kube/kinds.h"

namespace berth::sim::kube {

inline constexpr std::string_view kOpenApi = "/openapi/v3";

// Version 2 is a document without anything. kubectl asks for it when version 3 does not have a
// kind, to learn that this one does not have it either.
net::Reply openapi_v2(std::string_view accept);

// `path` is what follows kOpenApi: nothing, or "/apis/apps/v1".
Outcome<net::Reply> openapi(std::string_view path, const std::vector<KindPtr>& kinds);

}  // namespace berth::sim::kube
