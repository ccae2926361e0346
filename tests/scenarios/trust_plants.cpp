#include "trust_plants.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "api/decode.h"
#include "api/pod_ports.h"
#include "api/walkers.h"
#include "claims/grantor.h"
#include "claims/pod_seal.h"
#include "claims/seal.h"
#include "controllers/portpool/pool_plan.h"
#include "ledger/claim.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;
using world::WorldOptions;

Object& part_of(Value& object, const char* part) {
  Value& found = object.as_object()["metadata"].as_object()[part];
  if (!found.is_object()) found = Object{};
  return found.get_object();
}

std::string text_at(const Object& object, std::string_view key) {
  const auto it = object.find(key);
  return it != object.end() && it->value().is_string() ? std::string(it->value().get_string())
                                                       : std::string();
}

std::string path_of(const Value& object) {
  return fmt::format("/namespaces/{}/listeners/{}", wire::string_at(object, "/metadata/namespace"),
                     wire::string_at(object, "/metadata/name"));
}

void seal_listener(Value& object, const crypto::KeyRing& seals) {
  const Result<api::Listener> listener = api::decode_listener(object);
  if (!listener || !claims::has_marks(*listener)) return;
  auto identity = claims::identity_of(*listener);
  if (!identity) identity = claims::identity_without_seal(*listener, {});
  if (!identity) return;
  const claims::Sealer sealer(
      [ring = std::make_shared<const crypto::KeyRing>(seals)] { return ring; });
  const claims::Marks marks = sealer.marks(*identity);
  Object& annotations = part_of(object, "annotations");
  annotations[claims::kSealAnnotation] = marks.seal;
  annotations[claims::kBalancerAnnotation] = marks.balancer;
}

void seal_pod(Value& object, const crypto::KeyRing& seals) {
  Object& annotations = part_of(object, "annotations");
  const auto told = api::decode_pool_bindings(text_at(annotations, api::kPoolBindingsAnnotation));
  if (!told || told->empty()) return;
  const std::string token = text_at(part_of(object, "labels"), ledger::kTokenLabel);
  const std::string ns(wire::string_at(object, "/metadata/namespace"));
  const std::string sealed = text_at(annotations, claims::kPortsSealAnnotation);
  const std::string request = sealed.substr(0, sealed.find(':'));
  annotations[claims::kPortsSealAnnotation] =
      claims::seal_ports(seals, {token, ns, *told}, request);
}

// Knows what pools ask for, from what replicas read of them.
class Askers {
 public:
  void note(const Value& object) {
    const Result<api::PortPool> pool = api::decode_port_pool(object);
    if (!pool) return;
    if (pool->meta.deleting) {
      pools_.erase(pool->meta.uid);
    } else {
      pools_[pool->meta.uid] = *pool;
    }
  }

  // Those that somebody has take what they ask for now.
  void move(Array& grants) const {
    for (Value& grant : grants) {
      for (const api::Grant& wanted : wanted()) {
        if (wire::string_at(grant, "/ownerUID") != wanted.owner_uid ||
            wire::string_at(grant, "/item") != wanted.item ||
            wire::string_at(grant, "/protocol") != wanted.protocol)
          continue;
        grant.as_object()["startPort"] = wanted.start_port;
        grant.as_object()["endPort"] = wanted.end_port;
      }
    }
  }

  // All of them, from nothing.
  Array anew(std::string_view balancer) const {
    std::vector<ledger::Grant> grants;
    for (const frontend::WantedGrant& one : by_age()) {
      if (model::object_name(one.lb) != balancer) continue;
      if (auto more = ledger::with_grant(grants, one.grant, {})) grants = std::move(*more);
    }
    Array out;
    for (const ledger::Grant& grant : grants) out.push_back(api::encode(claims::to_api(grant)));
    return out;
  }

 private:
  std::vector<frontend::WantedGrant> by_age() const {
    std::vector<const api::PortPool*> pools;
    for (const auto& [uid, pool] : pools_) pools.push_back(&pool);
    std::ranges::sort(pools, {}, [](const api::PortPool* pool) {
      return std::pair(pool->meta.created, pool->meta.uid);
    });
    const claims::RefsOf by_text = [](const api::PortPool&, const api::PortPoolItem& item) {
      return api::load_balancers_of(item, {});
    };
    std::vector<frontend::WantedGrant> out;
    for (const api::PortPool* pool : pools) {
      const auto wanted = controllers::portpool::wanted_grants(*pool, by_text, pool->meta.created);
      out.insert(out.end(), wanted.begin(), wanted.end());
    }
    return out;
  }

