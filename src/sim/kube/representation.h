// How objects are written into answers: in the version asked for, whole, metadata only or as rows
// of a table. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "sim/kube/kinds.h"
#include "sim/kube/request_info.h"
#include "sim/kube/storage.h"

namespace berth::sim::kube {

// What stands beside the cells of a row (`includeObject`).
enum class RowObject : std::uint8_t { none, metadata, whole };

struct Representation {
  ServedKind served{};
  std::string api_version{};
  std::string kind{};
  std::string list_kind{};
  bool metadata_only = false;
  // Items of built-in lists carry neither kind nor apiVersion.
  bool typed_items = false;
  bool table = false;
  RowObject row_object = RowObject::metadata;
};

// From the Accept header: the first range that can be served decides, since clients list their
// fallback after it. Without any it is JSON.
Outcome<Representation> representation_of(const ServedKind& served, std::string_view accept,
                                          const RequestInfo& info);

// Ages in a table are as of `now`.
void append_object(std::string& out, const wire::Value& object, const Representation& shape,
                   WallTime now);

struct ListMetadata {
  std::uint64_t version = 0;
  std::string continue_token{};
  std::size_t remaining = 0;  // 0: not said
};
std::string list_text(const std::vector<ObjectPtr>& items, const ListMetadata& metadata,
                      const Representation& shape, WallTime now);

// One line of a watch.
void append_event(std::string& out, std::string_view type, const wire::Value& object,
                  const Representation& shape, WallTime now);
void append_bookmark(std::string& out, std::uint64_t version, bool initial_events_end,
                     const Representation& shape);
void append_error_event(std::string& out, const ApiError& error);

}  // namespace berth::sim::kube
