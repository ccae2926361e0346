#include "preview/preview.h"

#include <algorithm>
#include <boost/json.hpp>

#include "admission/ingresses.h"
#include "admission/port_pools.h"
#include "api/decode.h"
#include "controllers/ingress/ingress_plan.h"
#include "controllers/listener/plan.h"
#include "controllers/portpool/pool_plan.h"
#include "frontend/grant_plan.h"
#include "frontend/names.h"

namespace berth::preview {
namespace {

using frontend::WantedGrant;
using frontend::WantedListener;
using frontend::WantedPart;
using model::LoadBalancerRef;

// Of one sort of note; the rest is counted.
constexpr std::size_t kMostNotes = 5;
// Names at the provider begin so. Which cluster's it is changes no call.
constexpr std::string_view kAnyCluster = "plan";

// What an earlier document would own.
struct Planned {
  LoadBalancerRef lb{};
  ledger::Grant grant{};
};

class Previewer {
 public:
  Previewer(const House& house, const Options& options)
      : house_(house),
        options_(options),
        book_(house.book()),
        sealer_([] { return nullptr; }),
        resolver_(book_, house.listeners(), sealer_, options.defaults,
                  [](const LoadBalancerRef& named, std::string_view) -> Result<LoadBalancerRef> {
                    return fail(error_of(Code::unavailable,
                                         "what the name {} means is looked up by the controller",
                                         model::to_string(named))
                                    .with_hint("write its id to see what it would cost"));
                  }),
        naming_{options.defaults, std::string(kAnyCluster)} {}

  ObjectPreview look_at(const Document& document) {
    ObjectPreview out{.object = document.to_string()};
    const wire::Value* const before = house_.existing(document);
    out.is_new = before == nullptr;
    kube::AdmissionRequest request;
    request.operation = before ? "UPDATE" : "CREATE";
    request.group = document.kind->type.group;
    request.version = document.kind->type.version;
    request.resource = document.kind->type.plural;
    request.ns = document.key.ns;
    request.name = document.key.name;
    request.object = document.object;
    if (before) {
      request.old_object = *before;
      // Only what is applied counts of what is written; who it is, the server knows.
      request.object.get_object().erase("status");
      (void)wire::set_at(request.object, "/metadata/uid",
                         wire::Value(wire::string_at(*before, "/metadata/uid")));
    }
    const bool is_pool = document.kind == &api::port_pool_kind();
    Result<kube::AdmissionAnswer> answer =
        is_pool ? pool_gate().admit(request) : ingress_gate().admit(request);
    if (!answer) {
      out.refused = std::move(answer.error());
      return out;
    }
    out.warnings = std::move(answer->warnings);
    if (is_pool) {
      look_at_pool(document, before, out);
    } else {
      look_at_ingress(document, before, out);
    }
    return out;
  }

 private:
  admission::PortPoolGate pool_gate() const {
    return {house_.listeners(), neighbours(), resolver_,
            [](const LoadBalancerRef&) { return true; }};
  }
  admission::IngressGate ingress_gate() const {
    return {neighbours(), resolver_, [](const LoadBalancerRef&) { return true; }};
  }
  admission::Neighbours neighbours() const { return {book_, house_.listeners()}; }
  claims::RefsOf refs_of() const {
    return [this](const api::PortPool& pool, const api::PortPoolItem& item) {
      return resolver_.load_balancers_of(pool, item);
    };
  }

  // One that is not there yet is told apart by its name.
  template <class T>
  static void take_identity(T& object, const Document& document, const wire::Value* before) {
    object.meta.uid =
        before ? std::string(wire::string_at(*before, "/metadata/uid")) : document.to_string();
    if (!before) return;
    const auto created = parse_rfc3339(wire::string_at(*before, "/metadata/creationTimestamp"));
    object.meta.created = created.value_or(WallTime{});
  }

  void look_at_pool(const Document& document, const wire::Value* before, ObjectPreview& out) {
    Result<api::PortPool> pool = api::decode_incoming_port_pool(document.object);
    if (!pool) return refuse(pool.error(), out);
    take_identity(*pool, document, before);
    controllers::portpool::PoolWants wants =
        controllers::portpool::wants_of(*pool, refs_of(), options_.now);
    for (const auto& [item, report] : wants.unreadable)
      out.notes.push_back(fmt::format("item {}: {}", item, report.problem));
    look_at_parts(controllers::portpool::owner_of(*pool), wants.parts, std::move(wants.unreadable),
                  out);
  }

