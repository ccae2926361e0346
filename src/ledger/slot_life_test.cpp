// Every life that one slot can have with a few Pods, explored to the end: what its owners do, what
// the load balancer does, and what the moves of the table make of it, in every order.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>

#include "ledger/claim.h"

namespace berth::ledger {
namespace {

constexpr std::size_t kMaxPods = 3;  // creations in one life
constexpr Duration kQuarantine = std::chrono::seconds{30};
constexpr Duration kKeep = std::chrono::minutes{5};

// Pods are numbers from 1 on; 0 is nobody.
struct Life {
  std::optional<Claim> claim{};
  int spec = 0;         // whom the Listener names
  int lb = 0;           // whom the load balancer leads to
  bool applied = true;  // the load balancer was seen to be as the Listener says
  bool late = false;    // a write that was given up took effect all the same: once in a life
  std::set<int> alive{};
  std::vector<std::string> names{};  // of the Pods that were created

  std::string key() const {
    std::string text = claim ? encode(*claim) : "free";
    text += fmt::format(" spec {} lb {} applied {} late {} names", spec, lb, applied, late);
    for (const std::string& name : names) text += " " + name;
    text += " alive";
    for (const int pod : alive) text += fmt::format(" {}", pod);
    return text;
  }
};

class Explorer {
 public:
  explicit Explorer(Duration keep) : keep_(keep) {}

  void explore() {
    visit(Life{}, "", nullptr);
    while (!todo_.empty()) {
      const Life life = todo_.front();
      todo_.pop_front();
      step(life);
    }
  }
  std::size_t lives() const { return seen_.size(); }
  const std::vector<std::string>& faults() const { return faults_; }

  // From each of them the slot becomes free again when its Pods end.
  std::size_t dead_ends() const {
    std::set<std::string> good;
    std::deque<std::string> todo;
    for (const std::string& life : free_) todo.push_back(life);
    while (!todo.empty()) {
      const std::string life = todo.front();
      todo.pop_front();
      if (!good.insert(life).second) continue;
      if (const auto it = reached_from_.find(life); it != reached_from_.end())
        for (const std::string& before : it->second) todo.push_back(before);
    }
    return seen_.size() - good.size();
  }

 private:
  static constexpr WallTime kNow{};

  void visit(const Life& next, std::string_view how, const Life* before) {
    if (before) reached_from_[next.key()].insert(before->key());
    if (!next.claim) free_.insert(next.key());
    if (!seen_.insert(next.key()).second) return;
    check(next, how, before);
    todo_.push_back(next);
  }
  void check(const Life& life, std::string_view how, const Life* before) {
    const auto fault = [&](std::string_view what) {
      faults_.push_back(fmt::format("{} after {} from {}", what, how, before ? before->key() : ""));
    };
    if (!life.claim && (life.spec != 0 || life.lb != 0)) fault("a free slot leads somewhere");
    const bool stray = life.lb != 0 && life.claim &&
                       life.names[static_cast<std::size_t>(life.lb) - 1] != life.claim->pod_name;
    if (stray) fault("the slot leads to a Pod of another owner");
    const bool ready = life.claim && life.claim->state == SlotState::bound && life.applied;
    if (ready && life.claim->pod_uid != std::to_string(life.lb))
      fault("a Pod is called ready that is not reached");
  }

  Claim admission(const std::string& name) const {
    return {.token = "t", .ns = "games", .pod_name = name, .request = "r", .keep = keep_};
  }
  void move(const Life& before, Event event, Life after) {
    const SlotState from = before.claim ? before.claim->state : SlotState::free;
    const SlotState to = after.claim ? after.claim->state : SlotState::free;
    if (!may_move(from, event, to))
      faults_.push_back(
          fmt::format("{} -{}-> {}", to_string(from), to_string(event), to_string(to)));
    visit(after, to_string(event), &before);
  }

