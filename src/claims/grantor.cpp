#include "claims/grantor.h"

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <map>
#include <optional>

#include "api/decode.h"
#include "api/walkers.h"

namespace berth::claims {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// The leader alone grants: more than a few losses in a row are a defect.
constexpr int kMaxTries = 10;

ledger::Grant from_api(const api::Grant& grant) {
  return {.transport = model::parse_transport(grant.protocol).value_or(model::Transport::tcp),
          .ports = {static_cast<model::Port>(grant.start_port),
                    static_cast<model::Port>(grant.end_port)},
          .owner = {grant.owner_kind, grant.owner_namespace, grant.owner_name, grant.owner_uid},
          .item = grant.item,
          .since = parse_rfc3339(grant.since).value_or(WallTime{})};
}

// The object was never there, or somebody deleted it: what Listeners hold is granted first.
std::vector<ledger::Grant> first_grants(const std::vector<ledger::Holding>& held,
                                        const ledger::Grant& wanted) {
  std::vector<ledger::Grant> rebuilt = ledger::rebuilt(held, wanted.since);
  Result<std::vector<ledger::Grant>> grants = ledger::with_grant(rebuilt, wanted, held);
  return grants ? std::move(*grants) : std::move(rebuilt);  // the next try says why not
}

// A pool has many Listeners, and nearly all of them do: what they hold is not written out for that.
bool stands_in(const api::Listener& listener, const std::vector<ledger::Grant>& grants) {
  const kube::OwnerReference* const owner = listener.meta.controller();
  if (!owner) return true;  // nobody's
  return std::ranges::all_of(transports_of(listener), [&](model::Transport transport) {
    return ledger::is_granted(grants, {owner->uid, listener.meta.ns.view(), item_of(listener),
                                       transport, api::ports_of(listener.spec)});
  });
}

Array encode(const std::vector<ledger::Grant>& grants) {
  Array out;
  for (const ledger::Grant& grant : grants) out.push_back(api::encode(to_api(grant)));
  return out;
}

}  // namespace

Result<model::LoadBalancerRef> ref_of(const api::LoadBalancer& object) {
  const Result<model::Provider> provider = model::parse_provider(object.spec.provider);
  if (!provider) {
    return fail(
        Error(provider.error()).about("LoadBalancer " + object.meta.name).at("spec.provider"));
  }
  return model::with_id_text({*provider, object.spec.region, "", object.spec.account},
                             object.spec.load_balancer_id);
}

api::Grant to_api(const ledger::Grant& grant) {
  return {.protocol = std::string(model::to_string(grant.transport)),
          .start_port = grant.ports.first,
          .end_port = grant.ports.last,
          .owner_kind = grant.owner.kind,
          .owner_namespace = grant.owner.ns,
          .owner_name = grant.owner.name,
          .owner_uid = grant.owner.uid,
          .item = grant.item,
          .since = format_rfc3339_micro(grant.since)};
}

std::vector<ledger::Grant> grants_of(const api::LoadBalancer& object) {
  std::vector<ledger::Grant> out;
  for (const api::Grant& grant : object.spec.grants) out.push_back(from_api(grant));
  return out;
}

std::vector<ledger::Holding> Grantor::holdings(std::string_view balancer,
                                               const std::vector<ledger::Grant>& grants) const {
  return holdings_on(listeners_, balancer, sealer_, grants);
}

std::vector<ledger::Holding> Grantor::holdings(const model::LoadBalancerRef& lb,
                                               std::string_view but_of) const {
  const std::string name = model::object_name(lb);
  const auto object = balancers_.get({"", name});
  return holdings_on(listeners_, name, sealer_,
                     object ? grants_of(*object) : std::vector<ledger::Grant>{}, but_of);
}

Result<> Grantor::grant(const Context& context, const model::LoadBalancerRef& lb,
                        const ledger::Grant& wanted) {
  const std::string name = model::object_name(lb);
  for (int i = 0; i < kMaxTries; ++i) {
    const auto object = balancers_.get({"", name});
    Result<> written;
    if (!object) {
      written = create(context, lb, first_grants(holdings(name, {}), wanted));
    } else {
      const std::vector<ledger::Grant> grants = grants_of(*object);
      const std::vector<ledger::Holding> held = holdings(name, grants);
      if (ledger::has_grant(grants, wanted)) {
        Result<> unheld = ledger::check_unheld(held, wanted);
        if (!unheld) return fail(std::move(unheld.error()).about(model::to_string(lb)));
        return {};
      }
      Result<std::vector<ledger::Grant>> next = ledger::with_grant(grants, wanted, held);
      if (!next) return fail(std::move(next.error()).about(model::to_string(lb)));
      written = swap(context, *object, *next);
    }
    if (written && object) return {};
    if (written) continue;  // rebuilt, with or without this one
    const Code code = written.error().code;
    if (code != Code::precondition && code != Code::already_exists && code != Code::not_found)
      return written;
    if (Result<> fresh = refresh(context, name); !fresh) return fresh;
  }
  return fail(error_of(Code::conflict, "grants changed {} times in a row", kMaxTries)
                  .about(model::to_string(lb)));
}

