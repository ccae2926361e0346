// Tells people what they forgot, while they can still see it: warnings of the API server that
// kubectl prints. Never refuses anything. Pure.
//
// What is asked about, and in which namespaces, is in the webhook configuration
// (controllers/install/plan.cpp).
#pragma once

#include "kube/admission/review.h"

namespace berth::admission {

// A workload that asks for ports on itself: its Pods do not have the annotation, and get none.
kube::AdmissionAnswer hint_template(const kube::AdmissionRequest& request);
// A Pod or a workload that asks for ports in a namespace without the label.
kube::AdmissionAnswer hint_namespace(const kube::AdmissionRequest& request);

}  // namespace berth::admission
