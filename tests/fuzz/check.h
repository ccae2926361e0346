// What fuzz targets share: a check that stays on in every build, and cutting input into chunks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::fuzz {

inline void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

struct Fed {
  std::vector<std::string> messages;
  bool ok = true;
};

// Feeds the bytes in chunks of 1 to 16, whose sizes follow from the seed.
template <class Splitter>
Fed feed_in_chunks(Splitter& splitter, std::string_view bytes, std::uint32_t seed) {
  Fed fed;
  while (fed.ok && !bytes.empty()) {
    seed = seed * 1664525u + 1013904223u;
    // A copy of its own lets ASan see a read past the end of the chunk.
    const std::string chunk(bytes.substr(0, 1 + (seed >> 28)));
    fed.ok = splitter
                 .feed(chunk,
                       [&](std::string_view message) -> Result<> {
                         fed.messages.emplace_back(message);
                         return {};
                       })
                 .has_value();
    bytes.remove_prefix(chunk.size());
  }
  return fed;
}

template <class Splitter>
Fed feed_whole(Splitter& splitter, std::string_view bytes) {
  Fed fed;
  fed.ok = splitter
               .feed(bytes,
                     [&](std::string_view message) -> Result<> {
                       fed.messages.emplace_back(message);
                       return {};
                     })
               .has_value();
  return fed;
}

}  // namespace berth::fuzz
