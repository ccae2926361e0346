#include "frontend/names.h"

#include <algorithm>
#include <map>

#include "base/fnv.h"

namespace berth::frontend {
namespace {

using claims::ListenerPtr;
using model::LoadBalancerRef;

class Namer {
 public:
  Namer(const Owner& owner, const Sight& sight) : owner_(owner), sight_(sight) {}

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
    const ListenerPtr there = sight_.listeners.get(owner_.listeners_ns, want.name);
    const bool is_elsewhere = there && !is_on(*there, want.lb) && is_of_another(*there, want.lb);
    const bool is_beside = there && is_on(*there, want.lb) && !is_of(*there, want) &&
                           sight_.sealer.judge(*there) == claims::Trust::ours;
    if (there && !is_elsewhere && !is_beside) return given(want, want.name);
    const std::string beside = want.other_name.empty() ? want.name : want.other_name;
    const std::string apart = beside + reference_of(want.lb).suffix;
    // It has had its other name since another had the first, which may be gone by now.
    for (const std::string& kept : {beside, apart})
      if (kept != want.name && is_kept(kept, want)) return given(want, kept);
    const auto rival = given_.find(want.name);
    const bool is_second = rival != given_.end();
    if (is_elsewhere || (is_second && rival->second->lb != want.lb)) return given(want, apart);
    return given(want, is_beside || is_second ? beside : want.name);
  }

  // Of this owner's own wants the first keeps the name.
  std::string given(const WantedListener& want, const std::string& name) {
    given_.try_emplace(name, &want);
    return name;
  }

  bool is_on(const api::Listener& listener, const LoadBalancerRef& lb) {
    return balancer_text(listener) == reference_of(lb).text;
  }

  // TCP and UDP of one port are two; of layer 7 and slots there is one for each name.
  bool is_of(const api::Listener& listener, const WantedListener& want) {
    if (!is_on(listener, want.lb)) return false;
    return want.other_name.empty() || is_same_way(listener, want.spec.protocol);
  }

  static bool is_same_way(const api::Listener& listener, const std::string& protocol) {
    const Result<model::Protocol> wanted = model::parse_protocol(protocol);
    return !wanted ||
           std::ranges::equal(claims::transports_of(listener), model::transports_of(*wanted));
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

  bool is_kept(const std::string& name, const WantedListener& want) {
    const ListenerPtr there = sight_.listeners.get(owner_.listeners_ns, name);
    return there && is_of(*there, want) && sight_.sealer.judge(*there) == claims::Trust::ours;
  }

  const Owner& owner_;
  const Sight& sight_;
  std::map<LoadBalancerRef, Reference> references_;
  std::map<std::string, const WantedListener*> given_;  // by name
};

}  // namespace

void settle_names(const Owner& owner, std::vector<WantedPart>& parts, const Sight& sight) {
  Namer namer(owner, sight);
  for (WantedPart& part : parts) namer.settle(part);
}

}  // namespace berth::frontend
