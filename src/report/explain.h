// `berth explain`: why a Pod has or has not its ports, and why an object of ours is not as it
// should be, step by step, each with what to do about it. Pure, but for the reading.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/cluster.h"
#include "wire/value.h"

namespace berth::report {

enum class Verdict : std::uint8_t { good, wait, bad };

struct Step {
  Verdict verdict = Verdict::good;
  std::string what{};
  std::string fix{};  // of a bad one
};

struct Explanation {
  std::string object{};  // "Pod games/room-0"
  std::vector<Step> steps{};

  // Nothing is left to wait for or to repair.
  bool ready() const;
};

struct ExplainView {
  ClusterView cluster{};
  // "Pod", "Deployment", "StatefulSet", "GameStatefulSet", "ReplicaSet"; "Listener", or what a part
  // explains.
  std::string kind{};
  kube::ObjectKey key{};
  wire::Value ns{};        // null: not there, or not for us to see
  wire::Value pod{};       // null: there is none
  wire::Value workload{};  // the one that makes such Pods, null when there is none
  // What the workload was told when a Pod of it was refused, the newest last.
  std::vector<std::string> failures{};
  wire::Value object{};  // the one of another kind that is asked about; null: it is none of them
  // What its telling needs, by the plural of its kind.
  std::map<std::string, std::vector<wire::Value>> around{};
};

// "pod/room-0", "deployment/lobby", as kubectl has it. Errors list what is allowed.
Result<std::pair<std::string, std::string>> parse_target(std::string_view text,
                                                         const Parts& parts = {});

// `not_found`: neither the object nor a workload of it is there.
Result<ExplainView> read_for_explain(const Context& context, kube::Client& client,
                                     const Parts& parts, const std::string& controller_ns,
                                     const std::string& kind, const kube::ObjectKey& key);

Explanation explain(const ExplainView& view);
std::string to_text(const Explanation& explanation);
wire::Value to_json(const Explanation& explanation);

}  // namespace berth::report
