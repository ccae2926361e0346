// Teller: what the tellings of `berth explain` have in common. A step that is bad or has to be
// waited for ends a telling, because what follows depends on it; so steps return whether to go on.
#pragma once

#include <string>
#include <string_view>

#include "report/explain.h"

namespace berth::report {

class Teller {
 protected:
  // A step that was told before, by another telling into the same explanation, is not told again.
  Teller(const ExplainView& view, Explanation& out);

  bool good(std::string what) { return tell({Verdict::good, std::move(what), {}}); }
  bool bad(std::string what, std::string fix) {
    return tell({Verdict::bad, std::move(what), std::move(fix)});
  }
  bool wait(std::string what) { return tell({Verdict::wait, std::move(what), {}}); }

  // The annotation is where each Pod asks for itself; else where it is instead, and what to do.
  // `what` is asked for with it ("ports of a pool"), `others` go with it.
  bool is_asked(std::string_view annotation, std::string_view what, std::string_view others);
  // No annotation of it looks like one of ours and is none. Only when `asking_` is there.
  bool is_spelt();
  // `consequence`: of its absence.
  bool webhook_is_there(std::string_view hook, std::string_view consequence);
  bool controller_runs();
  // Nothing stands in the way; what happened so far? `what` the Pod lacks.
  bool was_asked(std::string_view what);
  // What a load balancer or its provider said, as objects have it: its remedy is the hint.
  bool refused(std::string_view about, std::string_view message);
  // How the load balancer of this object name stands, if it is known.
  bool balancer_is_known(std::string_view object_name);

  const ExplainView& view_;
  const wire::Value* asking_ = nullptr;  // the Pod, or the template; null: neither

 private:
  bool tell(Step step);

  Explanation& out_;
};

// A kind beside Pods and workloads that can be asked about, and whose it is; null: there is none,
// and of a kind that is nobody's (Listeners) the part is null.
struct FoundKind {
  const ExplainedKind* kind = nullptr;
  const Part* part = nullptr;
};
FoundKind explained_kind(std::string_view kind, const Parts& parts);
extern const ExplainedKind kListenerExplained;

// Into `out`: of a Pod that does not exist, whether it can, and what is kept for its name. False:
// there is nothing more to tell.
bool tell_whether_there(const ExplainView& view, Explanation& out);
// What parts keep for the Pod's name; empty for nothing.
std::string kept_for(const ClusterView& view, const kube::ObjectKey& pod);

}  // namespace berth::report
