// A module's part of `berth status` and `berth explain`. This folder reads the cluster and knows
// what every module stands on: the controller, load balancers, Listeners. All else is told by
// parts, which live in the folders of their modules (src/modules).
//
// Plain functions without state; one that is null has nothing to say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "base/context.h"
#include "claims/slot.h"
#include "kube/client/client.h"
#include "wire/value.h"

namespace berth::report {

struct ClusterView;
struct ExplainView;
struct Explanation;
struct Status;

// Objects that people may ask about by themselves, beside Pods and workloads.
struct ExplainedKind {
  const api::KindInfo& (*kind)() = nullptr;
  // As people write it ("ingress", "bcsingress"); the first is named in errors. Plural and kind are
  // known anyway.
  std::span<const std::string_view> words{};
  // What the telling needs beside the object and the cluster, into `view.around`.
  Result<> (*read)(const Context& context, kube::Client& client, ExplainView& view) = nullptr;
  // The object is `view.object`.
  void (*tell)(const ExplainView& view, Explanation& out) = nullptr;
};

struct Part {
  std::string_view module{};  // its name, as --without has it

  // Kinds that are read for it: `objects_of` has them.
  std::vector<const api::KindInfo*> (*kinds)() = nullptr;
  // What people see of it, and what is wrong with it.
  void (*add_status)(const ClusterView& view, Status& status) = nullptr;

  // Whether the Pod, its template or the workload asks for something of the module. Needed, as is
  // the next, to say anything of Pods.
  bool (*is_asked)(const ExplainView& view) = nullptr;
  // Why a Pod has or has not what it asks for (`teller.h`).
  void (*tell)(const ExplainView& view, Explanation& out) = nullptr;
  // Whether a Pod has it; nothing: it asks for nothing.
  std::optional<bool> (*is_served)(const wire::Value& pod) = nullptr;
  // "TCP 192.0.2.1:31000 kept for a Pod of this name until ...": empty for nothing.
  std::string (*kept_for)(const ClusterView& view, const kube::ObjectKey& pod) = nullptr;
  // Annotations that users write for it: those that are misspelt are known by them.
  std::span<const std::string_view> keys{};
  // The Listeners that lead to the Pod, or that the object has: for --probe.
  std::vector<claims::ListenerPtr> (*listeners_of)(const ExplainView& view) = nullptr;
  // Its own kinds that can be asked about.
  std::span<const ExplainedKind> explained{};
};

// Of all modules, whether on or off. The first that speaks of Pods is what people ask about most.
using Parts = std::vector<const Part*>;

}  // namespace berth::report