  void look_at_ingress(const Document& document, const wire::Value* before, ObjectPreview& out) {
    Result<api::Ingress> ingress = api::decode_incoming_ingress(document.object);
    if (!ingress) return refuse(ingress.error(), out);
    take_identity(*ingress, document, before);
    const Result<api::IngressLoadBalancers> written = api::load_balancers_of(*ingress);
    if (!written) return refuse(written.error(), out);
    const auto refs = resolver_.load_balancers_of({.kind = controllers::ingress::kIngressOwner,
                                                   .key = ingress->meta.key(),
                                                   .uid = ingress->meta.uid},
                                                  written->texts);
    if (!refs) {
      out.notes.push_back(refs.error().to_string());
      return;
    }
    std::vector<controllers::ingress::Balancer> balancers;
    for (std::size_t i = 0; i < refs->size(); ++i)
      balancers.push_back({written->texts[i], (*refs)[i]});
    controllers::ingress::IngressWants wants = controllers::ingress::wants_of(
        *ingress, balancers, house_.sight(), options_.names, options_.now);
    for (std::size_t i = 0; i < wants.notes.gaps.size() && i < kMostNotes; ++i)
      out.notes.push_back(
          fmt::format("{}: {}", wants.notes.gaps[i].field, wants.notes.gaps[i].message));
    if (wants.notes.gaps.size() > kMostNotes)
      out.notes.push_back(
          fmt::format("and {} more lead nowhere", wants.notes.gaps.size() - kMostNotes));
    look_at_parts(controllers::ingress::owner_of(*ingress), wants.parts, {}, out);
  }

  static void refuse(const Error& error, ObjectPreview& out) { out.refused = error; }

  void look_at_parts(const frontend::Owner& owner, std::vector<WantedPart>& parts,
                     std::map<std::string, frontend::PartReport> reports, ObjectPreview& out) {
    const frontend::Sight sight{house_.listeners(), sealer_, options_.defaults};
    frontend::settle_names(owner, parts, sight);
    for (const WantedPart& part : parts) {
      if (reports.contains(part.name)) continue;
      const frontend::GrantPlan grants = frontend::plan_grants(owner, part.grants, standing());
      if (grants.refused) {
        reports[part.name] = {.problem = grants.refused->message, .refused = true};
        out.notes.push_back(fmt::format("{} waits: {}", part.name, grants.refused->message));
        continue;
      }
      for (const WantedGrant& one : part.grants) planned_.push_back({one.lb, one.grant});
    }
    const frontend::Survey found = frontend::survey(owner, parts, std::move(reports), sight);
    for (const auto& [part, report] : found.reports)
      if (!report.problem.empty() && !report.refused && !is_noted(report.problem, out))
        out.notes.push_back(fmt::format("{}: {}", part, report.problem));
    count(parts, found, out);
  }

  static bool is_noted(std::string_view problem, const ObjectPreview& out) {
    return std::ranges::any_of(
        out.notes, [&](const std::string& one) { return one.find(problem) != std::string::npos; });
  }

  frontend::Standing standing() const {
    return {
        .grants_on =
            [this](const LoadBalancerRef& lb, const ledger::Grant& wanted) {
              std::vector<ledger::Grant> out =
                  book_.around(model::object_name(lb), wanted.owner.uid, wanted.ports);
              std::erase_if(out, ledger::is_block);
              for (const Planned& one : planned_)
                if (one.lb == lb) out.push_back(one.grant);
              return out;
            },
        .holdings_on = [](const LoadBalancerRef&,
                          const claims::WhichListeners&) { return std::vector<ledger::Holding>{}; },
        .rival_of = [](const frontend::Owner&,
                       const WantedGrant&) { return std::optional<frontend::Owner>{}; }};
  }

  // One load balancer: what it has of this owner, and what it shall have.
  struct Place {
    OnBalancer counted{};
    lb::Inventory known{};
    std::vector<engine::Wish> wishes{};
  };

  void count(const std::vector<WantedPart>& parts, const frontend::Survey& found,
             ObjectPreview& out) {
    std::map<LoadBalancerRef, Place> places;
    for (const WantedPart& part : parts)
      for (const WantedGrant& one : part.grants) (void)places[one.lb];
    for (const WantedListener* const one : found.missing) create(*one, places[one->lb]);
    std::map<kube::ObjectKey, const api::ListenerSpec*> wanted;
    for (const frontend::OutdatedListener& one : found.outdated)
      wanted[one.listener->meta.key()] = &one.spec;
    for (const frontend::FoundListener& one : found.found) {
      const auto outdated = wanted.find(one.listener->meta.key());
      keep(one, outdated == wanted.end() ? one.listener->spec : *outdated->second,
           places[one.wanted->lb]);
    }
    for (const auto& [part, listeners] : found.leaving)
      for (const claims::ListenerPtr& one : listeners)
        if (const auto lb = claims::load_balancer_of(*one, options_.defaults))
          remove(*one, places[*lb]);
    for (auto& [lb, place] : places) {
      place.counted.lb = lb;
      place.counted.calls = calls_on(lb, place);
      out.balancers.push_back(std::move(place.counted));
    }
  }

