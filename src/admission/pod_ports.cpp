#include "admission/pod_ports.h"

#include <algorithm>
#include <boost/json.hpp>

#include "admission/pod_patch.h"
#include "api/dns_names.h"
#include "claims/exhausted.h"
#include "claims/pod_seal.h"

namespace berth::admission {
namespace {

using kube::AdmissionAnswer;
using kube::AdmissionRequest;
using wire::Array;
using wire::Object;
using wire::Value;

// How long a creation waits for a pool that our cache has not seen yet, and for one that is being
// filled. Both end before the handler's deadline, so that the refusal says why; the first is
// shorter, because a pool that does not exist is the likelier reason.
constexpr Duration kUnknownPoolWait = std::chrono::seconds{2};
constexpr Duration kFillingPoolWait = std::chrono::seconds{6};
// How long a pool may take to have its first ports.
constexpr Duration kYoungPool = std::chrono::minutes{1};
constexpr Duration kPollInterval = std::chrono::milliseconds{20};
// Of a name that is none.
constexpr std::size_t kShownName = 80;

// With generateName a Pod has no name yet.
std::string own_name(const AdmissionRequest& request) {
  const std::string_view name = wire::string_at(request.object, "/metadata/name");
  return name.empty() ? request.name : std::string(name);
}

Failure bad_name(std::string field, std::string_view found, std::string_view what) {
  return fail(error_of(Code::invalid, "'{}' is no name of a {}", found.substr(0, kShownName), what)
                  .about("AdmissionReview")
                  .at(std::move(field))
                  .with_hint("lower-case letters, digits, '-' and, for Pods, '.'"));
}

// What cannot be the name of a Pod or namespace would make a claim that nobody can look after.
Result<> check_names(const AdmissionRequest& request) {
  if (!api::is_dns_label(request.ns)) return bad_name("request.namespace", request.ns, "namespace");
  const std::string_view own_ns = wire::string_at(request.object, "/metadata/namespace");
  if (!own_ns.empty() && own_ns != request.ns)
    return fail(error_of(Code::invalid, "differs from request.namespace, {}", request.ns)
                    .about("AdmissionReview")
                    .at("request.object.metadata.namespace"));
  const std::string name = own_name(request);
  if (!name.empty() && !api::is_dns_subdomain(name))
    return bad_name("request.object.metadata.name", name, "Pod");
  const std::string_view prefix = wire::string_at(request.object, "/metadata/generateName");
  if (name.empty() && !api::is_dns_subdomain_prefix(prefix))
    return bad_name("request.object.metadata.generateName", prefix, "Pod, up to its end");
  return {};
}

// With the Pod in it, for whoever made it.
Error refusal_for(const AdmissionRequest& request, Error cause) {
  Error out = error_of(cause.code, "{}: {}", cause.object, cause.message).about(request.describe());
  out.hint = cause.hint;
  return out;
}

ledger::Claim new_claim(const AdmissionRequest& request, const PortWishes& wishes,
                        std::string token, WallTime now) {
  return {.token = std::move(token),
          .ns = request.ns,
          .pod_name = own_name(request),
          .owner_uid = controller_uid(request.object),
          .request = wishes.hash,
          .since = now,
          .keep = wishes.keep};
}

// BCS_PORTPOOL_PORT_VIPLIST_TCP_8000=1.2.3.4:31000 in every container.
Array variables_for(const std::vector<api::PortBindingItem>& entries) {
  Array variables;
  for (const api::PortBindingItem& entry : entries) {
    variables.push_back(plain_variable(
        fmt::format("BCS_PORTPOOL_PORT_VIPLIST_{}_{}", entry.protocol, entry.rs_start_port),
        api::public_address(entry)));
  }
  return variables;
}

void add_gate(Value& pod) {
  Value& spec = pod.as_object()["spec"];
  Value& gates = spec.as_object()["readinessGates"];
  if (!gates.is_array()) gates = Array{};
  for (const Value& gate : gates.get_array())
    if (wire::string_at(gate, "/conditionType") == api::kPortsReadyCondition) return;
  gates.get_array().push_back(Object{{"conditionType", api::kPortsReadyCondition}});
}

// What the Pod is told, on a copy of it.
Value told(Value pod, const PortWishes& wishes, const std::vector<api::PortBindingItem>& entries) {
  set_variables(pod, variables_for(entries));
  if (wishes.wants_gate) add_gate(pod);
  return pod;
}

AdmissionAnswer answer_for(const AdmissionRequest& request, const PortWishes& wishes,
                           const std::string& token, const std::string& seal,
                           const std::vector<api::PortBindingItem>& entries) {
  Value pod = told(request.object, wishes, entries);
  set_label(pod, ledger::kTokenLabel, token);
  set_annotation(pod, claims::kPortsSealAnnotation, seal);
  set_annotation(pod, api::kPoolBindingsAnnotation, api::encode_pool_bindings(entries));
  set_annotation(pod, api::kBindStatusAnnotation, api::kNotReady);
  AdmissionAnswer answer{.patch = patch_between(request.object, pod)};
  for (const api::PortBindingItem& entry : entries) {
    answer.warnings.push_back(fmt::format("{} port {} is reached at {}{}", entry.protocol,
                                          entry.rs_start_port, api::public_address(entry),
                                          request.dry_run ? " (dry run: not reserved)" : ""));
  }
  answer.warnings.insert(answer.warnings.end(), wishes.doubts.begin(), wishes.doubts.end());
  return answer;
}

// Called again because another webhook changed the Pod: it has its ports, but containers that came
// in between do not know them.
AdmissionAnswer answer_again(const AdmissionRequest& request, const PortWishes& wishes) {
  const Result<std::vector<api::PortBindingItem>> entries =
      api::decode_pool_bindings(annotation_of(request.object, api::kPoolBindingsAnnotation));
  if (!entries) return {};
  return {.patch = patch_between(request.object, told(request.object, wishes, *entries))};
}

const api::PortPoolItemStatus* item_of(const api::PortPool& pool, const std::string& name) {
  const auto it =
      std::ranges::find(pool.status.pool_items, name, &api::PortPoolItemStatus::item_name);
  return it == pool.status.pool_items.end() ? nullptr : &*it;
}

// An item that will have its ports, or its address, soon. One that takes longer has a problem.
bool is_filling(const api::PortPool& pool, const std::string& item, WallTime now) {
  if (now - pool.meta.created > kYoungPool) return false;
  if (pool.status.pool_items.size() < pool.spec.pool_items.size()) return true;
  return std::ranges::any_of(pool.status.pool_items, [&](const api::PortPoolItemStatus& one) {
    const bool fits = item.empty() || one.item_name == item;
    return fits && (one.status != api::kReady || !api::has_addresses(one));
  });
}

}  // namespace

Result<AdmissionAnswer> PodPorts::admit(const Context& context, const AdmissionRequest& request) {
  const bool comes = request.operation == "CREATE" && request.subresource.empty();
  if (!comes || !asks_for_ports(request.object)) return AdmissionAnswer{};
  // API servers send nothing else; but others can post here, too.
  if (Result<> possible = check_names(request); !possible) return pass(possible);
  const Result<PortWishes> wishes = wishes_of(request, max_keep_);
  if (!wishes) return fail(wishes.error());
  if (Result<> allowed = namespaces_.need_inject_label(context, request.ns); !allowed)
    return fail(refusal_for(request, std::move(allowed.error())));
  const Result<bool> again = was_answered_just_now(context, request, *wishes);
  if (!again) return fail(again.error());
  if (*again) return answer_again(request, *wishes);

  const std::string token = make_token_();
  const ledger::Claim claim = new_claim(request, *wishes, token, context.tasks.wall_time());
  Result<Entries> entries =
      request.dry_run ? show(context, request.ns, *wishes) : take(context, request, *wishes, claim);
  if (!entries) return fail(reason(request, *wishes, std::move(entries.error())));
  return answer_for(request, *wishes, token, seal_ports_(claim, *entries), *entries);
}

// A token that arrives with a Pod is honoured only so. Otherwise it came with a copied manifest.
Result<bool> PodPorts::was_answered_just_now(const Context& context,
                                             const AdmissionRequest& request,
                                             const PortWishes& wishes) {
  const std::string_view token = label_of(request.object, ledger::kTokenLabel);
  if (token.empty()) return false;
  const auto told =
      api::decode_pool_bindings(annotation_of(request.object, api::kPoolBindingsAnnotation));
  if (!told) return false;
  return claimer_.is_recent_claim(
      context, new_claim(request, wishes, std::string(token), context.tasks.wall_time()), *told);
}

// A pool that was created a moment ago, by the same `kubectl apply` as the Pod, has its first ports
// soon: refusing the Pod would cost its creator a retry, and a bare Pod has nobody to retry.
Result<PodPorts::Entries> PodPorts::take(const Context& context, const AdmissionRequest& request,
                                         const PortWishes& wishes, const ledger::Claim& claim) {
  const Instant begin = context.tasks.now();
  for (bool noted = false;;) {
    Result<Entries> entries = take_once(context, wishes, claim);
    if (entries || entries.error().code != Code::exhausted || noted) return entries;
    // Asking the server for all Listeners of a pool is not done at every look.
    const bool waited = wait_for_room(context, wishes, begin);
    if (context.expired()) return entries;
    if (waited && has_room(wishes)) continue;
    std::vector<kube::ObjectKey> pools;
    for (const claims::SlotRequest& wish : wishes.ports) pools.push_back(wish.pool);
    on_refused_(request.object, request.ns, pools);
    noted = true;
    // Room that came before this was noted woke nobody.
    if (!has_room(wishes)) return entries;
  }
}

bool PodPorts::wait_for_room(const Context& context, const PortWishes& wishes, Instant begin) {
  const auto is_worth_it = [&] {
    return !has_room(wishes) && is_worth_waiting(context, wishes, context.tasks.now() - begin);
  };
  bool waited = false;
  if (++waiting_ <= kMaxWaitingPods) {
    while (!context.expired() && is_worth_it()) {
      (void)sleep_for(context.tasks, kPollInterval, context.stop);
      waited = true;
    }
  }
  --waiting_;
  return waited;
}

bool PodPorts::has_room(const PortWishes& wishes) const {
  return std::ranges::all_of(wishes.ports, [&](const claims::SlotRequest& wish) {
    const auto slot = claimer_.propose(wish);
    const auto pool = pools_.get(wish.pool);
    const api::PortPoolItemStatus* const item = slot && pool ? item_of(*pool, slot->item) : nullptr;
    return item && api::has_addresses(*item);
  });
}

Result<PodPorts::Entries> PodPorts::take_once(const Context& context, const PortWishes& wishes,
                                              const ledger::Claim& claim) {
  const claims::Courtesy::Guest guest(courtesy_, context.tasks);
  const std::vector<claims::SlotRequest>& wanted = wishes.ports;
  Result<> may = rules_.check_access(context, claim.ns, wanted);
  if (!may) return pass(may);
  std::vector<claims::TakenSlot> taken;
  if (!claim.pod_name.empty()) {
    Result<std::vector<claims::TakenSlot>> back =
        claimer_.reclaim(context, claim.pod_name, wanted, claim);
    if (!back) return pass(back);
    taken = std::move(*back);
  }
  if (taken.empty()) {
    if (may = rules_.wait_until_seen(context, claim.ns, wanted); !may) return pass(may);
    const Result<PoolRules::Share> share = rules_.reserve(claim, wanted);
    if (!share) return fail(share.error());
    Result<std::vector<claims::TakenSlot>> fresh = claimer_.claim_all(context, wanted, claim);
    if (!fresh) return pass(fresh);
    taken = std::move(*fresh);
    // A pool that became known in between has rules as well.
    may = rules_.check_access(context, claim.ns, wanted);
  }
  Result<Entries> entries = may ? entries_for(wishes, taken) : Result<Entries>(pass(may));
  // Past the deadline the answer counts no more: what was taken is given back.
  if (entries && context.expired()) entries = fail(context.end_error());
  if (!entries) claimer_.give_back(context, taken);
  return entries;
}

Result<PodPorts::Entries> PodPorts::show(const Context& context, const std::string& ns,
                                         const PortWishes& wishes) {
  if (Result<> may = rules_.check_access(context, ns, wishes.ports); !may) return pass(may);
  std::vector<claims::TakenSlot> slots;
  for (const claims::SlotRequest& wish : wishes.ports) {
    Result<claims::TakenSlot> slot = claimer_.peek(wish, ns);
    if (!slot) return pass(slot);
    slots.push_back(std::move(*slot));
  }
  return entries_for(wishes, slots);
}

Result<PodPorts::Entries> PodPorts::entries_for(const PortWishes& wishes,
                                                const std::vector<claims::TakenSlot>& slots) const {
  Entries entries;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const claims::SlotRequest& wish = wishes.ports[i];
    const auto pool = pools_.get(wish.pool);
    const api::PortPoolItemStatus* const item = pool ? item_of(*pool, slots[i].item) : nullptr;
    if (!item || !api::has_addresses(*item)) {
      return fail(
          error_of(Code::exhausted, "the addresses of item {} are not known yet", slots[i].item)
              .about("PortPool " + wish.pool.to_string())
              .with_hint("see the item's message in the pool's status"));
    }
    for (const model::Protocol protocol : wish.protocols)
      entries.push_back(api::told_of(wish.pool, *item, protocol, slots[i].ports, wish.pod_port));
  }
  return entries;
}

