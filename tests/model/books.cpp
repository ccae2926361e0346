#include "books.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "claims/grantor.h"
#include "claims/test_support.h"

namespace berth::house {
namespace {

constexpr std::string_view kItem = "item";
constexpr Duration kNoQuarantine{};
constexpr WallTime kNow{};
constexpr model::Port kFirstPort = 30000;

model::PortRange real(model::PortRange ports) {
  return {static_cast<model::Port>(kFirstPort + ports.first),
          static_cast<model::Port>(kFirstPort + ports.last)};
}
model::PortRange real(std::size_t port) {
  const auto number = static_cast<model::Port>(port);
  return real(model::PortRange{number, number});
}

std::string name_of(std::size_t pool) { return pool == 0 ? "p" : "q"; }

ledger::GrantOwner owner_of(std::size_t pool) {
  return {std::string(claims::kPoolOwner), "ns-" + name_of(pool), name_of(pool),
          "uid-of-" + name_of(pool)};
}

ledger::Grant grant_of(std::size_t pool, model::PortRange ports) {
  return {model::Transport::tcp, ports, owner_of(pool), std::string(kItem), kNow};
}

// The Listener as the API server has it. One that is forged was copied from another namespace, with
// the seal that it has there.
api::Listener listener_at(const Place& place, bool forged) {
  const std::string lb = place.lb == 0 ? "a" : "b";
  api::Listener out =
      claims::testing::peer_at({.item = std::string(kItem), .lb = lb, .ports = real(place.port)});
  const ledger::GrantOwner owner = owner_of(place.pool);
  out.meta.ns = kube::Interned(owner.ns);
  out.meta.uid = fmt::format("uid-{}", place.index());
  out.meta.owners = {{.kind = kube::Interned(claims::kPoolOwner),
                      .name = owner.name,
                      .uid = owner.uid,
                      .controller = true}};
  claims::testing::put(out.meta.labels, api::kOwnerNameKey, owner.name);
  out.meta.created = claims::testing::kNow + std::chrono::seconds{place.index()};
  if (!forged) return claims::testing::sealed(std::move(out));
  api::Listener source = out;
  source.meta.ns = kube::Interned("elsewhere");
  out.meta.annotations = claims::testing::sealed(std::move(source)).meta.annotations;
  return out;
}

std::uint64_t key_of(const Standing& standing) {
  return standing.there | (standing.forged << 6) | (standing.lb << 12);
}

enum class Ask : std::uint64_t { has, unheld, give, leave, undo, own, rebuild, restore };
std::uint64_t key_of(Ask ask, GrantsId grants, std::size_t pool, model::PortRange ports,
                     const Standing& standing) {
  return static_cast<std::uint64_t>(ask) | (std::uint64_t{grants} << 4) |
         (std::uint64_t{pool} << 16) | (std::uint64_t{ports.first} << 17) |
         (std::uint64_t{ports.last} << 19) | (key_of(standing) << 21);
}

constexpr std::uint64_t kRefused = ~std::uint64_t{0};

}  // namespace

GrantBook::GrantBook() : lists_{{}} {}

GrantsId GrantBook::number_of(const Grants& grants) {
  const auto it = std::ranges::find(lists_, grants);
  const auto number = static_cast<GrantsId>(it - lists_.begin());
  if (it == lists_.end()) lists_.push_back(grants);
  return number;
}

std::uint64_t GrantBook::once(std::uint64_t key, const std::function<std::uint64_t()>& work) {
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  const std::uint64_t answer = work();
  known_.emplace(key, answer);
  return answer;
}

const std::vector<ledger::Holding>& GrantBook::holdings(const Standing& standing) {
  const auto [it, is_new] = holdings_.try_emplace(key_of(standing));
  if (!is_new) return it->second;
  claims::ListenerStore store;
  claims::add_indexes(store, {});
  for (std::size_t pool = 0; pool < kPools; ++pool) {
    for (std::size_t port = 0; port < kPorts; ++port) {
      const unsigned bit = Standing::bit(pool, port);
      if ((standing.there & bit) != 0)
        store.put(listener_at({pool, standing.lb, port}, (standing.forged & bit) != 0));
    }
  }
  const std::string balancer =
      model::object_name({model::Provider::edge, "", standing.lb == 0 ? "a" : "b"});
  it->second = claims::holdings_on(store, balancer, claims::testing::sealer(), {});
  return it->second;
}

bool GrantBook::has_grant(GrantsId grants, std::size_t pool, model::PortRange ports) {
  return once(key_of(Ask::has, grants, pool, ports, {}), [&] {
    return std::uint64_t{ledger::has_grant(lists_[grants], grant_of(pool, real(ports)))};
  });
}

bool GrantBook::check_unheld(const Standing& standing, std::size_t pool, model::PortRange ports) {
  return once(key_of(Ask::unheld, 0, pool, ports, standing), [&] {
    return std::uint64_t{
        ledger::check_unheld(holdings(standing), grant_of(pool, real(ports))).has_value()};
  });
}

std::optional<GrantsId> GrantBook::with_grant(GrantsId grants, std::size_t pool,
                                              model::PortRange ports, const Standing& standing) {
  const std::uint64_t answer =
      once(key_of(Ask::give, grants, pool, ports, standing), [&]() -> std::uint64_t {
        const Result<Grants> next =
            ledger::with_grant(lists_[grants], grant_of(pool, real(ports)), holdings(standing));
        return next ? number_of(*next) : kRefused;
      });
  if (answer == kRefused) return std::nullopt;
  return static_cast<GrantsId>(answer);
}

GrantsId GrantBook::without_owner(GrantsId grants, std::size_t pool, const Standing& standing) {
  return static_cast<GrantsId>(once(key_of(Ask::leave, grants, pool, {}, standing), [&] {
    std::vector<ledger::Grant> own = lists_[grants];
    std::erase_if(
        own, [&](const ledger::Grant& grant) { return grant.owner.uid != owner_of(pool).uid; });
    return std::uint64_t{
        number_of(ledger::without_unused(lists_[grants], own, holdings(standing)))};
  }));
}

GrantsId GrantBook::without_given(GrantsId grants, std::size_t pool, model::PortRange ports,
                                  GrantsId before, const Standing& standing) {
  const std::uint64_t key =
      key_of(Ask::undo, grants, pool, ports, standing) | (std::uint64_t{before} << 40);
  return static_cast<GrantsId>(once(key, [&] {
    return std::uint64_t{number_of(ledger::without_given(
        lists_[grants], grant_of(pool, real(ports)), lists_[before], holdings(standing)))};
  }));
}

GrantsId GrantBook::own_grants(GrantsId grants, std::size_t pool) {
  return static_cast<GrantsId>(once(key_of(Ask::own, grants, pool, {}, {}), [&] {
    return std::uint64_t{number_of(ledger::own_grants(lists_[grants], grant_of(pool, {})))};
  }));
}

GrantsId GrantBook::rebuilt(const Standing& standing) {
  return static_cast<GrantsId>(once(key_of(Ask::rebuild, 0, 0, {}, standing), [&] {
    return std::uint64_t{number_of(ledger::rebuilt(holdings(standing), kNow))};
  }));
}

GrantsId GrantBook::restored(GrantsId grants, std::size_t pool, const Standing& standing) {
  return static_cast<GrantsId>(once(key_of(Ask::restore, grants, pool, {}, standing), [&] {
    const std::vector<ledger::Holding>& all = holdings(standing);
    std::vector<ledger::Holding> own;
    for (const ledger::Holding& holding : all)
      if (holding.owner.uid == owner_of(pool).uid &&
          !ledger::is_granted(lists_[grants], ledger::stand_of(holding)))
        own.push_back(holding);
    return std::uint64_t{number_of(ledger::with_holdings(lists_[grants], own, all, kNow))};
  }));
}

GrantsId GrantBook::with_written(GrantsId grants, std::size_t pool, std::size_t port) {
  Grants next = lists_[grants];
  next.push_back(grant_of(pool, real(port)));
  std::ranges::sort(next, {}, [](const ledger::Grant& grant) {
    return std::tuple(grant.ports.first, std::string_view(grant.owner.uid));
  });
  return number_of(next);
}

GrantsId GrantBook::without_written(GrantsId grants, std::size_t pool) {
  Grants next = lists_[grants];
  std::erase_if(next, [&](const ledger::Grant& grant) { return grant.owner == owner_of(pool); });
  return number_of(next);
}

unsigned GrantBook::owners(GrantsId grants, std::size_t port) {
  unsigned out = 0;
  const auto number = static_cast<model::Port>(port);
  for (std::size_t pool = 0; pool < kPools; ++pool)
    if (has_grant(grants, pool, {number, number})) out |= 1u << pool;
  return out;
}

std::string GrantBook::to_string(GrantsId grants) const {
  std::string out;
  for (const ledger::Grant& grant : lists_[grants])
    out += fmt::format("{}{} {}-{}", out.empty() ? "" : ", ", grant.owner.name,
                       grant.ports.first - kFirstPort + 1, grant.ports.last - kFirstPort + 1);
  return out.empty() ? "none" : out;
}

ClaimBook::ClaimBook() {
  for (std::size_t pod = 0; pod < kPods; ++pod)
    admitted_[pod] = number_of(
        ledger::Claim{.token = fmt::format("token-{}", pod), .ns = "games", .request = "r"}, pod);
  // Each move may make one that was not there.
  for (std::size_t claim = 1; claim < claims_.size(); ++claim)
    add_moves(static_cast<ClaimId>(claim));
}

ClaimId ClaimBook::number_of(const std::optional<ledger::Claim>& claim, std::size_t pod) {
  const auto text = [](const std::optional<ledger::Claim>& one) {
    return one ? ledger::encode(*one) : std::string();
  };
  const auto it = std::ranges::find(claims_, text(claim), text);
  const auto number = static_cast<ClaimId>(it - claims_.begin());
  if (it != claims_.end()) return number;
  claims_.push_back(claim);
  pods_.push_back(pod);
  return number;
}

ledger::SlotState ClaimBook::state(ClaimId claim) const {
  return claim == 0 ? ledger::SlotState::free : claims_[claim]->state;
}

void ClaimBook::add_moves(ClaimId number) {
  const std::size_t pod = pods_[number];
  const ledger::Claim claim = *claims_[number];
  const std::string uid = fmt::format("uid-of-pod-{}", pod);
  using enum ledger::SlotState;
  bound_[number] =
      claim.state == claimed ? number_of(ledger::bound_to(claim, "pod", uid, kNow), pod) : number;
  abandoned_[number] = number;
  abandoned_at_rest_[number] = number;
  drained_[number] = number;
  if (claim.state == draining) {
    drained_[number] = number_of(ledger::drained(claim, kNoQuarantine, kNow), pod);
    return;
  }
  abandoned_[number] = number_of(ledger::abandoned(claim, false, kNoQuarantine, kNow), pod);
  abandoned_at_rest_[number] = number_of(ledger::abandoned(claim, true, kNoQuarantine, kNow), pod);
}

}  // namespace berth::house
