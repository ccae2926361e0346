// Which Pods have ports that would be taken from them. Pure.
#pragma once

#include <string>
#include <vector>

#include "api/listener.h"
#include "wire/value.h"

namespace berth::controllers::install {

// Pods that live and hold a port: "games/room-0", in order. By the claims on Listeners, because
// people may take the label of a Pod off; what another controller leads to a Pod counts too.
std::vector<std::string> port_holders(const std::vector<api::Listener>& listeners,
                                      const std::vector<wire::Value>& pods);

}  // namespace berth::controllers::install
