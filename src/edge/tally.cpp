#include "edge/tally.h"

namespace berth::edge {

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::target: return "target";
    case Reason::files: return "files";
    case Reason::listener: return "listener";
    case Reason::client: return "client";
  }
  return "";
}

Reason reason_of(Bound bound) {
  return bound == Bound::listener ? Reason::listener : Reason::client;
}

}  // namespace berth::edge
