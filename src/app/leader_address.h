// What the leader says on its Lease: where other replicas reach it. Pure.
//
// Whoever may write the Lease could send other replicas anywhere, so the address is sealed with our
// keys, for this holder of this Lease: what another leader said once, or another installation,
// leads nobody.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/key_ring.h"
#include "kube/runtime/leader_election.h"

namespace berth::app {

// "192.0.2.1:9444" with its seal; empty without keys.
std::string sealed_notice(const crypto::KeyRing& ring, std::string_view ns,
                          std::string_view identity, std::string_view address);

// `unavailable`: the holder has said nothing; `forbidden`: it was not the holder who said it. The
// message is for those who asked for the leader.
Result<std::string> address_in(const crypto::KeyRing& ring, std::string_view ns,
                               const kube::LeaseHolder& holder);

// What others call where nothing else is said: the address on which we listen, if it is one.
// `invalid`: what is said is no address.
Result<std::string> advertised_address(std::string_view said, std::string_view listening);

}  // namespace berth::app
