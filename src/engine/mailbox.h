// Mailboxes: what was said about each place and nobody has read yet, and whose turn it is. A place
// is a load balancer, or an address of a gateway, and whose credentials it is asked with.
//
// One worker at a time serves a place. While it does, wishes collect in the box; the newest of a
// key counts. Where writes must follow each other, the places of one load balancer or gateway take
// turns. Any task may call any member. Bounded by the number of distinct keys.
//
// Cost: the logarithm of places and keys; where writes are serial, the places of that load balancer
// when its turn begins and ends.
#pragma once

#include <functional>
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
#include "engine/gather.h"

namespace berth::engine {

class PlaceReconciler;

struct Messages {
  std::map<WishKey, std::optional<Wish>> wishes{};  // nothing: forget the key
  bool audit = false;
  // Wishes that another place of the load balancer had open until now: a call of it may still land.
  std::set<WishKey> moved{};
  bool attend = false;
  bool has_siblings = false;  // there are other places of this load balancer
  bool room = false;          // another place of the same quota has less than before

  bool empty() const { return wishes.empty() && !audit && !attend && !room; }
};

// One place. The reconciler belongs to the worker that has taken the box.
struct Box {
  explicit Box(lb::Place where) : place(std::move(where)) {}
  const lb::Place place;
  std::shared_ptr<PlaceReconciler> reconciler{};

 private:
  friend class Mailboxes;
  // The places of one load balancer, or of one gateway.
  struct Family {
    std::vector<Box*> boxes{};
    bool serial = false;
    bool taken = false;  // only where serial
  };
  Family* family = nullptr;
  // While another one of its family has the turn: its own, which is kept for it.
  Instant put_off = kNever;
  std::uint64_t put_off_turn = 0;
  Messages messages{};
  Gather gather{};
  bool gathers = false;  // its turn waits for wishes that are on their way, and for nothing else
  Instant due = kNever;
  std::uint64_t turn = 0;
  bool taken = false;
};

class Mailboxes {
 public:
  // `is_serial`: whether the writes to a load balancer must follow each other.
  using IsSerial = std::function<bool(const model::LoadBalancerRef& lb)>;
  explicit Mailboxes(Tasks& tasks, IsSerial is_serial = {})
      : tasks_(tasks), is_serial_(std::move(is_serial)) {}

  void want(WishKey key, Wish wish);
  void forget(const WishKey& key);
  void expect(const WishKey& key, const lb::Place& place, Notice notice);
  void audit(const model::LoadBalancerRef& lb);
  void attend(const model::LoadBalancerRef& lb);

  // Waits until a load balancer has something to do. Null: the stop was requested.
  Box* take(std::stop_token stop);
  // Waits until a load balancer has something to do and no worker is free for it, or on its way: a
  // new one is then counted as on its way until it has `arrived`. False: the stop was requested.
  bool wait_for_lack_of_workers(std::stop_token stop);
  void arrived();
  Messages read(Box& box);

  struct Next {
    Instant due = kNever;            // earlier if messages come
    bool retire = false;             // nothing to remember: drop the box unless messages came
    std::vector<WishKey> settled{};  // keys that have no wish open any more
    std::vector<WishKey> opened{};   // repairs that nobody asked for
    bool room = false;               // others of the same quota may try again
    std::optional<Duration> call{};  // how long a write took that was answered
    // Places of the same load balancer that shall hear what this one was told.
    std::vector<lb::Place> also{};
    Messages told{};
  };
  void give_back(Box& box, const Next& next);

 private:
  struct Turn {
    Instant due;
    std::uint64_t order;  // who waits longest goes first
    Box* box;
    auto operator<=>(const Turn&) const = default;
  };

  Box& box_of(const lb::Place& place) REQUIRES(mu_);
  void erase(Box& box) REQUIRES(mu_);
  void begin_turn(Box& box) REQUIRES(mu_);
  void end_turn(Box& box) REQUIRES(mu_);
  void pass_on(const Box& box, const Next& next) REQUIRES(mu_);
  void schedule(Box& box, Instant due) REQUIRES(mu_);
  void schedule_wishes(Box& box, Instant leave) REQUIRES(mu_);
  void note_call(const Box& box, Duration took) REQUIRES(mu_);
  Duration call_to(const Box& box) const REQUIRES(mu_);
  void insert(Box& box, Instant due, std::uint64_t turn) REQUIRES(mu_);
  void unschedule(Box& box) REQUIRES(mu_);
  void notify_one() REQUIRES(mu_);
  bool lacks_workers() const REQUIRES(mu_);

  Tasks& tasks_;
  const IsSerial is_serial_;
  Mutex mu_;
  std::map<lb::Place, std::unique_ptr<Box>> boxes_ GUARDED_BY(mu_);
  std::map<model::LoadBalancerRef, Box::Family> families_ GUARDED_BY(mu_);  // by their parent
  // Where the open wish of a key lies.
  std::unordered_map<WishKey, Box*> box_of_key_ GUARDED_BY(mu_);
  std::set<Turn> turns_ GUARDED_BY(mu_);
  std::uint64_t next_turn_ GUARDED_BY(mu_) = 1;
  std::map<model::Provider, Duration> calls_ GUARDED_BY(mu_);  // how long a write takes, as a rule
  std::vector<Signal*> idle_ GUARDED_BY(mu_);                  // workers that wait
  Signal* foreman_ GUARDED_BY(mu_) = nullptr;                  // who waits for a lack of them
  std::size_t on_their_way_ GUARDED_BY(mu_) = 0;
};

}  // namespace berth::engine
