// How objects are written into answers: in the version asked for, whole or metadata only. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "sim/kube/kinds.h"
#include "sim/kube/storage.h"

namespace berth::sim::kube {

struct Representation {
  std::string api_version{};
  std::string kind{};
  std::string list_kind{};
  bool metadata_only = false;
  // Items of built-in lists carry neither kind nor apiVersion.
  bool typed_items = false;
};

// From the Accept header. Of what clients may ask for, JSON and metadata only are served.
Representation representation_of(const ServedKind& served, const net::Request& request);

void append_object(std::string& out, const wire::Value& object, const Representation& shape);

struct ListMetadata {
  std::uint64_t version = 0;
  std::string continue_token{};
  std::size_t remaining = 0;  // 0: not said
};
std::string list_text(const std::vector<ObjectPtr>& items, const ListMetadata& metadata,
                      const Representation& shape);

// One line of a watch.
void append_event(std::string& out, std::string_view type, const wire::Value& object,
                  const Representation& shape);
void append_bookmark(std::string& out, std::uint64_t version, bool initial_events_end,
                     const Representation& shape);
void append_error_event(std::string& out, const ApiError& error);

}  // namespace berth::sim::kube
