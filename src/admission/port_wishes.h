// What a Pod under admission asks for: its annotations read together with its containers. Pure.
#pragma once

#include <string>
#include <vector>

#include "api/pod_ports.h"
#include "claims/slot_index.h"
#include "kube/admission/review.h"
#include "ledger/claim.h"

namespace berth::admission {

struct PortWishes {
  std::vector<claims::SlotRequest> ports{};  // their protocols are known
  Duration keep{};                           // how long its name keeps the ports
  bool wants_gate = false;                   // a readiness gate
  std::string hash{};                        // of what was asked for
  // What is given as asked for, and is hardly what was meant: a sentence each.
  std::vector<std::string> doubts{};
};

// Whether a Pod, or a template of one, asks for ports of a pool.
bool asks_for_ports(const wire::Value& pod);

// Errors name the Pod, the annotation, what was found and what is allowed. Names keep their ports
// for `max_keep` at the most.
Result<PortWishes> wishes_of(const kube::AdmissionRequest& request,
                             Duration max_keep = ledger::kMaxKeep);

// The uid of the Pod's controller; empty when it has none.
std::string controller_uid(const wire::Value& pod);

}  // namespace berth::admission
