#include "claims/seal.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "base/text_memo.h"

namespace berth::claims {
namespace {

constexpr std::string_view kPurpose = "listener";

// Clocks of API servers, which say when an object was made, and ours differ.
constexpr Duration kClockSkew = std::chrono::minutes{5};

struct Fields {
  explicit Fields(const Identity& identity)
      : balancer(model::canonical(identity.lb)),
        ports(fmt::format("{}-{}", identity.ports.first, identity.ports.last)),
        all{identity.ns,    identity.name,      balancer,      model::to_string(identity.protocol),
            ports,          identity.owner_uid, identity.item, identity.lock,
            identity.peers, identity.found_by},
        count(identity.found_by.empty() ? all.size() - 1 : all.size()) {}
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  const std::string balancer;
  const std::string ports;
  std::span<const std::string_view> sealed() const { return std::span(all).first(count); }

 private:
  const std::array<std::string_view, 10> all;
  // Listeners without a name have the seal of the version before names.
  const std::size_t count;
};

std::string_view seal_of(const api::Listener& listener) {
  return kube::get(listener.meta.annotations, kSealAnnotation);
}

std::optional<Identity> identity_on(const api::Listener& listener,
                                    const std::optional<model::LoadBalancerRef>& lb) {
  const Result<model::Protocol> protocol = model::parse_protocol(listener.spec.protocol);
  const kube::OwnerReference* const owner = listener.meta.controller();
  if (!protocol || !lb || !owner) return std::nullopt;
  return Identity{.ns = std::string(listener.meta.ns.view()),
                  .name = listener.meta.name,
                  .lb = *lb,
                  .protocol = *protocol,
                  .ports = api::ports_of(listener.spec),
                  .owner_uid = owner->uid,
                  .item = std::string(item_of(listener)),
                  .lock = std::string(kube::get(listener.meta.annotations, kLockAnnotation)),
                  .peers = std::string(kube::get(listener.meta.annotations, kPeersAnnotation)),
                  .found_by = std::string(found_by(listener))};
}

bool is_owned_by(const api::Listener& listener, std::string_view uid) {
  const kube::OwnerReference* const owner = listener.meta.controller();
  return owner && owner->uid == uid;
}

bool is_older(const api::Listener& listener, const crypto::KeyRing& ring) {
  return ring.empty() || listener.meta.created < ring.keys().front().made + kClockSkew;
}

// No seal, or one by a key that we do not have, proves nothing. What is younger than our keys must
// have one of theirs.
Trust trust_in(crypto::SealVerdict verdict, const api::Listener& listener,
               const crypto::KeyRing& ring) {
  switch (verdict) {
    case crypto::SealVerdict::good: return Trust::ours;
    case crypto::SealVerdict::forged: return Trust::forged;
    case crypto::SealVerdict::absent:
      return is_older(listener, ring) ? Trust::unsealed : Trust::forged;
    case crypto::SealVerdict::unknown_key:
      return is_older(listener, ring) ? Trust::unjudged : Trust::forged;
  }
  return Trust::forged;
}

// Each part with its length before it, so that no two seals with their parts give the same text.
std::string text_of(std::span<const std::string_view> fields, std::string_view seal) {
  std::string out;
  const auto add = [&out](std::string_view part) {
    out.append(std::to_string(part.size())).append(1, ':').append(part);
  };
  add(seal);
  for (const std::string_view field : fields) add(field);
  return out;
}

// What a ring said. A Listener is judged at every look at it, by rings that seldom change; a MAC
// costs more than finding the same text again. It holds no keys: a ring that is gone is forgotten.
class Verdicts {
 public:
  crypto::SealVerdict of(const std::shared_ptr<const crypto::KeyRing>& ring,
                         std::span<const std::string_view> fields, std::string_view seal) {
    Known& known = known_by(ring);
    const std::string text = text_of(fields, seal);
    if (const crypto::SealVerdict* const before = known.verdicts.find(text)) return *before;
    const crypto::SealVerdict verdict = ring->judge(kPurpose, fields, seal);
    known.verdicts.put(text, verdict);
    return verdict;
  }

 private:
  // A process has one ring at a time; in a simulation several processes share a thread.
  static constexpr std::size_t kRings = 4;
  static constexpr std::size_t kVerdicts = 512;
  struct Known {
    std::weak_ptr<const crypto::KeyRing> ring{};
    TextMemo<crypto::SealVerdict, kVerdicts> verdicts{};
  };

  Known& known_by(const std::shared_ptr<const crypto::KeyRing>& ring) {
    for (Known& one : all_)
      if (one.ring.lock() == ring) return one;
    Known& next = all_[next_++ % kRings];
    next = {.ring = ring};
    return next;
  }

