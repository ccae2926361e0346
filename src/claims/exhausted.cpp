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

}  // namespace

std::string name_holders(const std::vector<ListenerPtr>& listeners) {
  constexpr std::size_t kNamed = 5;
  std::set<std::string> holders;
  for (const ListenerPtr& listener : listeners) {
    const auto claim = claim_of(*listener);
    if (!claim) continue;
    holders.insert(claim->pod_name.empty() ? "a Pod of " + claim->ns + " that is being created"
                                           : claim->ns + "/" + claim->pod_name);
  }
  std::string text;
  std::size_t named = 0;
  for (const std::string& holder : holders) {
    if (named++ == kNamed) break;
    text += (text.empty() ? "" : ", ") + holder;
  }
  if (holders.size() > kNamed) text += fmt::format(" and {} more", holders.size() - kNamed);
  return text;
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
  const std::string by = name_holders(holders);
  Error error =
      error_of(Code::exhausted, "{}{} port{}{}{} of {} in use{}{}", kNoFree,
               names_of(request.protocols), request.item.empty() ? "" : " in item " + request.item,
               kCounts, count.used, count.all, by.empty() ? "" : " by " + by,
               count.unready == 0 ? "" : fmt::format(", {} not ready yet", count.unready))
          .about("PortPool " + request.pool.to_string());
  if (count.all == 0) {
    error.hint = "the pool does not exist, or has no such item, protocol or ports yet";
  } else if (count.unready != 0) {
    error.hint = "the pool is being filled: try again in a moment";
  } else {
    error.hint = "raise endPort or add an item";
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
