// Cut streams into messages as bytes arrive: watch lines, protobuf watch frames, and the items of a
// JSON list.
//
// Each splitter is fed chunks of any size and hands out views of whole messages; a view lives
// during the visit, and points into the chunk where the message lies in it whole. An error of the
// visitor ends `feed` with that error. Each splitter has a bound and fails past it, so a peer
// cannot make us hoard. After an error a splitter is of no more use. Owned by one task.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/json_reader.h"

namespace berth::wire {

// The largest watch event or list item we accept.
inline constexpr std::size_t kMaxMessageBytes = 16u << 20;

using MessageVisitor = FunctionRef<Result<>(std::string_view message)>;

// One JSON document per line; blank lines are passed over. The message is the line without its end.
class LineSplitter {
 public:
  Result<> feed(std::string_view chunk, MessageVisitor visit);
  // At the end of the stream: fails when a part of a line is left (the stream was truncated).
  Result<> finish() const;

 private:
  std::string partial_;
};

// A 4-byte big-endian length, then that many bytes.
class LengthSplitter {
 public:
  Result<> feed(std::string_view chunk, MessageVisitor visit);
  Result<> finish() const;

 private:
  std::string partial_;
};

// The elements of the top-level "items" array of one JSON object, each as it completes; everything
// else of the object (apiVersion, kind, metadata) is kept and handed out by `finish` as an object
// without items. Elements must be objects; "items" may be null. Only what cutting needs is checked:
// whoever reads an item or the envelope checks its grammar.
class JsonItemSplitter {
 public:
  Result<> feed(std::string_view chunk, MessageVisitor visit_item);
  // The envelope. Fails when the document is not complete.
  Result<std::string> finish() const;

 private:
  enum class Place : unsigned char {
    before,       // the document has not begun
    members,      // among the members of the document
    after_items,  // behind the array, before the next member
    first_item,   // an item or the end of the array must follow
    next_item,    // an item must follow
    item,         // inside an item
    after_item,   // a comma or the end of the array must follow
    done,
  };
  Result<> pass_over(char c);
  Result<const char*> take_member(const char* at, const char* end);
  Result<> keep(std::string_view part);
  Result<> end_member();
  Result<const char*> take_item(const char* at, const char* end, MessageVisitor visit_item);
  const char* skip_item(const char* at, const char* end);

  std::string item_;      // the beginning of the item under way, when it came in an earlier chunk
  std::string member_;    // the top-level member under way, without spaces
  std::string envelope_;  // the complete members, separated by commas
  Place place_ = Place::before;
  std::size_t depth_ = 0;  // brackets open in the item or member
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace berth::wire