  void step(const Life& life) {
    sync(life);
    pods_end(life);
    admissions(life);
    late_write(life);
    if (life.claim) leader(life);
  }
  // Of a Listener that has no claim of its own: the one of a peer, on another load balancer.
  void late_write(const Life& life) {
    const bool waits = life.claim && (life.claim->state == SlotState::kept ||
                                      life.claim->state == SlotState::quarantined);
    if (life.late || !waits) return;
    Life next = life;
    next.late = true;
    next.spec = bound_pod(life);
    next.applied = false;
    visit(next, "a late write", &life);
  }
  void sync(const Life& life) {
    Life next = life;
    next.lb = life.spec;
    next.applied = true;
    visit(next, "sync", &life);
  }
  void pods_end(const Life& life) {
    for (const int pod : life.alive) {
      Life next = life;
      next.alive.erase(pod);
      visit(next, "end of a Pod", &life);
    }
  }
  bool at_rest(const Life& life) const { return life.spec == 0 && life.lb == 0 && life.applied; }

  void admissions(const Life& life) {
    if (life.names.size() == kMaxPods) return;
    for (const std::string name : {"a", "b"}) {
      Life next = life;
      if (!life.claim && at_rest(life)) {
        next.claim = admission(name);
        move(life, Event::admit, next);
      } else if (may_return(life, name)) {
        next.claim = taken_back(*life.claim, admission(name), kNow);
        move(life, Event::pod_returns, next);
      }
    }
  }
  bool may_return(const Life& life, const std::string& name) const {
    if (!life.claim || life.claim->pod_name != name || keep_ == Duration::zero()) return false;
    if (life.claim->state == SlotState::bound) return !life.alive.contains(bound_pod(life));
    return life.claim->state == SlotState::draining || life.claim->state == SlotState::kept;
  }
  static int bound_pod(const Life& life) { return std::stoi("0" + life.claim->pod_uid); }

  void leader(const Life& life) {
    const Claim& claim = *life.claim;
    Life next = life;
    switch (claim.state) {
      case SlotState::claimed: {
        next.claim = abandoned(claim, at_rest(life), kQuarantine, kNow);
        next.spec = 0;
        next.applied = life.applied && life.spec == 0;
        move(life, Event::abandoned, next);
        if (life.names.size() == kMaxPods) return;
        next = life;
        next.names.push_back(claim.pod_name);
        next.spec = static_cast<int>(next.names.size());
        next.alive.insert(next.spec);
        next.claim = bound_to(claim, claim.pod_name, std::to_string(next.spec), kNow);
        next.applied = false;
        return move(life, Event::pod_seen, next);
      }
      case SlotState::bound:
        if (life.alive.contains(bound_pod(life))) return;
        next.claim = abandoned(claim, false, kQuarantine, kNow);
        next.spec = 0;
        next.applied = false;
        return move(life, Event::abandoned, next);
      case SlotState::draining:
        if (!at_rest(life)) return;
        next.claim = drained(claim, kQuarantine, kNow);
        return move(life, Event::confirmed, next);
      case SlotState::kept:
      case SlotState::quarantined:
        if (!at_rest(life)) {
          next.claim = gone_astray(claim, kNow);
          next.spec = 0;
          next.applied = false;
          return move(life, Event::astray, next);
        }
        next.claim = window_over(claim, kQuarantine, claim.until - claim.since, claim.until);
        return move(life, Event::window_over, next);
      case SlotState::free: return;
    }
  }

  const Duration keep_;
  std::deque<Life> todo_;
  std::set<std::string> seen_;
  std::set<std::string> free_;
  std::map<std::string, std::set<std::string>> reached_from_;
  std::vector<std::string> faults_;
};

TEST(SlotLife, NoOrderOfEventsLeadsPlayersToAnotherOwnersPod) {
  for (const Duration keep : {Duration::zero(), kKeep}) {
    Explorer explorer(keep);
    explorer.explore();
    for (const std::string& fault : explorer.faults()) ADD_FAILURE() << fault;
    EXPECT_EQ(explorer.dead_ends(), 0u);
    EXPECT_GT(explorer.lives(), 30u);
    RecordProperty(keep == Duration::zero() ? "lives" : "lives_with_keeping",
                   static_cast<int>(explorer.lives()));
  }
}

}  // namespace
}  // namespace berth::ledger
