// What `berth explain` says of an Ingress.
#include "modules/ingress/explain.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/decode.h"
#include "api/keys.h"
#include "claims/grant_book.h"
#include "controllers/ingress/ingress_plan.h"
#include "controllers/ingress/surroundings.h"
#include "report/teller.h"

namespace berth::modules::ingress {
namespace {

using controllers::ingress::Balancer;
using controllers::ingress::Gap;
using controllers::ingress::IngressWants;
using controllers::ingress::Surroundings;
using report::ExplainView;
using report::Explanation;

// Of one sort of trouble; the rest is counted.
constexpr std::size_t kMostTold = 10;

// Everything that is wrong is told, not the first alone: rules stand beside each other.
class IngressTeller : private report::Teller {
 public:
  IngressTeller(const ExplainView& view, Explanation& out, api::Ingress ingress)
      : Teller(view, out), ingress_(std::move(ingress)), listeners_(listeners_of(view)) {}

  void tell() {
    if (!controller_runs()) return;
    if (ingress_.meta.deleting) {
      wait(fmt::format("it is being deleted: {} Listeners are left", listeners_.size()));
      return;
    }
    if (ingress_.status.status.empty()) {
      wait("no controller has looked at it yet");
      return;
    }
    bool well = true;
    for (const api::LoadBalancerBrief& one : ingress_.status.load_balancers)
      well = knows(one) && well;
    well = has_its_ports() && well;
    well = is_synced() && well;
    well = leads() && well;
    if (ingress_.status.status == api::kReady) {
      if (well) good("Ready: every listener is as written");
    } else if (well) {
      // What is not to be seen in objects: a name that means nothing, a rule that is not valid.
      refused("NotReady", ingress_.status.message);
    }
  }

 private:
  const api::LoadBalancer* balancer_of(const api::LoadBalancerBrief& brief) const {
    for (const api::LoadBalancer& one : view_.cluster.balancers) {
      const bool same_id = brief.id == one.spec.load_balancer_id ||
                           brief.id == fmt::format("edge:{}", one.spec.load_balancer_id);
      if (same_id && brief.region == one.spec.region) return &one;
    }
    return nullptr;
  }

  bool knows(const api::LoadBalancerBrief& brief) {
    if (const api::LoadBalancer* const one = balancer_of(brief))
      return balancer_is_known(one->meta.name);
    return wait(fmt::format("load balancer {}: nothing is known of it yet", brief.id));
  }

  // Whoever has a port that it wants is named.
  bool has_its_ports() {
    const std::vector<api::IngressPorts> wanted = api::ports_of(ingress_);
    std::size_t taken = 0;
    for (const api::LoadBalancerBrief& brief : ingress_.status.load_balancers) {
      const api::LoadBalancer* const lb = balancer_of(brief);
      if (!lb) continue;
      for (const api::IngressPorts& one : wanted)
        for (const ledger::Grant& grant : claims::list_of(*lb)) {
          if (grant.transport != one.transport || !grant.ports.overlaps(one.ports) ||
              ledger::is_block(grant) || is_own(grant.owner))
            continue;
          if (++taken > kMostTold) continue;
          bad(fmt::format("{}: {} ports {}-{} of {} are granted to {}{}{}", one.field,
                          model::to_string(grant.transport), grant.ports.first, grant.ports.last,
                          brief.id, grant.owner.to_string(), grant.item.empty() ? "" : ", ",
                          grant.item),
              "choose other ports, or another load balancer, or take them from the other");
        }
    }
    if (taken > kMostTold)
      bad(fmt::format("and {} more ports are another's", taken - kMostTold), "");
    return taken == 0;
  }

  // What a reference without a provider means to the controller, as far as it shows.
  model::LoadBalancerDefaults defaults() const {
    model::LoadBalancerDefaults out;
    for (const api::LoadBalancerBrief& brief : ingress_.status.load_balancers) {
      const api::LoadBalancer* const one = balancer_of(brief);
      const auto provider =
          one ? model::parse_provider(one->spec.provider) : Result<model::Provider>(out.provider);
      if (provider) out.provider = *provider;
      if (one) out.region = one->spec.region;
    }
    return out;
  }

  // Its texts mean where it stands.
  model::Reading reading() const {
    model::Reading out{defaults()};
    for (const api::LoadBalancerBrief& brief : ingress_.status.load_balancers) {
      const api::LoadBalancer* const one = balancer_of(brief);
      Result<model::LoadBalancerRef> ref = one ? claims::ref_of(*one) : fail(Code::not_found, "");
      if (ref) out.stands_on.push_back({std::move(*ref)});
    }
    return out;
  }

  bool is_own(const ledger::GrantOwner& owner) const {
    return owner.kind == controllers::ingress::kIngressOwner &&
           owner.ns == ingress_.meta.ns.view() && owner.name == ingress_.meta.name;
  }

