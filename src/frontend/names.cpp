#include "frontend/names.h"

#include <map>

#include "base/fnv.h"

namespace berth::frontend {
namespace {

using claims::ListenerPtr;
using model::LoadBalancerRef;

class Namer {
 public:
  Namer(const Owner& owner, const std::vector<WantedPart>& parts, const Sight& sight)
      : owner_(owner), sight_(sight) {
    for (const WantedPart& part : parts)
      for (const WantedListener& one : part.listeners) (void)reference_of(one.lb);
  }

  void settle(WantedPart& part) {
    for (WantedListener& one : part.listeners)
      if (one.leads == Leads::by_spec) one.name = name_for(one);
  }

 private:
  struct Reference {
    std::string text{};  // as a Listener has it
    std::string suffix{};
  };

  const Reference& reference_of(const LoadBalancerRef& lb) {
    const auto [it, is_new] = references_.try_emplace(lb);
    if (is_new) {
      it->second.text = model::canonical(lb);
      it->second.suffix = fmt::format("-{:08x}", Fnv1a32().add(it->second.text).value());
    }
    return it->second;
  }

  std::string name_for(const WantedListener& want) {
    const Reference& reference = reference_of(want.lb);
    const ListenerPtr there = sight_.listeners.get(owner_.listeners_ns, want.name);
    const bool has_it = there && balancer_text(*there) == reference.text;
    std::string other = want.name + reference.suffix;
    const bool is_taken = !has_it && there && is_of_another(*there, want.lb);
    const bool is_elsewhere = !there && is_kept(other, reference);
    return is_taken || is_elsewhere || !is_first(want) ? other : want.name;
  }

  // Of this owner's own wants the first keeps the name. Most owners have one load balancer.
  bool is_first(const WantedListener& want) {
    return references_.size() < 2 ||
           given_.try_emplace(want.name, want.lb).first->second == want.lb;
  }

  static std::string_view balancer_text(const api::Listener& listener) {
    return kube::get(listener.meta.annotations, claims::kBalancerAnnotation);
  }

  // What somebody wrote on a Listener of ours is put right, and takes no name away.
  bool is_of_another(const api::Listener& listener, const LoadBalancerRef& lb) const {
    if (!claims::is_foreign(listener)) return sight_.sealer.judge(listener) == claims::Trust::ours;
    const auto its = claims::load_balancer_of(listener, sight_.defaults);
    return its && *its != lb;
  }

  // It has had its suffix since another had the name, which is gone by now.
  bool is_kept(const std::string& name, const Reference& reference) const {
    const ListenerPtr there = sight_.listeners.get(owner_.listeners_ns, name);
    return there && balancer_text(*there) == reference.text &&
           sight_.sealer.judge(*there) == claims::Trust::ours;
  }

  const Owner& owner_;
  const Sight& sight_;
  std::map<LoadBalancerRef, Reference> references_;
  std::map<std::string, LoadBalancerRef> given_;
};

}  // namespace

void settle_names(const Owner& owner, std::vector<WantedPart>& parts, const Sight& sight) {
  Namer namer(owner, parts, sight);
  for (WantedPart& part : parts) namer.settle(part);
}

}  // namespace berth::frontend
