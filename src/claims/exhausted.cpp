#include "claims/exhausted.h"

#include <algorithm>
#include <set>

namespace berth::claims {
namespace {

std::string names_of(const std::vector<model::Protocol>& protocols) {
  std::string text;
  for (const model::Protocol protocol : protocols)
    text += fmt::format("{}{}", text.empty() ? "" : "_", model::to_string(protocol));
  return text;
}

// Between what is missing and how it stands.
constexpr std::string_view kNoFree = "no free ";
constexpr std::string_view kCounts = ": ";

struct Count {
  std::size_t all = 0;
  std::size_t used = 0;
  std::size_t unready = 0;
};

// "item1 (TCP, UDP), item2 (UDP)"
std::string list_items(const api::PortPool& pool) {
  std::string text;
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    std::string protocols;
    if (const auto found = api::protocols_of(item)) {
      for (const model::Protocol protocol : *found)
        protocols += fmt::format("{}{}", protocols.empty() ? "" : ", ", model::to_string(protocol));
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

std::string name_some(const std::set<std::string>& holders) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  std::size_t named = 0;
  for (const std::string& holder : holders) {
    if (named++ == kNamed) break;
    text += (text.empty() ? "" : ", ") + holder;
  }
  if (holders.size() > kNamed) text += fmt::format(" and {} more", holders.size() - kNamed);
  return text;
}

}  // namespace

Takers takers_of(const std::vector<ListenerPtr>& listeners) {
  Takers out;
  for (const ListenerPtr& listener : listeners) {
    const auto claim = claim_of(*listener);
    const auto state = claim ? claim->state : ledger::SlotState::bound;
    if (state == ledger::SlotState::kept) {
      ++out.kept;
      out.names.insert(claim->ns + "/" + claim->pod_name);
      if (out.kept == 1 || claim->until < out.first_until) {
        out.first_until = claim->until;
        out.first_name = {claim->ns, claim->pod_name};
      }
    } else if (state == ledger::SlotState::draining || state == ledger::SlotState::quarantined) {
      ++out.resting;
    } else {
      ++out.of_pods;
      if (claim) out.pods.insert(holder_of(*claim));
    }
  }
  return out;
}

std::string Takers::to_string() const {
  const std::string by = pods.empty() ? "" : " by " + name_some(pods);
  if (kept == 0 && resting == 0) return by;
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += fmt::format("{} {}", text.empty() ? ":" : ";", part);
  };
  if (of_pods != 0) add(fmt::format("{}{}", of_pods, by.empty() ? " by Pods" : by));
  if (kept != 0) {
    add(fmt::format("{} kept for {}, which {} gone (the first until {})", kept, name_some(names),
                    names.size() == 1 ? "is" : "are", format_rfc3339(first_until)));
  }
  if (resting != 0) add(fmt::format("{} resting after their Pods", resting));
  return text;
}

std::string Takers::advice() const {
  std::string text;
  if (resting != 0) text = "those that rest are free in a moment";
  if (kept != 0) {
    text += fmt::format("{}kubectl delete portbinding {} -n {} gives up what is kept for it",
                        text.empty() ? "" : "; ", first_name.name, first_name.ns);
  }
  return text;
}

std::string name_holders(const std::vector<ListenerPtr>& listeners) {
  std::set<std::string> holders;
  for (const ListenerPtr& listener : listeners) {
    if (const auto claim = claim_of(*listener)) holders.insert(holder_of(*claim));
    if (is_unreadable(*listener))
      holders.insert("a claim that this version cannot read, on Listener " +
                     listener->meta.key().to_string());
  }
  return name_some(holders);
}

Error exhausted(const SlotRequest& request, const ListenerStore& store) {
  std::vector<ListenerPtr> holders;
  Count count;
  for (const ListenerPtr& listener : store.by_index(kPoolIndex, request.pool.to_string())) {
    const auto protocol = protocol_of(*listener);
    const bool wanted = protocol && std::ranges::count(request.protocols, *protocol) != 0 &&
                        (request.item.empty() || item_of(*listener) == request.item);
    // Locks alone have the annotation.
    if (!wanted || !kube::has(listener->meta.annotations, ledger::kClaimAnnotation)) continue;
    ++count.all;
    if (!claim_text(*listener).empty()) {
      ++count.used;
      holders.push_back(listener);
    } else if (!leads_nowhere(*listener) || listener->meta.deleting) {
      ++count.unready;
    }
  }
  const Takers takers = takers_of(holders);
  Error error =
      error_of(Code::exhausted, "{}{} port{}{}{} of {} in use{}{}", kNoFree,
               names_of(request.protocols), request.item.empty() ? "" : " in item " + request.item,
               kCounts, count.used, count.all, takers.to_string(),
               count.unready == 0 ? "" : fmt::format(", {} not ready yet", count.unready))
          .about("PortPool " + request.pool.to_string());
  if (count.all == 0) {
    error.hint = "the pool does not exist, or has no such item, protocol or ports yet";
  } else if (count.unready != 0) {
    error.hint = "the pool is being filled: try again in a moment";
  } else {
    const std::string advice = takers.advice();
    error.hint =
        fmt::format("raise endPort or add an item{}{}", advice.empty() ? "" : "; ", advice);
  }
  return error;
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
