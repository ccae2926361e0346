// Finds claims that can be used again: those of one Pod, matched with what is asked for now. Pure.
#pragma once

#include "claims/slot_index.h"

namespace berth::claims {

// The locks of one earlier Pod, by entry of its request and in the order of that entry's protocols.
using LocksByEntry = std::vector<std::vector<ListenerPtr>>;

// The locks that one claim token has, if they answer these requests: each entry with all of its
// protocols on one port. Among several that fit, those that a Pod was bound to go first, then the
// newest. Empty when none fits.
LocksByEntry newest_match(const std::vector<SlotRequest>& requests,
                          const std::vector<ListenerPtr>& locks,
                          const std::function<bool(const ledger::Claim&)>& fits);
// The same with the oldest.
LocksByEntry oldest_match(const std::vector<SlotRequest>& requests,
                          const std::vector<ListenerPtr>& locks,
                          const std::function<bool(const ledger::Claim&)>& fits);

}  // namespace berth::claims
