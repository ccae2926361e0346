#include "report/teller.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "admission/pod_patch.h"
#include "base/spelling.h"

namespace berth::report {
namespace {

using admission::has_annotation;
using wire::Array;
using wire::Value;

// "Deployment lobby"
std::string name_of(const Value& object) {
  return fmt::format("{} {}", wire::string_at(object, "/kind"),
                     wire::string_at(object, "/metadata/name"));
}

// A misspelt key of the object, and what was meant: the nearest that users write for any part.
// Other keys are none of ours.
std::optional<std::pair<std::string, std::string_view>> misspelt(const Value& object,
                                                                 const Parts& parts) {
  const Value* const annotations = wire::find(object, "/metadata/annotations");
  if (!annotations || !annotations->is_object()) return std::nullopt;
  std::vector<std::string_view> known;
  for (const Part* const part : parts)
    known.insert(known.end(), part->keys.begin(), part->keys.end());
  for (const auto& annotation : annotations->get_object()) {
    const std::string_view key = annotation.key();
    const std::string_view meant = nearest_word(key, known);
    if (!meant.empty() && meant != key && !has_annotation(object, meant))
      return std::pair(std::string(key), meant);
  }
  return std::nullopt;
}

// As an error's text has it.
constexpr std::string_view kHint = " (hint: ";

}  // namespace

Teller::Teller(const ExplainView& view, Explanation& out) : view_(view), out_(out) {
  if (view.pod.is_object()) {
    asking_ = &view.pod;
  } else if (const Value* pods = wire::find(view.workload, "/spec/template")) {
    asking_ = pods;
  }
}

bool Teller::tell(Step step) {
  const bool go_on = step.verdict == Verdict::good;
  const bool told = std::ranges::any_of(
      out_.steps, [&](const Step& one) { return one.what == step.what && one.fix == step.fix; });
  if (!told) out_.steps.push_back(std::move(step));
  return go_on;
}

bool Teller::is_asked(std::string_view annotation, std::string_view what, std::string_view others) {
  if (!asking_) return bad(view_.kind + " has no template of Pods", "ask about another object");
  if (has_annotation(*asking_, annotation)) return good(fmt::format("asks for {}", what));
  const Value* const pods = wire::find(view_.workload, "/spec/template");
  if (pods && has_annotation(*pods, annotation)) {
    return bad(fmt::format("the Pod is older than the annotation in the template of {}",
                           name_of(view_.workload)),
               "delete the Pod: the one that comes in its place has it");
  }
  if (view_.workload.is_object() && has_annotation(view_.workload, annotation)) {
    return bad(fmt::format("annotation {} is on {} itself, not on its template", annotation,
                           name_of(view_.workload)),
               fmt::format("put it, and {}, into spec.template.metadata.annotations", others));
  }
  if (!is_spelt()) return false;
  // Its companion alone says which, and not that.
  const std::string which = fmt::format("ports.{}", annotation);
  if (has_annotation(*asking_, which)) {
    return bad(fmt::format("annotation {} is there, and {}, which asks for them, is missing", which,
                           annotation),
               fmt::format("add {}: \"true\" beside it", annotation));
  }
  return bad(fmt::format("annotation {} is missing: nobody asked for ports", annotation),
             view_.workload.is_object()
                 ? fmt::format("add it to spec.template.metadata.annotations of {}",
                               name_of(view_.workload))
                 : std::string("create the Pod with it"));
}

bool Teller::is_spelt() {
  const auto slip = misspelt(*asking_, view_.cluster.parts);
  if (!slip) return true;
  return bad(fmt::format("annotation {} is there, and nobody reads it: {} was meant", slip->first,
                         slip->second),
             fmt::format("spell it {}", slip->second));
}

bool Teller::webhook_is_there(std::string_view hook, std::string_view consequence) {
  const Array* hooks = wire::array_at(view_.cluster.webhooks, "/webhooks");
  const Value* found = nullptr;
  for (std::size_t i = 0; hooks && i < hooks->size(); ++i) {
    if (wire::string_at((*hooks)[i], "/name") == hook) found = &(*hooks)[i];
  }
  if (!found) {
    return bad(fmt::format("the webhook configuration is missing: {}", consequence),
               "start the controller: it installs it");
  }
  const std::string_view bundle = wire::string_at(*found, "/clientConfig/caBundle");
  if (!view_.cluster.ca_bundle.empty() && bundle != view_.cluster.ca_bundle) {
    return bad("the webhook configuration has another caBundle than the controller's certificate",
               "start the controller: it puts it right; see that nothing else writes it");
  }
  if (const auto silent = troubles_of_webhooks(view_.cluster); !silent.empty())
    return bad(silent.front().what, silent.front().fix);
  return good("the webhook is installed");
}

bool Teller::controller_runs() {
  if (const auto kinds = troubles_of_kinds(view_.cluster); !kinds.empty())
    return bad(kinds.front().what, kinds.front().fix);
  const Leader leader = leader_of(view_.cluster);
  if (leader.alive) return good(fmt::format("the controller runs: {}", leader.holder));
  std::string what =
      leader.holder.empty()
          ? fmt::format("no controller leads: {}", lease_without_holder(view_.cluster))
          : fmt::format("the controller is gone: {} was last seen {} ago", leader.holder,
                        age(leader.since));
  if (const auto pods = troubles_of_pods(view_.cluster); !pods.empty())
    return bad(fmt::format("{}; {}", what, pods.front().what), pods.front().fix);
  return bad(std::move(what), "see the Pods of the controller and their logs");
}

bool Teller::was_asked(std::string_view what) {
  if (view_.pod.is_object()) {
    return bad(fmt::format("the Pod has no {}: it was created before all of this was so", what),
               "delete the Pod: the one that comes in its place gets them");
  }
  if (!view_.failures.empty()) {
    return bad(fmt::format("the last Pod was refused: {}", view_.failures.back()),
               "if the reason is gone, its next try succeeds by itself");
  }
  return wait("no Pod has been created yet");
}

bool Teller::refused(std::string_view about, std::string_view message) {
  std::string fix = "repair what the load balancer complains about";
  std::string said(message);
  const std::size_t at = message.rfind(kHint);
  const std::size_t end = message.rfind(')');  // a hint may have brackets of its own
  if (at != std::string_view::npos && end != std::string_view::npos && end > at) {
    fix = message.substr(at + kHint.size(), end - at - kHint.size());
    said = fmt::format("{}{}", message.substr(0, at), message.substr(end + 1));
  }
  return bad(fmt::format("{}: {}", about, said), fix + "; it is tried again by itself");
}

bool Teller::balancer_is_known(std::string_view object_name) {
  for (const api::LoadBalancer& one : view_.cluster.balancers) {
    if (one.meta.name != object_name) continue;
    const std::string name = fmt::format(
        "load balancer {}:{}", one.spec.region.empty() ? one.spec.provider : one.spec.region,
        one.spec.load_balancer_id);
    if (!one.status.last_error.empty()) return refused(name, one.status.last_error);
    std::string addresses;
    for (const std::string& vip : one.status.vips)
      addresses += (addresses.empty() ? "" : ", ") + vip;
    if (addresses.empty()) addresses = one.status.dns_name;
    if (addresses.empty()) return wait(name + ": its address is not known yet");
    return good(fmt::format("{} is reached at {}", name, addresses));
  }
  return true;
}

FoundKind explained_kind(std::string_view kind, const Parts& parts) {
  if (kListenerExplained.kind().type.kind == kind) return {&kListenerExplained, nullptr};
  for (const Part* const part : parts)
    for (const ExplainedKind& one : part->explained)
      if (one.kind().type.kind == kind) return {&one, part};
  return {};
}

}  // namespace berth::report
