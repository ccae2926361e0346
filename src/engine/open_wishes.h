// The wishes of one load balancer that are not met yet. What waits for a Pod comes before bulk
// work. Belongs to a reconciler; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/journal.h"

namespace berth::engine {

struct OpenWish {
  WishKey key{};
  Wish wish{};
  // Found by the audit: nobody asked, so nobody waits for the answer.
  bool repair = false;
  // Since when it was seen to lead elsewhere or nowhere while its caller believes it done.
  std::optional<Instant> astray_since{};
  // What is there of it is known: it was asked for, or all was listed. Only then is it planned.
  bool looked = false;
  // A call of ours changed something for it since then.
  bool touched = false;
  bool read_back = false;  // as wished, and that shall be seen
  bool judged = false;     // its port was found to be another's, since then
  // A call of ours made the listener: nobody before us knew its id.
  bool made_here = false;
  Journal confirmed{};  // since the last contradiction
  // Steps that the provider will never take, as it said since something was last changed for it.
  Journal refused{};
  int contradictions = 0;  // how often a confirmed step was needed again
  int attempts = 0;        // failures in a row
  Instant not_before = Instant::min();
  // What was reported of it: a failure of the same code is not reported twice.
  std::optional<Error> told{};
  bool told_foreign = false;
  bool told_nowhere = false;

  bool was_told(Code code) const { return told && told->code == code; }
};

class OpenWishes {
 public:
  // A newer wish of the key takes the place of the older one.
  void put(OpenWish wish);
  void erase(const WishKey& key);
  OpenWish* find(const WishKey& key);
  bool contains(const WishKey& key) const { return order_of_.contains(key); }

  bool empty() const { return by_order_.empty(); }
  std::size_t size() const { return by_order_.size(); }

  // Those that may be worked on now, as they were looked at, the most urgent first, so many that
  // one plan is quick. Bulk work always gets a part.
  std::vector<OpenWish*> window(Instant now);
  // When the next one may be worked on; not later than `now` if one may be already.
  Instant next_due(Instant now) const;
  std::vector<OpenWish*> all();

 private:
  using Order = std::pair<std::uint8_t, std::uint64_t>;  // urgency, then age

  std::map<Order, OpenWish> by_order_;
  std::unordered_map<WishKey, Order> order_of_;
  std::uint64_t next_ = 0;
};

// The same wish, said again.
bool is_same(const Wish& a, const Wish& b);

// An existing listener changes, or a new one has targets: somebody waits for traffic.
bool is_urgent(const Wish& wish);

}  // namespace berth::engine
