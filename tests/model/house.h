// What can happen next in a house. The shells of the product (Grantor, Claimer, the controllers of
// pools, Pods and Listeners) are small steps here: what one of them reads from its caches, decides
// and writes. What they decide by are the product's own functions, see books.h.
//
// Two replicas: one leads, with caches that may be behind. The other leads next, from lists of its
// own; the former leader is fenced then, but one request of it may be on its way. What a follower's
// cache says of a slot does not matter, for a claim tests the Listener itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "books.h"
#include "house_state.h"

namespace berth::house {

struct Step {
  const char* what = "";
  std::uint8_t who = 0;  // place, load balancer, Pod or pool
  bool is_ours = false;  // the product does it by itself, sooner or later
  enum class About : std::uint8_t { nothing, place, lb, pod, pool } about = About::nothing;
  bool is_late = false;  // the leader asks for it, and loses the lead before it happens
};

class House {
 public:
  House(const Size& size, Plant plant);

  using Emit = std::function<void(const Step&, const State&)>;
  State beginning() const;
  // The product's own steps come first, in an order that ends if nobody interferes.
  void each_step(const State& state, const Emit& emit);

  // What must not be, on the way from one state to the next; empty: all is well.
  std::string fault_in(const State& state);
  std::string fault_between(const State& before, const Step& step, const State& after);
  // Nothing is left to do: is everything as it should be?
  std::string fault_at_rest(const State& state);

  std::string to_string(const Step& step) const;
  std::string to_string(const State& state) const;

  const Size& size() const { return size_; }

 private:
  // A write that the leader may make now. `then` continues with the answer.
  using Then = std::function<void(State&, bool landed)>;
  struct Choice {
    Step step{};
    Write write{};
    Then then{};
  };
  using Choices = std::vector<Choice>;

  // leader_steps.cpp: of pools.
  void pool_choices(const State& s, std::size_t pool, Choices& out);
  bool restore(const State& s, std::size_t pool, Choices& out);
  void ensure_grants(const State& s, std::size_t pool, Choices& out);
  void grant(const State& s, std::size_t pool, std::size_t lb, Choices& out);
  void rebuild(const State& s, std::size_t pool, std::size_t lb, bool wants, Choices& out);
  void undo_grants(const State& s, std::size_t pool, Choices& out);
  void survey(const State& s, std::size_t pool, bool granted, Choices& out);
  void release(const State& s, std::size_t pool, Choices& out);
  void release_elsewhere(const State& s, std::size_t pool, Choices& out);
  bool release_on(const State& s, std::size_t pool, std::size_t lb, Choices& out);
  void remove_free(const State& s, std::size_t pool, Choices& out);
  void create(const State& s, std::size_t pool, Choices& out);
  bool is_refused(const State& s, std::size_t pool, std::size_t lb);
  bool has_all(const State& s, std::size_t pool);
  Write swap_of(const State& s, std::size_t lb, GrantsId next) const;

  // slot_steps.cpp: of Pods and Listeners.
  void slot_choices(const State& s, const Place& place, Choices& out);
  void lead_to(const State& s, const Place& place, std::size_t pod, ClaimId claim, Choices& out);
  void let_go(const State& s, const Place& place, ClaimId draining, Choices& out);
  void give_away(const State& s, const Place& place, ClaimId next, Choices& out);
  void take_again(const State& s, const Place& place, Choices& out);
  void take_stray(const State& s, const Place& place, Choices& out);
  void pod_choices(const State& s, std::size_t pod, Choices& out);
  void note_choices(const State& s, const Place& place, Choices& out);
  void engine_steps(const State& s, const Place& place, const Emit& emit);
  void change(const State& s, const Place& place, ClaimId claim, Index leads, const char* what,
              Choices& out);
  bool is_led_here(const State& s, const Place& lock, std::size_t pod) const;
  bool rests(const State& s, const Place& lock) const;

  // world_steps.cpp: of everybody else.
  void refreshes(const State& s, const Emit& emit);
  void webhook(const State& s, const Emit& emit);
  void pods_move(const State& s, const Emit& emit);
  void people(const State& s, const Emit& emit);
  void hand(const State& s, const Emit& emit);
  void hand_on_listeners(const State& s, const Emit& emit);
  void takeover(const State& s, const Choices& choices, const Emit& emit);
  void late_write(const State& s, const Emit& emit);
  void settle(State& s) const;

  // The server's part: whether the tests hold, and what is there then.
  bool land(State& s, const Write& write) const;
  bool land_on_listener(State& s, const Write& write) const;
  static void changed(State& s, std::size_t place);
  static void changed_balancer(State& s, std::size_t lb);
  static void remember(State& s, std::size_t place);
  void leader_step(const State& s, const Choice& choice, const Emit& emit);

  const Wanted& wanted(std::size_t pool, Index index) const { return size_.pools[pool][index]; }
  const Wanted& known(const State& s, std::size_t pool) const {
    return wanted(pool, s.leader.wanted[pool]);
  }
  // As the round of the pool goes by it.
  const Wanted& item_of(const State& s, std::size_t pool) const {
    const Round& round = s.leader.rounds[pool];
    return round.has_begun() ? wanted(pool, round.item) : known(s, pool);
  }
  bool is_lock(const Place& place) const { return !size_.paired || place.lb == 0; }
  bool is_used(const Place& place) const;
  Place peer_of(const Place& lock) const { return {lock.pool, 1, lock.port}; }
  // Its Listeners: the lock, and its peer where there are two.
  std::vector<Place> slot_of(const Place& lock) const;
  static Standing standing(const std::array<Listener, kPlaces>& listeners, std::size_t lb);
  static bool is_alive(const State& s, std::size_t pod) {
    return s.pods[pod].state == PodState::alive;
  }

  const Size size_;
  const Plant plant_;
  GrantBook grants_;
  ClaimBook claims_;
};

}  // namespace berth::house
