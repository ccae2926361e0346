#include "base/random.h"

#include <bit>
#include <random>

namespace berth {

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) {  // splitmix64, as the authors of xoshiro advise for seeding
    seed += 0x9E3779B97F4A7C15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    word = z ^ (z >> 31);
  }
}

Random Random::from_entropy() {
  std::random_device device;
  return Random((std::uint64_t{device()} << 32) | device());
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  const std::uint64_t reject_under = (0 - bound) % bound;  // removes the bias of the modulo
  for (;;) {
    const std::uint64_t value = next();
    if (value >= reject_under) return value % bound;
  }
}

double Random::unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

Duration Random::jittered(Duration span, double fraction) {
  return span + Duration{static_cast<Duration::rep>(static_cast<double>(span.count()) * fraction *
                                                    unit())};
}

}  // namespace berth
