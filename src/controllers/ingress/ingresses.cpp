#include "controllers/ingress/ingresses.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "controllers/ingress/concerns.h"
#include "controllers/ingress/events.h"
#include "frontend/failures.h"
#include "frontend/steps.h"

namespace berth::controllers::ingress {
namespace {

using kube::ObjectKey;
using kube::Requeue;
using wire::Object;

// Ingresses do not wait for each other.
constexpr int kWorkers = 4;
// A storm of Listener changes is one look at their owner.
constexpr Duration kGather = std::chrono::milliseconds{100};
// A conflict over ports, or a load balancer that does not answer, may be over by then.
constexpr Duration kTryAgain = std::chrono::seconds{10};
// Of routes that lead nowhere: more than a person reads, and one each would be a flood.
constexpr std::size_t kGapsTold = 5;

template <class T>
std::vector<T> once(std::vector<T> list) {
  std::vector<T> out;
  for (T& one : list)
    if (std::ranges::find(out, one) == out.end()) out.push_back(std::move(one));
  return out;
}

claims::TextsOf texts_of(const api::Ingress& ingress) {
  return {.kind = kIngressOwner, .key = ingress.meta.key(), .uid = ingress.meta.uid};
}

}  // namespace

IngressController::IngressController(Tasks& tasks, kube::Client& client, Caches caches,
                                     frontend::Keeper& keeper, const claims::Sealer& sealer,
                                     const claims::Resolver& resolver, kube::EventRecorder& events,
                                     Options options, metrics::Registry* registry)
    : client_(client),
      objects_(api::ingresses(client, caches.ingresses)),
      caches_(caches),
      sight_{caches.pods, caches.services, options.own_namespace_only, options.exempt_namespaces},
      keeper_(keeper),
      sealer_(sealer),
      resolver_(resolver),
      events_(events),
      balancer_of_([&store = caches.balancers](const model::LoadBalancerRef& lb) {
        return store.get({"", model::object_name(lb)});
      }),
      options_(std::move(options)),
      controller_(tasks, frontend::counting_failures("ingress", kWorkers, registry),
                  [this](const Context& c, const IngressKey& k) { return reconcile(c, k); }) {
  add_indexes(caches_.ingresses);
  add_indexes(caches_.pods);
  watch();
  watch_targets();
}

void IngressController::watch() {
  controller_.at_start([this] { keeper_.forget_contenders(objects_.type()); });
  controller_.watch(caches_.ingresses, [this](const auto& change, const auto& emit) {
    // Before it is looked at: those that want the same may be looked at first.
    const api::Ingress& ingress = change.object();
    const bool wants = change.after && !ingress.meta.deleting;
    const auto balancers = wants && validate(ingress)
                               ? balancers_of(ingress)
                               : Result<std::vector<Balancer>>(std::vector<Balancer>{});
    keeper_.contend(owner_of(ingress), balancers ? wanted_grants(ingress, *balancers, {})
                                                 : std::vector<frontend::WantedGrant>{});
    emit(IngressKey::of(ingress));
  });
  controller_.watch(
      caches_.listeners,
      [this](const auto& change, const auto& emit) {
        for (const auto& object : {change.before, change.after}) {
          if (!object) continue;
          if (const auto owner = frontend::owner_named_by(*object, objects_.type()))
            emit(IngressKey(*owner));
        }
      },
      kGather);
  controller_.watch(caches_.balancers, [this](const auto& change, const auto& emit) {
    const claims::GrantBook book(caches_.balancers, caches_.blocks);
    for (const ObjectKey& one : frontend::owners_on(change, objects_.type(), book))
      emit(IngressKey(one));
  });
  controller_.watch(caches_.blocks, [this](const auto& change, const auto& emit) {
    for (const ObjectKey& one : frontend::owners_in(change, objects_.type())) emit(IngressKey(one));
  });
}

void IngressController::watch_targets() {
  controller_.watch(caches_.services, [this](const auto& change, const auto& emit) {
    for (const auto& ingress :
         caches_.ingresses.by_index(kServiceIndex, change.object().meta.key().to_string()))
      emit(IngressKey::of(*ingress));
  });
  controller_.watch(caches_.pods, [this](const auto& change, const auto& emit) {
    if (!matters(change)) return;
    for (const auto& ingress :
         caches_.ingresses.by_index(kNamespaceIndex, change.object().meta.ns.view())) {
      const bool is_its = (change.before && concerns(*ingress, *change.before, caches_.services)) ||
                          (change.after && concerns(*ingress, *change.after, caches_.services));
      if (is_its) emit(IngressKey::of(*ingress));
    }
  });
}

void IngressController::look_at_all() {
  for (const auto& ingress : caches_.ingresses.all()) controller_.add(IngressKey::of(*ingress));
}

void IngressController::look_at_those_with(const model::LoadBalancerRef& named) {
  for (const auto& ingress : caches_.ingresses.all()) {
    const Result<api::IngressLoadBalancers> written = api::load_balancers_of(*ingress);
    if (!written) continue;
    const bool has = std::ranges::any_of(written->texts, [&](const std::string& text) {
      const auto ref = model::parse_load_balancer(text, options_.defaults);
      return ref && *ref == named;
    });
    if (has) controller_.add(IngressKey::of(*ingress));
  }
}

Result<> IngressController::vouch(const api::Listener& listener) const {
  const auto owner = frontend::owner_named_by(listener, objects_.type());
  const auto ingress = owner ? caches_.ingresses.get(*owner) : nullptr;
  const bool is_valid = ingress && validate(*ingress);
  return check_targets(listener, is_valid ? ingress.get() : nullptr, sight_);
}

Result<> IngressController::validate(const api::Ingress& ingress) const {
  const Result<api::IngressLoadBalancers> written = api::load_balancers_of(ingress);
  if (!written) return fail(written.error());
  return api::validate(ingress, resolver_.reading_of(texts_of(ingress), written->texts));
}

Result<std::vector<Balancer>> IngressController::balancers_of(const api::Ingress& ingress) const {
  const Result<api::IngressLoadBalancers> written = api::load_balancers_of(ingress);
  if (!written) return fail(written.error());
  Result<std::vector<model::LoadBalancerRef>> refs =
      resolver_.load_balancers_of(texts_of(ingress), written->texts);
  if (!refs) return pass(refs);
  std::vector<Balancer> out;
  for (std::size_t i = 0; i < refs->size(); ++i)
    out.push_back({written->texts[i], std::move((*refs)[i])});
  return out;
}

Result<Requeue> IngressController::reconcile(const Context& context, const IngressKey& key) {
  const auto ingress = caches_.ingresses.get(key.object);
  const auto over = frontend::begin(context, keeper_, objects_, key.object, ingress.get());
  if (!over) return fail(over.error());
  if (*over) return **over;
  if (ingress->meta.deleting)
    return frontend::let_go(context, keeper_, objects_, *ingress, owner_of(*ingress));
  return keep(context, *ingress);
}

Result<Requeue> IngressController::keep(const Context& context, const api::Ingress& ingress) {
  // Whoever wrote it while no webhook was asked: nothing of it is acted on, and what it has stays.
  if (const Result<> valid = validate(ingress); !valid)
    return tell_trouble(context, ingress, valid.error());
  const Result<std::vector<Balancer>> balancers = balancers_of(ingress);
  if (!balancers) return tell_trouble(context, ingress, balancers.error());
  // What a load balancer is may become known after the Ingress was let in.
  for (const Balancer& one : *balancers) {
    const auto object = balancer_of_(one.lb);
    const Result<> fits =
        api::validate_segments(ingress, one.lb, object ? object->status.type : std::string());
    if (!fits) return tell_trouble(context, ingress, fits.error());
  }
  return keep_valid(context, ingress, *balancers);
}

Result<Requeue> IngressController::keep_valid(const Context& context, const api::Ingress& ingress,
                                              const std::vector<Balancer>& balancers) {
  const frontend::Owner owner = owner_of(ingress);
  IngressWants wants =
      wants_of(ingress, balancers, sight_, options_.names, context.tasks.wall_time());
  keeper_.settle_names(owner, wants.parts);
  keeper_.contend(owner, wanted_grants(ingress, balancers, context.tasks.wall_time()));
  Result<std::map<std::string, frontend::PartReport>> reports = frontend::ensure_all(
      context, keeper_, owner, wants.parts, {},
      [&](const Error& error) { events_.record(failed(ingress, error.to_string())); });
  if (!reports) return pass(reports);
  const frontend::Survey found = keeper_.survey_of(owner, wants.parts, std::move(*reports));
  frontend::Round round;
  const std::vector<Gap> gaps = once(std::move(wants.notes.gaps));
  const api::IngressStatus status = status_of({balancers, found, gaps, balancer_of_});
  if (status.message != ingress.status.message)
    for (std::size_t i = 0; i < std::min(gaps.size(), kGapsTold); ++i)
      events_.record(leads_nowhere(ingress, gaps[i]));
  if (Result<> written = write_status(context, ingress, status, round); !written)
    return pass(written);
  if (Result<> done = keeper_.carry_out(context, owner, wants.parts, found,
                                        frontend::changes_of(found.outdated, sealer_), round);
      !done)
    return pass(done);
  if (Result<> told = tell_pods(context, wants.notes); !told) return pass(told);
  if (round.goes_on) return Requeue{.after = Duration{1}};
  if (round.overtaken) return Requeue{.after = frontend::kCatchUp};
  const bool troubled = std::ranges::any_of(
      found.reports, [](const auto& one) { return !one.second.problem.empty(); });
  return Requeue{.after = troubled ? std::optional(kTryAgain) : std::nullopt};
}

Result<Requeue> IngressController::tell_trouble(const Context& context, const api::Ingress& ingress,
                                                const Error& error) {
  frontend::Round round;
  const api::IngressStatus status = troubled_status(ingress.status, error.to_string());
  if (status != ingress.status) events_.record(failed(ingress, error.to_string()));
  if (Result<> written = write_status(context, ingress, status, round); !written)
    return pass(written);
  return Requeue{.after = round.overtaken ? frontend::kCatchUp : kTryAgain};
}

Result<> IngressController::write_status(const Context& context, const api::Ingress& ingress,
                                         const api::IngressStatus& status, frontend::Round& round) {
  const Result<bool> written =
      frontend::write_status(context, objects_, api::ingress_kind(), ingress, status);
  if (!written) return fail(written.error());
  if (!*written) {
    round.overtaken = true;
    return {};
  }
  if (status.status == api::kReady && ingress.status.status != api::kReady)
    events_.record(is_ready(ingress));
  return {};
}

// That its own weight is used now. Through its status: nothing else of a Pod is ours to write.
Result<> IngressController::tell_pods(const Context& context, const Notes& notes) const {
  for (const ObjectKey& key : notes.weighted) {
    const auto pod = caches_.pods.get(key);
    if (!pod || kube::get(pod->meta.annotations, kWeightReadyAnnotation) == "true") continue;
    const Object patch{
        {"metadata", Object{{"uid", pod->meta.uid},
                            {"annotations", Object{{kWeightReadyAnnotation, "true"}}}}}};
    const auto written = client_.patch(context, kube::types::kPod, key, kube::PatchType::merge,
                                       patch, {.subresource = "status"});
    if (!written && !kube::was_overtaken(written.error())) return fail(written.error());
  }
  return {};
}

}  // namespace berth::controllers::ingress
