// What holds for every Pod that a decoder lets pass.
#pragma once

#include "check.h"
#include "kept_text.h"
#include "kube/cache/pod.h"

namespace berth::fuzz {

inline void check_pod(const Result<kube::Pod>& pod, const Result<kube::Pod>& again) {
  check(pod.has_value() == again.has_value(), "a second try ends the same way");
  if (!pod) {
    check(!pod.error().message.empty(), "errors say something");
    return;
  }
  check(*pod == *again, "a second try gives the same");
  check(!pod->meta.name.empty() && pod->meta.resource_version != 0, "name and version are there");
  for (const auto& [key, value] : pod->meta.labels) {
    check(kube::has(pod->meta.labels, key.view()), "every label is found");
  }
}

inline const kube::Projection<kube::Pod>& pods() {
  static const auto projection =
      kube::pod_projection({.annotations = kube::KeyFilter::everything(), .finalizers = true});
  return projection;
}

}  // namespace berth::fuzz
