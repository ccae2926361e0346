// Writing to a Listener that must still be as we know it.
#pragma once

#include "base/context.h"
#include "claims/slot.h"
#include "kube/client/client.h"
#include "wire/value.h"

namespace berth::claims {

struct ListenerPatch {
  wire::Array tests{};
  wire::Array changes{};
  // Nothing but metadata may have changed in between, though it be what it was again.
  bool same_generation = false;

  bool empty() const { return changes.empty(); }
};

// That it is this object, with this claim and this spec.
wire::Array tests_of(const api::Listener& known);

// `precondition`: it is not as we know it; we know it now. What the server answers is remembered.
//
// A spec is tested as we write it. People write the same in other words (`endPort: 0`): then the
// object is read, and its version is the test.
Result<> write_listener(const Context& context, kube::Client& client, ListenerStore& store,
                        const api::Listener& known, const ListenerPatch& patch);

}  // namespace berth::claims
