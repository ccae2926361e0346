// A short immutable list that equal owners share: one copy per value while somebody holds it.
//
// Pods of one template have the same ports, owners and conditions; a cache of 50,000 Pods keeps a
// few hundred such lists. Unlike Interned, a list that nobody holds any more is freed. Elements
// need `==` and a `hash_value` found by argument. Copying is cheap; values are thread-safe like a
// shared_ptr to const.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace berth::kube {

inline std::size_t combine_hash(std::size_t seed, std::size_t more) {
  return (seed ^ more) * 0x9E3779B97F4A7C15u + (seed >> 29);
}

template <class T>
class SharedList {
 public:
  using value_type = T;
  using const_iterator = const T*;

  SharedList() = default;
  SharedList(std::vector<T> items) : items_(pool().share(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  const_iterator begin() const { return items_ ? items_->data() : nullptr; }
  const_iterator end() const { return items_ ? items_->data() + items_->size() : nullptr; }
  std::size_t size() const { return items_ ? items_->size() : 0; }
  bool empty() const { return items_ == nullptr; }
  const T& operator[](std::size_t i) const { return (*items_)[i]; }
  const T& front() const { return items_->front(); }

  // Makes a new list; for building small ones in tests and by hand.
  void push_back(T item) {
    std::vector<T> longer(begin(), end());
    longer.push_back(std::move(item));
    *this = SharedList(std::move(longer));
  }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.items_ == b.items_ || std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  using Held = std::shared_ptr<const std::vector<T>>;  // null for the empty list

  class Pool {
   public:
    Held share(std::vector<T> items) {
      if (items.empty()) return nullptr;
      std::size_t hash = items.size();
      for (const T& item : items) hash = combine_hash(hash, hash_value(item));
      const MutexLock lock(mu_);
      const auto [first, last] = known_.equal_range(hash);
      for (auto it = first; it != last; ++it) {
        if (Held held = it->second.lock(); held && *held == items) return held;
      }
      items.shrink_to_fit();
      auto held = std::make_shared<const std::vector<T>>(std::move(items));
      known_.emplace(hash, held);
      sweep_sometimes();
      return held;
    }

   private:
    // Doubling between sweeps keeps their cost below that of the insertions.
    void sweep_sometimes() REQUIRES(mu_) {
      if (known_.size() < next_sweep_) return;
      std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
      next_sweep_ = std::max(kFirstSweep, known_.size() * 2);
    }

    static constexpr std::size_t kFirstSweep = 256;
    Mutex mu_;
    std::unordered_multimap<std::size_t, std::weak_ptr<const std::vector<T>>> known_
        GUARDED_BY(mu_);
    std::size_t next_sweep_ GUARDED_BY(mu_) = kFirstSweep;
  };

  static Pool& pool() {
    static auto* const one = new Pool;  // outlives every static that holds a list
    return *one;
  }

  Held items_;
};

}  // namespace berth::kube
