// The token that leads from one page of a list to the next, as kube-apiserver spells it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/kube/api_error.h"

namespace berth::sim::kube {

struct ContinueToken {
  // The version that all pages show; 0 goes on with whatever is current.
  std::uint64_t version = 0;
  // The last key of the page before, below the list's prefix.
  std::string after{};

  std::string encode() const;
  static Outcome<ContinueToken> decode(std::string_view text);
};

}  // namespace berth::sim::kube
