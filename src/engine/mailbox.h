// Mailboxes: what was said about each load balancer and nobody has read yet, and whose turn it is.
//
// One worker at a time serves a load balancer. While it does, wishes collect in the box; the newest
// of a key counts. Any task may call any member. Bounded by the number of distinct keys.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/tasks.h"
#include "engine/engine.h"

namespace berth::engine {

class Desk;

struct Mail {
  std::map<WishKey, std::optional<Wish>> wishes{};  // nothing: forget the key
  bool audit = false;
  bool attend = false;

  bool empty() const { return wishes.empty() && !audit && !attend; }
};

// One load balancer. The desk belongs to the worker that has taken the box.
struct Box {
  explicit Box(model::LoadBalancerRef ref) : lb(std::move(ref)) {}
  const model::LoadBalancerRef lb;
  std::shared_ptr<Desk> desk{};

 private:
  friend class Mailboxes;
  Mail mail{};
  Instant due = kNever;
  std::uint64_t turn = 0;
  bool taken = false;
};

class Mailboxes {
 public:
  explicit Mailboxes(Tasks& tasks) : tasks_(tasks) {}

  void want(WishKey key, Wish wish);
  void forget(const WishKey& key);
  void audit(const model::LoadBalancerRef& lb);
  void attend(const model::LoadBalancerRef& lb);

  // Waits until a load balancer has something to do. Null: the stop was requested.
  Box* take(std::stop_token stop);
  // Waits until a load balancer has something to do and no worker is free for it, or on its way: a
  // new one is then counted as on its way until it has `arrived`. False: the stop was requested.
  bool wait_for_lack_of_workers(std::stop_token stop);
  void arrived();
  Mail read(Box& box);

  struct Next {
    Instant due = kNever;            // earlier if mail comes
    bool retire = false;             // nothing to remember: drop the box unless mail came
    std::vector<WishKey> settled{};  // keys that have no wish open any more
  };
  void give_back(Box& box, const Next& next);

 private:
  struct Turn {
    Instant due;
    std::uint64_t order;  // who waits longest goes first
    Box* box;
    auto operator<=>(const Turn&) const = default;
  };

  Box& box_of(const model::LoadBalancerRef& lb) REQUIRES(mu_);
  void schedule(Box& box, Instant due) REQUIRES(mu_);
  void unschedule(Box& box) REQUIRES(mu_);
  void notify_one() REQUIRES(mu_);
  bool lacks_workers() const REQUIRES(mu_);

  Tasks& tasks_;
  Mutex mu_;
  std::map<model::LoadBalancerRef, std::unique_ptr<Box>> boxes_ GUARDED_BY(mu_);
  // Where the open wish of a key lies.
  std::unordered_map<WishKey, Box*> box_of_key_ GUARDED_BY(mu_);
  std::set<Turn> turns_ GUARDED_BY(mu_);
  std::uint64_t next_turn_ GUARDED_BY(mu_) = 1;
  std::vector<Signal*> idle_ GUARDED_BY(mu_);  // workers that wait
  Signal* foreman_ GUARDED_BY(mu_) = nullptr;  // who waits for a lack of them
  std::size_t on_their_way_ GUARDED_BY(mu_) = 0;
};

}  // namespace berth::engine