  bool is_synced() {
    std::size_t done = 0;
    std::size_t said = 0;
    std::size_t waiting = 0;
    for (const claims::ListenerPtr& one : listeners_) {
      const std::string about = fmt::format("Listener {}", one->meta.name);
      if (claims::is_applied(*one)) {
        ++done;
      } else if (one->status.message.empty()) {
        ++waiting;
      } else if (++said <= kMostTold) {
        refused(about + " is not synced", one->status.message);
      }
    }
    if (said > kMostTold) bad(fmt::format("and {} more are not synced", said - kMostTold), "");
    if (done > 0)
      good(fmt::format("{} of {} Listeners are as written at the load balancer", done,
                       listeners_.size()));
    if (waiting > 0) wait(fmt::format("{} Listeners are being synced", waiting));
    if (listeners_.empty()) wait("it has no Listener yet");
    return said == 0 && waiting == 0 && !listeners_.empty();
  }

  // What it leads to by now, as the controller finds it.
  bool leads() {
    // What is not valid is acted on by nobody; the status says so.
    if (!api::validate(ingress_, reading())) return true;
    Surroundings around;
    const auto objects_of = [this](const char* plural) {
      const auto found = view_.around.find(plural);
      return found == view_.around.end() ? std::vector<wire::Value>{} : found->second;
    };
    around.add_pods(objects_of("pods"));
    around.add_services(objects_of("services"));
    // Targets are the same on all of its load balancers.
    const std::vector<Balancer> any{{"edge:any", {model::Provider::edge, "", "any"}}};
    const IngressWants wants = controllers::ingress::wants_of(
        ingress_, any, around.sight(), api::ListenerNames::plain, view_.cluster.now);
    bool well = true;
    for (std::size_t i = 0; i < wants.notes.gaps.size(); ++i) {
      const Gap& gap = wants.notes.gaps[i];
      if (i < kMostTold)
        well = bad(fmt::format("{}: {}", gap.field, gap.message),
                   "make what is named there, or name what there is; it is followed by itself");
    }
    for (const frontend::WantedPart& part : wants.parts) well = leads(part, wants) && well;
    return well;
  }

  bool leads(const frontend::WantedPart& part, const IngressWants& wants) {
    std::size_t idle = 0;
    std::size_t asleep = 0;
    for (const frontend::WantedListener& one : part.listeners) {
      const auto backends = api::backends_of(one.spec);
      const bool takes = std::ranges::any_of(
          backends, [](const api::ListenerBackend* target) { return target->weight > 0; });
      if (backends.empty()) {
        ++idle;
      } else if (!takes) {
        ++asleep;
      }
    }
    const bool is_mapping = part.name.starts_with("mapping/");
    if (is_mapping) {
      if (idle > 0)
        good(fmt::format("{}: {} of {} listeners wait for their Pods", part.name, idle,
                         part.listeners.size()));
      return true;
    }
    if (idle > 0 && wants.notes.gaps.empty())
      return wait(fmt::format("{} leads nowhere: none of its Pods runs", part.name));
    if (asleep > 0)
      return wait(
          fmt::format("{} takes no new connections: each of its targets has weight 0, none "
                      "of their Pods is ready",
                      part.name));
    return true;
  }

  const api::Ingress ingress_;
  const std::vector<claims::ListenerPtr> listeners_;
};

}  // namespace

Result<> read_around(const Context& context, kube::Client& client, ExplainView& view) {
  const Result<api::Ingress> ingress = api::decode_ingress(view.object);
  if (!ingress) return {};  // the telling says so
  Result<controllers::ingress::AroundIngress> around = controllers::ingress::read_around(
      context, client, controllers::ingress::namespaces_of(*ingress), view.cluster.unseen);
  if (!around) return pass(around);
  view.around["pods"] = std::move(around->pods);
  view.around["services"] = std::move(around->services);
  return {};
}

std::vector<claims::ListenerPtr> listeners_of(const ExplainView& view) {
  std::vector<claims::ListenerPtr> out;
  if (view.kind != controllers::ingress::kIngressOwner) return out;
  // Labels have long names cut.
  const std::string name = api::label_value(view.key.name);
  for (const claims::ListenerPtr& one : view.cluster.listeners) {
    const claims::OwnerName owner = claims::owner_of(*one);
    if (owner.kind == controllers::ingress::kIngressOwner && owner.key.ns == view.key.ns &&
        owner.key.name == name && !claims::is_foreign(*one))
      out.push_back(one);
  }
  return out;
}

void tell(const ExplainView& view, Explanation& out) {
  Result<api::Ingress> ingress = api::decode_ingress(view.object);
  if (ingress) return IngressTeller(view, out, std::move(*ingress)).tell();
  out.steps.push_back({report::Verdict::bad,
                       fmt::format("it cannot be read: {}", ingress.error().to_string()),
                       "write it anew: docs/ingress.md has the fields"});
}

}  // namespace berth::modules::ingress
