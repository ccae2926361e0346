#include "claims/exhausted.h"

#include <algorithm>
#include <set>

namespace berth::claims {
namespace {

std::string names_of(const std::vector<model::Protocol>& protocols) {
  std::string text;
  for (const model::Protocol protocol : protocols)
    text += fmt::format("{}{}", text.empty() ? "" : "_", api::pool_protocol_text(protocol));
  return text;
}

// Between what is missing and how it stands.
constexpr std::string_view kNoFree = "no free ";
constexpr std::string_view kCounts = ": ";

struct Count {
  std::size_t all = 0;
  std::size_t own = 0;  // of the one who asks
  std::size_t unready = 0;
};

// "6 of 10 in use by games/room-0, 2 would be this Pod's, 2 not ready yet"
std::string describe(const Count& count, std::size_t used, const Takers& takers) {
  std::string text = fmt::format("{} of {} in use{}", used, count.all, takers.to_string());
  if (count.own != 0) text += fmt::format(", {} would be this Pod's", count.own);
  if (count.unready != 0) text += fmt::format(", {} not ready yet", count.unready);
  return text;
}

// "item1 (TCP, UDP), item2 (UDP)"
std::string list_items(const api::PortPool& pool) {
  std::string text;
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    std::string protocols;
    if (const auto found = api::protocols_of(item)) {
      for (const model::Protocol protocol : *found)
        protocols +=
            fmt::format("{}{}", protocols.empty() ? "" : ", ", api::pool_protocol_text(protocol));
    }
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", item.item_name, protocols);
  }
  return text;
}

bool has_protocols(const api::PortPoolItem& item, const std::vector<model::Protocol>& wanted) {
  const auto found = api::protocols_of(item);
  return found && std::ranges::all_of(wanted, [&](model::Protocol protocol) {
           return std::ranges::find(*found, protocol) != found->end();
         });
}

std::string holder_of(const ledger::Claim& claim) {
  return claim.pod_name.empty() ? "a Pod of " + claim.ns + " that is being created"
                                : claim.ns + "/" + claim.pod_name;
}

void add(PodNames& names, const ledger::Claim& claim, std::optional<std::string_view> reader) {
  const bool may_know = !reader || *reader == claim.ns;
  (may_know ? names.named : names.hidden).insert(holder_of(claim));
}

// Listeners that the request could have had.
bool fits(const api::Listener& listener, const SlotRequest& request) {
  const auto protocol = protocol_of(listener);
  return protocol && std::ranges::count(request.protocols, *protocol) != 0 &&
         (request.item.empty() || item_of(listener) == request.item) &&
         // Locks alone have the annotation.
         kube::has(listener.meta.annotations, ledger::kClaimAnnotation);
}

}  // namespace

std::string PodNames::to_string() const {
  constexpr std::size_t kNamed = 5;
  std::vector<std::string> parts;
  for (const std::string& name : named) {
    if (parts.size() == kNamed) break;
    parts.push_back(name);
  }
  if (named.size() > kNamed) parts.push_back(fmt::format("{} more", named.size() - kNamed));
  if (!hidden.empty()) {
    parts.push_back(
        fmt::format("{} Pod{} in other namespaces", hidden.size(), hidden.size() == 1 ? "" : "s"));
  }
  const bool has_rest = named.size() > kNamed || !hidden.empty();
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    text += (i == 0 ? "" : last && has_rest ? " and " : ", ") + parts[i];
  }
  return text;
}

Takers takers_of(const std::vector<ListenerPtr>& listeners,
                 std::optional<std::string_view> reader) {
  Takers out;
  WallTime until_of_first{};
  for (const ListenerPtr& listener : listeners) {
    const auto claim = claim_of(*listener);
    const auto state = claim ? claim->state : ledger::SlotState::bound;
    if (state == ledger::SlotState::kept) {
      ++out.kept;
      add(out.names, *claim, reader);
      if (out.kept == 1 || claim->until < out.first_until) out.first_until = claim->until;
      const bool may_know = !reader || *reader == claim->ns;
      if (may_know && (out.first_name.name.empty() || claim->until < until_of_first)) {
        until_of_first = claim->until;
        out.first_name = {claim->ns, claim->pod_name};
      }
    } else if (state == ledger::SlotState::draining || state == ledger::SlotState::quarantined) {
      ++out.resting;
    } else {
      ++out.of_pods;
      if (claim) add(out.pods, *claim, reader);
    }
  }
  return out;
}

