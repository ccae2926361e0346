// What happened in a run: a hash of everything that was decided, and the last events as text.
//
// Two runs that did the same have the same hash, in every process and on every machine: nothing
// folded into it is a pointer, a hash-table order or a real time. Owned by the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace berth::sim {

class Trace {
 public:
  // `keep`: how many events `recent` can show.
  explicit Trace(std::size_t keep);

  void fold(std::uint64_t word);
  void fold(std::string_view text);

  struct Moment {
    std::uint64_t step;
    Instant at;
  };
  // Folds the event and keeps its text, cut to fit.
  void event(Moment moment, std::string_view who, std::string_view what, std::string_view about);

  std::uint64_t hash() const { return hash_; }
  // The last events, one a line, oldest first.
  std::string recent() const;

 private:
  // Fixed in size, so that keeping an event allocates nothing.
  template <std::size_t N>
  struct Text {
    std::array<char, N> chars;
    std::uint8_t size = 0;
    explicit Text(std::string_view text);
    std::string_view view() const { return {chars.data(), size}; }
  };
  struct Event {
    Moment moment;
    Text<30> who;
    Text<20> what;
    Text<60> about;
  };

  std::size_t keep_;
  std::size_t next_ = 0;  // the oldest, once the ring is full
  std::vector<Event> ring_;
  std::uint64_t hash_;
};

}  // namespace berth::sim