  std::vector<api::Grant> wanted() const {
    std::vector<api::Grant> out;
    for (const auto& one : by_age()) out.push_back(claims::to_api(one.grant));
    return out;
  }

  std::map<std::string, api::PortPool> pools_;  // by uid
};

ReadMeddler with_askers(const std::shared_ptr<Askers>& askers, Rewrite writes) {
  return {.resource = "portpools",
          .reads = [askers](Value& object, const crypto::KeyRing&) { askers->note(object); },
          .writes = std::move(writes)};
}

using Listeners = std::span<const lb::ObservedListener>;
using Ids = std::span<const model::ListenerId>;

// The Listener's, of "default_demo-tcp-32000_0123456789abcdef".
std::string name_in(const std::string& at_provider) {
  const std::size_t begin = at_provider.find('_') + 1;
  return at_provider.substr(begin, at_provider.rfind('_') - begin);
}

std::string last_step(const net::Request& request) {
  const std::string path = request.url.substr(0, request.url.find('?'));
  return path.substr(path.rfind('/') + 1);
}

// What the claim annotation was and becomes by a patch.
struct ClaimMove {
  Value* test = nullptr;
  Value* change = nullptr;
};
ClaimMove claim_move(Array& operations) {
  ClaimMove out;
  for (Value& operation : operations) {
    if (!wire::string_at(operation, "/path").ends_with("berth.dev~1claim")) continue;
    (wire::string_at(operation, "/op") == "test" ? out.test : out.change) =
        &operation.as_object()["value"];
  }
  return out;
}

// A claim for a name that no Pod came for, as it would be kept for one.
std::optional<std::string> kept_all_the_same(const std::string& text) {
  const auto claim = ledger::decode_claim(text);
  if (!claim || !*claim || (*claim)->state != ledger::SlotState::claimed ||
      !(*claim)->pod_uid.empty() || (*claim)->pod_name.empty() ||
      (*claim)->keep <= Duration::zero())
    return std::nullopt;
  ledger::Claim kept = **claim;
  kept.state = ledger::SlotState::kept;
  kept.pod_uid = "of-nobody";
  kept.until = kept.since + kept.keep;
  return ledger::encode(kept);
}

}  // namespace

Plant both(const Plant& first, const Plant& second) {
  return [first, second](WorldOptions& options) {
    first(options);
    second(options);
  };
}

Plant unchecked_listener_seals() {
  return meddle_with_reads({.resource = "listeners", .reads = seal_listener});
}

Plant unchecked_pod_seals() { return meddle_with_reads({.resource = "pods", .reads = seal_pod}); }

Plant grants_that_move() {
  const auto askers = std::make_shared<Askers>();
  return meddle_with_reads(with_askers(askers, [askers](const net::Request& request) {
    return std::optional(with_operations(request, "loadbalancers", [&](Array& operations) {
      for (Value& operation : operations)
        if (wire::string_at(operation, "/path") == "/spec/grants")
          askers->move(operation.as_object()["value"].as_array());
    }));
  }));
}

Plant grants_without_listeners() {
  const auto askers = std::make_shared<Askers>();
  return meddle_with_reads(with_askers(askers, [askers](net::Request request) {
    const std::string path = request.url.substr(0, request.url.find('?'));
    if (request.method == "POST" && path.ends_with("/loadbalancers")) {
      Result<Value> object = wire::parse_json(request.body);
      const std::string name(wire::string_at(*object, "/metadata/name"));
      object->as_object()["spec"].as_object()["grants"] = askers->anew(name);
      request.body = wire::to_json(*object);
    }
    return std::optional(request);
  }));
}