  void wish(const api::Listener& listener, Place& place) const {
    if (Result<engine::Wish> made = controllers::listener::wish_of(listener, naming_))
      place.wishes.push_back(std::move(*made));
  }

  // What its load balancer has of it by now, as far as its object says.
  void know(const api::Listener& listener, Place& place) const {
    if (listener.status.listener_id.empty()) return;
    Result<engine::Wish> made = controllers::listener::wish_of(listener, naming_);
    if (!made || !made->spec) return;
    place.known.put(lb::newly_made(model::ListenerId(listener.status.listener_id), *made->spec));
    for (const model::Rule& rule : made->spec->rules) {
      const lb::RuleRef at{model::ListenerId(listener.status.listener_id), rule.key};
      if (model::is_layer7(made->spec->protocol)) place.known.put(lb::NewRule{at, rule.attributes});
      if (!rule.targets.empty()) place.known.change(lb::TargetChange{at, rule.targets, {}});
    }
  }

  void create(const WantedListener& wanted, Place& place) const {
    ++place.counted.created;
    api::Listener listener;
    listener.meta.ns = kube::Interned("plan");
    listener.meta.name = wanted.name;
    listener.meta.annotations.emplace_back(kube::Interned(claims::kBalancerAnnotation),
                                           model::canonical(wanted.lb));
    listener.spec = wanted.spec;
    wish(listener, place);
  }

  void keep(const frontend::FoundListener& one, const api::ListenerSpec& spec, Place& place) const {
    know(*one.listener, place);
    ++(spec != one.listener->spec ? place.counted.changed : place.counted.kept);
    api::Listener wanted = *one.listener;
    wanted.spec = spec;
    wish(wanted, place);
  }

  void remove(const api::Listener& listener, Place& place) const {
    ++place.counted.removed;
    know(listener, place);
    if (Result<engine::Wish> made = controllers::listener::wish_of(listener, naming_)) {
      made->spec.reset();
      place.wishes.push_back(std::move(*made));
    }
  }

  lb::Calls calls_on(const LoadBalancerRef& lb, const Place& place) const {
    std::vector<lb::Desired> desired;
    for (const engine::Wish& one : place.wishes)
      desired.push_back({.spec = one.spec ? &*one.spec : nullptr,
                         .name = one.name,
                         .known_id = one.known_id.empty() ? nullptr : &one.known_id,
                         .protocol = one.protocol,
                         .own = one.ports});
    const std::string prefix = naming_.prefix();
    const lb::Plan plan =
        lb::plan(desired, place.known,
                 {.limits = model::traits_of(lb.provider).abilities, .name_prefix = prefix});
    return lb::calls_of(plan, desired, place.known, lb.provider);
  }

  const House& house_;
  const Options& options_;
  const claims::GrantBook book_;
  const claims::Sealer sealer_;  // without keys: nothing is known to be forged
  const claims::Resolver resolver_;
  const controllers::listener::Naming naming_;
  std::vector<Planned> planned_;
};

void add_up(Preview& out) {
  std::map<model::Provider, std::map<LoadBalancerRef, lb::Calls>> all;
  for (const ObjectPreview& object : out.objects)
    for (const OnBalancer& one : object.balancers)
      for (const auto& [operation, count] : one.calls) {
        all[one.lb.provider][one.lb][operation] += count;
        out.calls[operation] += count;
      }
  for (const auto& [provider, on] : all) {
    std::vector<lb::Calls> each;
    for (const auto& [lb, calls] : on) each.push_back(calls);
    out.seconds = std::max(out.seconds, lb::seconds_at_least(each, provider));
  }
}

}  // namespace

bool Preview::is_refused() const {
  return std::ranges::any_of(objects,
                             [](const ObjectPreview& one) { return one.refused.has_value(); });
}

Preview preview(const Documents& documents, const House& house, const Options& options) {
  Preview out{.others = documents.others, .unseen = house.unseen};
  Previewer previewer(house, options);
  for (const Document& one : documents.ours) out.objects.push_back(previewer.look_at(one));
  add_up(out);
  return out;
}

}  // namespace berth::preview
