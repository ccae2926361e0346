// FNV-1a: a hash that is the same in every process and on every machine, so that it may be written
// into names and annotations. Fast and well spread, and easy to forge: proof is `crypto`'s.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

template <class Word, Word kBegin, Word kPrime>
class BasicFnv1a {
 public:
  constexpr BasicFnv1a& add(std::string_view bytes) {
    for (const char c : bytes) add(static_cast<unsigned char>(c));
    return *this;
  }
  constexpr BasicFnv1a& add(unsigned char byte) {
    value_ = static_cast<Word>((value_ ^ byte) * kPrime);
    return *this;
  }
  constexpr Word value() const { return value_; }

 private:
  Word value_ = kBegin;
};

using Fnv1a32 = BasicFnv1a<std::uint32_t, 2166136261u, 16777619u>;
using Fnv1a64 = BasicFnv1a<std::uint64_t, 14695981039346656037u, 1099511628211u>;

}  // namespace berth