  std::array<Known, kRings> all_{};
  std::size_t next_ = 0;
};

}  // namespace

std::string_view to_string(Trust trust) {
  switch (trust) {
    case Trust::ours: return "ours";
    case Trust::unsealed: return "unsealed";
    case Trust::unjudged: return "unjudged";
    case Trust::forged: return "forged";
  }
  return "forged";
}

bool has_marks(const api::Listener& listener) {
  return std::ranges::any_of(
      std::array{kSealAnnotation, kItemAnnotation, kLockAnnotation, ledger::kClaimAnnotation},
      [&](std::string_view key) { return kube::has(listener.meta.annotations, key); });
}

std::optional<Identity> identity_of(const api::Listener& listener) {
  return identity_on(
      listener, model::parse_canonical(kube::get(listener.meta.annotations, kBalancerAnnotation)));
}

std::optional<Identity> identity_without_seal(const api::Listener& listener,
                                              const model::LoadBalancerDefaults& defaults) {
  return identity_on(listener, load_balancer_of(listener, defaults));
}

Marks Sealer::marks(const Identity& identity) const {
  const Fields fields(identity);
  const auto ring = ring_of_();
  return {.identity = identity,
          .balancer = fields.balancer,
          .seal = ring ? ring->seal(kPurpose, fields.sealed()) : std::string()};
}

Trust Sealer::judge(const api::Listener& listener) const {
  const std::string_view seal = seal_of(listener);
  const auto ring = ring_of_();
  if (!ring) return seal.empty() ? Trust::unsealed : Trust::unjudged;
  const auto identity = identity_of(listener);
  if (!identity)
    return seal.empty() ? trust_in(crypto::SealVerdict::absent, listener, *ring) : Trust::forged;
  const Fields fields(*identity);
  static thread_local Verdicts verdicts;
  return trust_in(verdicts.of(ring, fields.sealed(), seal), listener, *ring);
}

bool Sealer::is_current(const api::Listener& listener) const {
  const auto ring = ring_of_();
  return ring && ring->is_current(seal_of(listener)) && judge(listener) == Trust::ours;
}

std::vector<ledger::Holding> holdings_of(const api::Listener& listener) {
  std::vector<ledger::Holding> out;
  const kube::OwnerReference* const owner = listener.meta.controller();
  if (!owner) return out;
  for (const model::Transport transport : transports_of(listener))
    out.push_back({.transport = transport,
                   .ports = api::ports_of(listener.spec),
                   .owner = {std::string(owner->kind.view()), std::string(listener.meta.ns.view()),
                             owner->name, owner->uid},
                   .item = std::string(item_of(listener)),
                   .holder = "Listener " + listener.meta.key().to_string()});
  return out;
}

WhichListeners around(std::string_view owner_uid, const model::PortRange& ports) {
  return [uid = std::string(owner_uid), ports](const api::Listener& listener) {
    return is_owned_by(listener, uid) || api::ports_of(listener.spec).overlaps(ports);
  };
}

WhichListeners of_owner(std::string_view owner_uid) {
  return [uid = std::string(owner_uid)](const api::Listener& listener) {
    return is_owned_by(listener, uid);
  };
}

WhichListeners of_others(std::string_view owner_uid, const model::PortRange& ports) {
  return [uid = std::string(owner_uid), ports](const api::Listener& listener) {
    return !is_owned_by(listener, uid) && api::ports_of(listener.spec).overlaps(ports);
  };
}

std::vector<ledger::Holding> holdings_on(const ListenerStore& listeners, std::string_view balancer,
                                         const Sealer& sealer,
                                         const std::vector<ledger::Grant>& grants,
                                         const WhichListeners& which) {
  return holdings_on(
      listeners, balancer, sealer,
      [&](const ledger::Stand& stand) { return ledger::is_granted(grants, stand); }, which);
}

std::vector<ledger::Holding> holdings_on(const ListenerStore& listeners, std::string_view balancer,
                                         const Sealer& sealer, const IsGranted& is_granted,
                                         const WhichListeners& which) {
  std::vector<ListenerPtr> by_age = listeners.by_index(kBalancerIndex, balancer);
  if (which) std::erase_if(by_age, [&](const ListenerPtr& listener) { return !which(*listener); });
  std::ranges::sort(by_age, {}, [](const ListenerPtr& listener) {
    return std::tuple(listener->meta.created, std::string_view(listener->meta.uid));
  });
  std::vector<ledger::Holding> out;
  for (const ListenerPtr& listener : by_age) {
    const Trust trust = sealer.judge(*listener);
    if (trust == Trust::forged) continue;
    for (ledger::Holding& holding : holdings_of(*listener))
      if (trust != Trust::unsealed || is_granted(stand_of(holding)))
        out.push_back(std::move(holding));
  }
  return out;
}

}  // namespace berth::claims
