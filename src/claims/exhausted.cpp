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

struct Count {
  std::size_t all = 0;
  std::size_t used = 0;
  std::size_t unready = 0;
};

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
      error_of(Code::exhausted, "no free {} port{}: {} of {} in use{}{}",
               names_of(request.protocols), request.item.empty() ? "" : " in item " + request.item,
               count.used, count.all, by.empty() ? "" : " by " + by,
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

}  // namespace berth::claims