Plant removal_by_name() {
  const auto let_go = std::make_shared<std::set<std::string>>();  // names of Listeners
  const Plant writes = meddle([let_go](const net::Request& request) {
    return std::optional(with_operations(request, "listeners", [&](Array& operations) {
      for (const Value& operation : operations)
        if (wire::string_at(operation, "/path").starts_with("/metadata/finalizers"))
          let_go->insert(last_step(request));
    }));
  });
  const Plant removes = meddle_with_driver({.also_removes = [let_go](const Listeners& all, Ids) {
    std::vector<model::ListenerId> out;
    for (const lb::ObservedListener& one : all)
      if (let_go->contains(name_in(one.spec.name))) out.push_back(one.id);
    if (!out.empty()) let_go->clear();
    return out;
  }});
  return both(writes, removes);
}

Plant removal_by_id() {
  // Ids that each Listener was ever said to have, by its name.
  const auto ids = std::make_shared<std::map<std::string, std::set<model::ListenerId>>>();
  const Plant reads = meddle_with_reads(
      {.resource = "listeners", .reads = [ids](Value& object, const crypto::KeyRing&) {
         const std::string_view id = wire::string_at(object, "/status/listenerID");
         if (!id.empty())
           (*ids)[std::string(wire::string_at(object, "/metadata/name"))].emplace(std::string(id));
       }});
  const Plant removes =
      meddle_with_driver({.also_removes = [ids](const Listeners& all, const Ids& meant) {
        std::vector<model::ListenerId> out;
        for (const lb::ObservedListener& one : all) {
          if (std::ranges::find(meant, one.id) == meant.end()) continue;
          const std::set<model::ListenerId>& known = (*ids)[name_in(one.spec.name)];
          out.insert(out.end(), known.begin(), known.end());
        }
        return out;
      }});
  return both(reads, removes);
}

Plant unreadable_claims_are_free() {
  const auto hidden = std::make_shared<std::map<std::string, std::string>>();  // by path
  const auto show = [hidden](Value& object, const crypto::KeyRing&) {
    Object& annotations = part_of(object, "annotations");
    const std::string claim = text_at(annotations, ledger::kClaimAnnotation);
    if (ledger::decode_claim(claim)) {
      hidden->erase(path_of(object));
    } else {
      (*hidden)[path_of(object)] = claim;
      annotations[ledger::kClaimAnnotation] = "";
    }
  };
  const auto take = [hidden](const net::Request& request) {
    return std::optional(with_operations(request, "listeners", [&](Array& operations) {
      const ClaimMove move = claim_move(operations);
      for (const auto& [path, claim] : *hidden)
        if (move.test && request.url.find(path) != std::string::npos) *move.test = claim;
    }));
  };
  return meddle_with_reads({.resource = "listeners", .reads = show, .writes = take});
}

Plant keeping_what_was_no_pod() {
  return meddle([](const net::Request& request) {
    return std::optional(with_operations(request, "listeners", [](Array& operations) {
      const ClaimMove move = claim_move(operations);
      if (!move.test || !move.change || *move.change != "") return;
      if (auto kept = kept_all_the_same(std::string(move.test->as_string()))) *move.change = *kept;
    }));
  });
}

Plant asking_for_ever() {
  return meddle_with_reads({.resource = "pods", .reads = [](Value& object, const crypto::KeyRing&) {
                              Object& annotations = part_of(object, "annotations");
                              if (annotations.contains(api::kPoolBindingsAnnotation))
                                annotations[api::kPortPoolsAnnotation] = "true";
                            }});
}

Plant renewals_that_are_never_sent() {
  const auto made = std::make_shared<int>(0);
  const Plant unsent = meddle([made](const net::Request& request) -> std::optional<net::Request> {
    if (!request.url.contains("/leases")) return request;
    if (request.method == "POST") ++*made;
    if (request.method == "PUT" && *made > 1) return std::nullopt;
    return request;
  });
  return both(unsent, [](WorldOptions& options) { options.replicas = 2; });
}

Plant paths_without_a_secret() {
  const auto show = [](Value& object, const crypto::KeyRing&) {
    const auto hooks = object.as_object().find("webhooks");
    if (hooks == object.get_object().end()) return;
    for (Value& hook : hooks->value().as_array()) {
      Value* const url = wire::find(hook, "/clientConfig/url");
      if (url) *url = std::string(url->as_string()).substr(0, url->as_string().rfind('/'));
    }
  };
  return meddle_with_reads({.resource = "mutatingwebhookconfigurations", .reads = show});
}

}  // namespace berth::scenario
