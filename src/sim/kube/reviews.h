// Questions about the one who asks: "kubectl auth can-i" and "auth whoami". Pure.
#pragma once

#include "sim/kube/authentication.h"
#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

// The object that was posted, with its answer in `status`.
wire::Value answer_review(const Access& access, const User& user, const Kind& kind,
                          wire::Value review);

}  // namespace berth::sim::kube