Error PodPorts::reason(const AdmissionRequest& request, const PortWishes& wishes,
                       Error error) const {
  if (error.code != Code::exhausted) return error;
  for (const claims::SlotRequest& wish : wishes.ports) {
    const auto pool = pools_.get(wish.pool);
    if (auto misfit = claims::misfit(pool.get(), wish)) {
      return std::move(*misfit)
          .about(request.describe())
          .at(fmt::format("metadata.annotations[{}]", api::kPortsAnnotation));
    }
    // The status of a pool elsewhere is not for everybody.
    const bool may_read = wish.pool.ns == request.ns;
    const std::string why = may_read ? claims::unready_items(*pool, wish) : "";
    if (!why.empty() && error.object == "PortPool " + wish.pool.to_string())
      error.hint += fmt::format("{}{}", error.hint.empty() ? "" : "; ", why);
  }
  return error;
}

// Not for a pool that is merely full.
bool PodPorts::is_worth_waiting(const Context& context, const PortWishes& wishes,
                                Duration waited) const {
  return std::ranges::any_of(wishes.ports, [&](const claims::SlotRequest& wish) {
    const auto pool = pools_.get(wish.pool);
    if (!pool) return waited < kUnknownPoolWait;
    return waited < kFillingPoolWait && is_filling(*pool, wish.item, context.tasks.wall_time());
  });
}

}  // namespace berth::admission
