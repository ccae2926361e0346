#include "sim/kernel/trace.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace berth::sim {
namespace {

constexpr std::uint64_t kHashStart = 0xCBF29CE484222325u;
constexpr std::uint64_t kHashFactor = 0x9E3779B97F4A7C15u;  // odd, with its bits well spread

}  // namespace

template <std::size_t N>
Trace::Text<N>::Text(std::string_view text)
    : size(static_cast<std::uint8_t>(std::min(text.size(), N))) {
  static_assert(N <= 255);
  std::copy_n(text.begin(), size, chars.begin());
}

Trace::Trace(std::size_t keep) : keep_(keep), hash_(kHashStart) { ring_.reserve(keep); }

void Trace::fold(std::uint64_t word) { hash_ = std::rotl((hash_ ^ word) * kHashFactor, 29); }

void Trace::fold(std::string_view text) {
  fold(std::uint64_t{text.size()});
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), taken);
    fold(word);
    text.remove_prefix(taken);
  }
}

void Trace::event(Moment moment, std::string_view who, std::string_view what,
                  std::string_view about) {
  fold(moment.step);
  fold(static_cast<std::uint64_t>(moment.at.time_since_epoch().count()));
  fold(who);
  fold(what);
  fold(about);
  if (keep_ == 0) return;
  const Event event{moment, Text<30>(who), Text<20>(what), Text<60>(about)};
  if (ring_.size() < keep_) {
    ring_.push_back(event);
  } else {
    ring_[next_] = event;
    next_ = (next_ + 1) % keep_;
  }
}

std::string Trace::recent() const {
  std::string out;
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    const Event& event = ring_[(next_ + i) % ring_.size()];
    out += fmt::format("  step {} at {:.6f}s {}: {} {}\n", event.moment.step,
                       to_seconds(event.moment.at.time_since_epoch()), event.who.view(),
                       event.what.view(), event.about.view());
  }
  return out;
}

}  // namespace berth::sim