Result<> Grantor::restore(const Context& context, const std::vector<ListenerPtr>& listeners) {
  struct Ground {
    std::optional<model::LoadBalancerRef> lb{};
    std::vector<ledger::Grant> grants{};
  };
  std::map<std::string_view, Ground> grounds;  // by the text on Listeners: they have few of them
  std::map<model::LoadBalancerRef, std::vector<ledger::Holding>> lost;
  for (const ListenerPtr& listener : listeners) {
    const std::string_view text = kube::get(listener->meta.annotations, kBalancerAnnotation);
    const auto [it, is_new] = grounds.try_emplace(text);
    Ground& ground = it->second;
    if (is_new && (ground.lb = model::parse_canonical(text))) {
      if (const auto object = balancers_.get({"", model::object_name(*ground.lb)}))
        ground.grants = grants_of(*object);
    }
    if (!ground.lb || stands_in(*listener, ground.grants)) continue;
    if (sealer_.judge(*listener) != Trust::ours) continue;
    std::ranges::move(holdings_of(*listener), std::back_inserter(lost[*ground.lb]));
  }
  for (const auto& [lb, own] : lost)
    if (Result<> restored = restore(context, lb, own); !restored) return restored;
  return {};
}

Result<> Grantor::restore(const Context& context, const model::LoadBalancerRef& lb,
                          const std::vector<ledger::Holding>& own) {
  const std::string name = model::object_name(lb);
  const auto object = balancers_.get({"", name});
  const auto grants = object ? grants_of(*object) : std::vector<ledger::Grant>{};
  const std::vector<ledger::Holding> held = holdings(name, grants);
  const WallTime now = context.tasks.wall_time();
  if (!object) return create(context, lb, ledger::rebuilt(held, now));
  const std::vector<ledger::Grant> next = ledger::with_holdings(grants, own, held, now);
  return next == grants ? Result<>{} : swap(context, *object, next);
}

Result<> Grantor::take_back(const Context& context, const model::LoadBalancerRef& lb,
                            const ledger::Grant& given, const std::vector<ledger::Grant>& before) {
  const std::string name = model::object_name(lb);
  for (int i = 0; i < kMaxTries; ++i) {
    const auto object = balancers_.get({"", name});
    if (!object) return {};
    const std::vector<ledger::Grant> grants = grants_of(*object);
    const std::vector<ledger::Grant> next =
        ledger::without_given(grants, given, before, holdings(name, grants));
    if (next == grants) return {};
    Result<> written = swap(context, *object, next);
    if (written || written.error().code == Code::not_found) return {};
    if (written.error().code != Code::precondition) return written;
    if (Result<> fresh = refresh(context, name); !fresh) return fresh;
  }
  return fail(error_of(Code::conflict, "grants changed {} times in a row", kMaxTries)
                  .about(model::to_string(lb)));
}

Result<> Grantor::release(const Context& context, std::string_view owner_uid,
                          std::string_view item) {
  for (const auto& object : balancers_.all()) {
    const std::vector<ledger::Grant> before = grants_of(*object);
    if (std::ranges::find(before, owner_uid, [](const auto& grant) -> std::string_view {
          return grant.owner.uid;
        }) == before.end())
      continue;
    const std::vector<ledger::Grant> after =
        ledger::without_owner(before, owner_uid, item, holdings(object->meta.name, before));
    if (after.size() == before.size()) continue;
    Result<> written = swap(context, *object, after);
    if (!written && written.error().code == Code::not_found) continue;
    // Known only from the cache, which may be behind: the caller comes again.
    if (!written) return written;
  }
  return {};
}

Result<> Grantor::create(const Context& context, const model::LoadBalancerRef& lb,
                         const std::vector<ledger::Grant>& grants) {
  const kube::ResourceType& type = api::load_balancer_kind().type;
  api::LoadBalancerSpec spec{.provider = std::string(model::to_string(lb.provider)),
                             .account = lb.account,
                             .region = lb.region,
                             .load_balancer_id = model::id_text(lb)};
  for (const ledger::Grant& grant : grants) spec.grants.push_back(to_api(grant));
  Result<Value> made = client_.create(context, type,
                                      Object{{"apiVersion", type.api_version()},
                                             {"kind", type.kind},
                                             {"metadata", Object{{"name", model::object_name(lb)}}},
                                             {"spec", api::encode(spec)}});
  if (!made) return pass(made);
  remember(*made);
  return {};
}

Result<> Grantor::swap(const Context& context, const api::LoadBalancer& object,
                       const std::vector<ledger::Grant>& grants) {
  // The version, not the list: people write the same list in other words (`grants: []`).
  const Array patch{Object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", object.meta.uid}},
                    Object{{"op", "test"},
                           {"path", "/metadata/resourceVersion"},
                           {"value", std::to_string(object.meta.resource_version)}},
                    Object{{"op", "add"}, {"path", "/spec/grants"}, {"value", encode(grants)}}};
  Result<Value> written = client_.patch(context, api::load_balancer_kind().type, object.meta.key(),
                                        kube::PatchType::json, patch);
  if (!written) return pass(written);
  remember(*written);
  return {};
}

Result<> Grantor::refresh(const Context& context, const std::string& name) {
  const Result<Value> found = client_.get(context, api::load_balancer_kind().type, {"", name});
  if (found) {
    remember(*found);
    return {};
  }
  if (found.error().code != Code::not_found) return fail(found.error());
  // Gone, and our cache does not know it yet.
  return fail(error_of(Code::unavailable, "is being removed").about("LoadBalancer " + name));
}

void Grantor::remember(const Value& object) {
  if (Result<api::LoadBalancer> decoded = api::decode_load_balancer(object))
    balancers_.put(std::move(*decoded));
}

}  // namespace berth::claims
