// What some protocols can have at a provider and others cannot. It is not asked for where it cannot
// be, and whoever writes it is told: a provider that refuses it makes no listener, and one that
// forgets it differs from what is wished at every audit. Plain values.
#pragma once

#include "model/protocol.h"
#include "model/provider.h"

namespace berth::model {

enum class Attribute : std::uint8_t {
  session_time,  // clients stay with their target for so long
  http_probe,    // targets are asked by HTTP
  rate,          // a bound of new connections or requests
};

bool can_have(Provider provider, Protocol protocol, Attribute attribute);

}  // namespace berth::model