std::string Takers::to_string() const {
  const std::string by = pods.empty() ? "" : " by " + pods.to_string();
  if (kept == 0 && resting == 0) return by;
  std::string text;
  const auto tell = [&text](const std::string& part) {
    text += fmt::format("{} {}", text.empty() ? ":" : ";", part);
  };
  if (of_pods != 0) tell(fmt::format("{}{}", of_pods, by.empty() ? " by Pods" : by));
  if (kept != 0) {
    tell(fmt::format("{} kept for {}, which {} gone (the first until {})", kept, names.to_string(),
                     names.size() == 1 ? "is" : "are", format_rfc3339(first_until)));
  }
  if (resting != 0) tell(fmt::format("{} resting after their Pods", resting));
  return text;
}

std::string Takers::advice() const {
  std::string text;
  if (resting != 0) text = "those that rest are free in a moment";
  if (!first_name.name.empty()) {
    text += fmt::format("{}kubectl delete portbinding {} -n {} gives up what is kept for it",
                        text.empty() ? "" : "; ", first_name.name, first_name.ns);
  }
  return text;
}

std::string name_holders(const std::vector<ListenerPtr>& listeners, std::string_view reader) {
  PodNames holders;
  for (const ListenerPtr& listener : listeners) {
    if (const auto claim = claim_of(*listener)) add(holders, *claim, reader);
    if (is_unreadable(*listener))
      holders.named.insert("a claim that this version cannot read, on Listener " +
                           listener->meta.key().to_string());
  }
  return holders.to_string();
}

Error exhausted(const SlotRequest& request, const ListenerStore& store, const Asker& asker) {
  std::vector<ListenerPtr> holders;
  Count count;
  for (const ListenerPtr& listener : store.by_index(kOwnerIndex, pool_key(request.pool))) {
    if (!fits(*listener, request)) continue;
    ++count.all;
    const auto claim = claim_of(*listener);
    if (claim && !asker.token.empty() && claim->token == asker.token) {
      ++count.own;  // given back by now, or in a moment
    } else if (!claim_text(*listener).empty()) {
      holders.push_back(listener);
    } else if (!leads_nowhere(*listener) || listener->meta.deleting) {
      ++count.unready;
    }
  }
  const Takers takers = takers_of(holders, asker.ns);
  Error error =
      error_of(Code::exhausted, "{}{} port{}{}{}", kNoFree, names_of(request.protocols),
               request.item.empty() ? "" : " in item " + request.item, kCounts,
               count.all == 0 ? "the pool has none yet" : describe(count, holders.size(), takers))
          .about("PortPool " + request.pool.to_string());
  if (count.all == 0) {
    error.hint = "it is being filled, or cannot be: see kubectl describe portpool";
  } else if (count.own != 0 && count.own + count.unready == count.all) {
    error.hint = "the Pod asks for more ports than the pool has: raise endPort or add an item";
  } else if (count.unready != 0) {
    error.hint = "the pool is being filled: try again in a moment";
  } else {
    const std::string advice = takers.advice();
    error.hint =
        fmt::format("raise endPort or add an item{}{}", advice.empty() ? "" : "; ", advice);
  }
  return error;
}

std::string unready_items(const api::PortPool& pool, const SlotRequest& request) {
  std::string text;
  for (const api::PortPoolItemStatus& item : pool.status.pool_items) {
    if (item.status == api::kReady || (!request.item.empty() && item.item_name != request.item))
      continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", item.item_name, item.message);
  }
  return text;
}

std::string without_counts(const Error& error) {
  const bool ours = error.code == Code::exhausted && error.message.starts_with(kNoFree);
  return ours ? error.message.substr(0, error.message.find(kCounts)) : error.message;
}

std::optional<Error> misfit(const api::PortPool* pool, const SlotRequest& request) {
  const std::string name = request.pool.to_string();
  if (!pool) {
    return error_of(Code::exhausted, "there is no PortPool {}", name)
        .with_hint(
            "create it, or name another: NAME in the Pod's namespace, NAME.NAMESPACE elsewhere");
  }
  if (pool->spec.pool_items.empty()) {
    return error_of(Code::exhausted, "PortPool {} has no items", name)
        .with_hint("add one to its spec.poolItems");
  }
  const auto named = [&](const api::PortPoolItem& item) {
    return request.item.empty() || item.item_name == request.item;
  };
  if (std::ranges::none_of(pool->spec.pool_items, named)) {
    return error_of(Code::exhausted, "PortPool {} has no item '{}'; its items are: {}", name,
                    request.item, list_items(*pool))
        .with_hint("name one of them, or leave /ITEM out for any");
  }
  const auto fits = [&](const api::PortPoolItem& item) {
    return named(item) && has_protocols(item, request.protocols);
  };
  if (std::ranges::any_of(pool->spec.pool_items, fits)) return std::nullopt;
  return error_of(Code::exhausted, "PortPool {} has no item{} for {}; its items are: {}", name,
                  request.item.empty() ? "" : " '" + request.item + "'",
                  names_of(request.protocols), list_items(*pool))
      .with_hint("ask for a protocol that an item has, or add an item with it");
}

}  // namespace berth::claims
