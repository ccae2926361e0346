// `berth explain` about Pods that do not exist.
#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "report/teller.h"

namespace berth::report {
namespace {

using wire::Value;

// The numbers of a StatefulSet's Pods.
struct Ordinals {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Ordinals ordinals_of(const Value& workload) {
  return {.first = wire::int_at(workload, "/spec/ordinals/start").value_or(0),
          .count = wire::int_at(workload, "/spec/replicas").value_or(1)};
}

std::optional<std::int64_t> ordinal_of(std::string_view pod) {
  const std::string_view digits = pod.substr(pod.rfind('-') + 1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// "2 replicas, room-0 to room-1"
std::string replicas_of(const Value& workload, const Ordinals& pods) {
  const std::string_view name = wire::string_at(workload, "/metadata/name");
  if (pods.count == 0) return "0 replicas";
  if (pods.count == 1) return fmt::format("1 replica, {}-{}", name, pods.first);
  return fmt::format("{} replicas, {}-{} to {}-{}", pods.count, name, pods.first, name,
                     pods.first + pods.count - 1);
}

}  // namespace

std::string kept_for(const ClusterView& view, const kube::ObjectKey& pod) {
  std::string out;
  for (const Part* const part : view.parts) {
    const std::string kept = part->kept_for ? part->kept_for(view, pod) : std::string();
    if (!kept.empty()) out += (out.empty() ? "" : "; ") + kept;
  }
  return out;
}

bool tell_whether_there(const ExplainView& view, Explanation& out) {
  if (view.kind != "Pod" || view.pod.is_object()) return true;
  const std::string kept = kept_for(view.cluster, view.key);
  const std::string absent = fmt::format("there is no Pod {}", view.key.to_string());
  const Value& workload = view.workload;
  const Ordinals pods = ordinals_of(workload);
  const auto ordinal = ordinal_of(view.key.name);
  const bool can_be = ordinal && *ordinal >= pods.first && *ordinal < pods.first + pods.count;
  if (workload.is_null()) {
    out.steps.push_back({Verdict::bad, absent, "create it again: it gets what is kept for it"});
  } else if (!can_be) {
    const std::string_view kind = wire::string_at(workload, "/kind");
    const std::string_view name = wire::string_at(workload, "/metadata/name");
    std::string fix = "ask about one of its Pods";
    if (ordinal && *ordinal >= pods.first) {
      fix = fmt::format("kubectl scale {}/{} --replicas={} -n {} makes it, if it is wanted", kind,
                        name, *ordinal - pods.first + 1, view.key.ns);
    }
    out.steps.push_back(
        {Verdict::bad,
         fmt::format("{}: {} {} has {}", absent, kind, name, replicas_of(workload, pods)), fix});
  }
  if (!kept.empty()) out.steps.push_back({Verdict::good, kept, {}});
  return workload.is_object() && can_be;
}

}  // namespace berth::report
