// How objects are written into answers: in the version asked for, whole, metadata only or as rows
// of a table. Pure, but for texts that are kept.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
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

  // Objects look as they are stored.
  bool shows_stored() const { return !metadata_only && !table && !served.converts(); }
};

// From the Accept header: the first range that can be served decides, since clients list their
// fallback after it. Without any it is JSON.
Outcome<Representation> representation_of(const ServedKind& served, std::string_view accept,
                                          const RequestInfo& info);

// Texts of stored objects. One that was written is shown several times (in the answer, to each
// watch, in lists), so the last ones are kept. Thread-safe; owned by the server.
class ObjectTexts {
 public:
  // Without its type: as items of built-in lists.
  void append(std::string& out, const ObjectPtr& object, const Representation& shape,
              bool with_type);

 private:
  struct Text {
    ObjectPtr object{};  // while it is kept, no other can be at its address
    std::string api_version{};
    std::string whole{};
    std::size_t fields = 0;  // where they begin, behind the type
  };
  std::shared_ptr<const Text> of(const ObjectPtr& object, const Representation& shape);

  // Each object has one place, by its address. More than are shown again and again.
  static constexpr std::size_t kPlaces = 512;
  Mutex mu_;
  std::array<std::shared_ptr<const Text>, kPlaces> kept_ GUARDED_BY(mu_);
};

// Ages in a table are as of `now`.
void append_object(std::string& out, const ObjectPtr& object, const Representation& shape,
                   WallTime now, ObjectTexts& texts);
// One that is not stored.
void append_object(std::string& out, const wire::Value& object, const Representation& shape,
                   WallTime now);

struct ListMetadata {
  std::uint64_t version = 0;
  std::string continue_token{};
  std::size_t remaining = 0;  // 0: not said
};
std::string list_text(const std::vector<ObjectPtr>& items, const ListMetadata& metadata,
                      const Representation& shape, WallTime now, ObjectTexts& texts);

// One line of a watch.
void append_event(std::string& out, std::string_view type, const ObjectPtr& object,
                  const Representation& shape, WallTime now, ObjectTexts& texts);
void append_bookmark(std::string& out, std::uint64_t version, bool initial_events_end,
                     const Representation& shape);
void append_error_event(std::string& out, const ApiError& error);

}  // namespace berth::sim::kube
