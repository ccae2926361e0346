#include "report/explain.h"

#include <algorithm>
#include <boost/json.hpp>

#include "report/teller.h"

namespace berth::report {
namespace {

using wire::Array;
using wire::Value;

void tell(const Part& part, const ExplainView& view, Explanation& out) {
  if (!is_off(view.cluster, part.module)) return part.tell(view, out);
  out.steps.push_back({.verdict = Verdict::bad,
                       .what = fmt::format("the controller runs without {}", part.module),
                       .fix = fmt::format("take --without={} off the controller, and create the "
                                          "Pod again",
                                          part.module)});
}

void tell_object(const ExplainView& view, Explanation& out) {
  const auto [kind, part] = explained_kind(view.kind, view.cluster.parts);
  if (!kind) return;
  if (part && is_off(view.cluster, part->module)) {
    out.steps.push_back({.verdict = Verdict::bad,
                         .what = fmt::format("the controller runs without {}", part->module),
                         .fix = fmt::format("take --without={} off the controller", part->module)});
    return;
  }
  kind->tell(view, out);
}

std::string_view to_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::good: return "ok";
    case Verdict::wait: return "wait";
    case Verdict::bad: break;
  }
  return "no";
}

}  // namespace

bool Explanation::ready() const {
  return !steps.empty() &&
         std::ranges::all_of(steps, [](const Step& step) { return step.verdict == Verdict::good; });
}

Explanation explain(const ExplainView& view) {
  Explanation out{.object = fmt::format("{} {}", view.kind, view.key.to_string())};
  if (view.object.is_object()) {
    tell_object(view, out);
    return out;
  }
  if (!tell_whether_there(view, out)) return out;
  const Part* most_asked = nullptr;
  bool told = false;
  for (const Part* const part : view.cluster.parts) {
    if (!part->is_asked) continue;
    if (!most_asked) most_asked = part;
    if (!part->is_asked(view)) continue;
    tell(*part, view, out);
    told = true;
  }
  if (!told && most_asked) tell(*most_asked, view, out);
  return out;
}

std::string to_text(const Explanation& explanation) {
  std::string out = explanation.object + "\n";
  for (const Step& step : explanation.steps) {
    out += fmt::format("  {:<4}  {}\n", to_word(step.verdict), step.what);
    if (!step.fix.empty()) out += fmt::format("        to do: {}\n", step.fix);
  }
  return out;
}

Value to_json(const Explanation& explanation) {
  Array steps;
  for (const Step& step : explanation.steps) {
    steps.push_back(
        wire::Object{{"verdict", to_word(step.verdict)}, {"what", step.what}, {"fix", step.fix}});
  }
  return wire::Object{
      {"object", explanation.object}, {"ready", explanation.ready()}, {"steps", std::move(steps)}};
}

}  // namespace berth::report
