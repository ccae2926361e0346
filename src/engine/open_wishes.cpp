#include "engine/open_wishes.h"

#include <algorithm>

namespace berth::engine {
namespace {

// A few times what fits one call of any provider; planning so many takes about a millisecond.
constexpr std::size_t kUrgentWindow = 768;
constexpr std::size_t kBulkWindow = 256;

constexpr std::uint8_t kUrgent = 0;
constexpr std::uint8_t kBulk = 1;

}  // namespace

bool is_urgent(const Wish& wish) {
  return wish.spec && (!wish.known_id.empty() || model::leads_somewhere(*wish.spec));
}

bool is_same(const Wish& a, const Wish& b) {
  return a.version == b.version && a.name == b.name && a.spec == b.spec;
}

void OpenWishes::put(OpenWish wish) {
  erase(wish.key);
  const Order order{is_urgent(wish.wish) ? kUrgent : kBulk, next_++};
  order_of_.emplace(wish.key, order);
  by_order_.emplace(order, std::move(wish));
}

void OpenWishes::erase(const WishKey& key) {
  const auto it = order_of_.find(key);
  if (it == order_of_.end()) return;
  const Order order = it->second;
  order_of_.erase(it);  // before the wish: the key may be the wish's own
  by_order_.erase(order);
}

OpenWish* OpenWishes::find(const WishKey& key) {
  const auto it = order_of_.find(key);
  return it == order_of_.end() ? nullptr : &by_order_.at(it->second);
}

std::vector<OpenWish*> OpenWishes::window(Instant now) {
  std::vector<OpenWish*> out;
  const auto take = [&](auto from, auto to, std::size_t bound) {
    std::size_t taken = 0;
    for (auto it = from; it != to && taken < bound; ++it) {
      if (it->second.not_before > now || !it->second.looked) continue;
      out.push_back(&it->second);
      ++taken;
    }
  };
  const auto border = by_order_.lower_bound({kBulk, 0});
  take(by_order_.begin(), border, kUrgentWindow);
  take(border, by_order_.end(), kBulkWindow);
  return out;
}

Instant OpenWishes::next_due(Instant now) const {
  Instant due = kNever;
  for (const auto& [order, wish] : by_order_) {
    due = std::min(due, wish.not_before);
    if (due <= now) break;
  }
  return due;
}

std::vector<OpenWish*> OpenWishes::all() {
  std::vector<OpenWish*> out;
  out.reserve(by_order_.size());
  for (auto& [order, wish] : by_order_) out.push_back(&wish);
  return out;
}

}  // namespace berth::engine
