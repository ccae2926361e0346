// PlaceReconciler serves one place, which is a load balancer and a credential: what is known of it,
// which wishes are open, what to call next.
//
// Belongs to the worker that has taken its box; one worker at a time. A step makes at most one list
// and one round of writes, then gives the turn to other load balancers; everything is planned anew
// from what is known then, so that a wish that came meanwhile goes along.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "engine/engine.h"
#include "engine/mailbox.h"
#include "engine/open_wishes.h"
#include "engine/quota.h"
#include "engine/retry.h"
#include "engine/round.h"
#include "engine/shared_state.h"
#include "lb/inventory.h"
#include "lb/plan.h"

namespace berth::engine {

// A wish as the planner sees it.
lb::Desired desired(const Wish& wish);
// What to ask for, so that all is known that a plan for it needs.
lb::Question question_about(const Wish& wish);

class PlaceReconciler {
 public:
  PlaceReconciler(SharedState& shared, lb::Place place);

  Mailboxes::Next step(const Context& context, Messages messages);

 private:
  // place_reconciler.cpp: what happens in a step.
  void accept(Messages messages);
  void accept(const WishKey& key, Wish wish);
  void distrust(const WishKey& key, bool moved);
  void share(Messages& messages);
  bool is_known_with(const OpenWish& older, const Wish& wish) const;
  Instant serve(const Context& context);
  bool may_write();
  Instant next_due();

  // place_reading.cpp: what is known of the load balancer, and how.
  void begin();
  void believe(const Standing& standing);
  Instant list(const Context& context);
  // Nothing: go on. Otherwise when to come again.
  std::optional<Instant> ask(const Context& context);
  bool is_to_be_listed(const std::vector<OpenWish*>& unseen, std::size_t questions) const;
  void answered(std::span<const lb::Question> questions, std::vector<lb::ObservedListener> answers,
                const std::vector<OpenWish*>& unseen);
  std::vector<OpenWish*> unseen();
  void doubt(OpenWish& wish);
  void look_failed(const Error& error);
  void load_balancer_gone(const Error& error);
  bool is_gone() { return gone_since_ && now() >= *gone_since_ + shared_.options.gone_grace; }

  // place_doubts.cpp: what a call may still change that nobody waits for any more.
  void settle_for(Duration span);
  void note_in_doubt(const Standing& standing);
  void note_surprise(const model::ListenerId& id);
  void doubt_until_settled(const Wish& wish);
  void end_doubts();
  bool may_be_undone(const OpenWish& wish) const;

  // place_audit.cpp: comparing with what the caller believes.
  void run_audit();
  // Nothing is there: who leads somewhere is astray at once, who leads nowhere hears of it when it
  // is certain.
  void reopen_all();
  void tell_of_slow_repairs();
  std::optional<Instant> next_slow_repair();

  // place_leftovers.cpp: listeners of ours that nobody wishes any more.
  enum class Find : std::uint8_t { all, known_ones };
  bool may_sweep(const Standing& standing) const;
  void find_leftovers(const Standing& standing, Find which);
  std::vector<model::ListenerId> due_leftovers() const;
  void remove_leftovers(const Context& context);

  // place_planning.cpp: planning.
  void work(const Context& context);
  // The wishes of a plan, by its indexes. Null: settled or put off by now.
  using Window = std::vector<OpenWish*>;
  lb::PlanRules plan_rules() const;
  lb::Plan plan_for(const Window& window);
  void conclude(Window& window, const lb::Plan& plan);
  void judge(OpenWish*& wish, const lb::Finding& finding);
  static std::vector<bool> needed_again(const Window& window, const lb::Plan& plan);
  void contradicted(OpenWish*& wish);
  void leave_out_refused(lb::Plan& plan, const Window& window);
  void put_off_creations(lb::Plan& plan, const Window& window);
  void note_creations(const std::vector<std::vector<Result<model::ListenerId>>>& results);
  Round choose(lb::Plan plan, const Window& window);

  // place_calls.cpp: acting.
  void act(const Context& context, const Round& round, const Window& window);
  void act_on_listeners(const Context& context, const Round& round, const Window& window);
  void act_on_rules(const Context& context, const Round& round, const Window& window);
  std::size_t calls_with_room(lb::Action action, std::size_t most);
  template <class Step, class Call, class Done>
  void run_calls(const Context& context, lb::Action action,
                 const std::vector<std::vector<Step>>& batches, const Window& window, Call call,
                 Done done);
  template <class Step>
  struct CallEnd;
  template <class Step>
  void conclude_call(OpenWish& wish, CallEnd<Step> end);
  template <class Results>
  void note_duration(const std::vector<Results>& calls, Duration took);
  template <class Value>
  void note_whole_call(const std::vector<Result<Value>>& results);

  // place_outcomes.cpp: reporting, and what is done about failures.
  void succeeded(OpenWish& wish, model::ListenerId listener_id);
  void failed(OpenWish& wish, const Error& error);
  void tell(OpenWish& wish, const Error& error, bool foreign = false);
  void tell_nowhere(OpenWish& wish, const Error& error);
  void tell_again(const OpenWish& wish);
  void tell_all(const Error& error);
  void drop(OpenWish& wish);
  void wake_those_that_wait_for_room();
  void made_room();

  bool settling() { return now() < settle_until_; }
  // Since we are in charge.
  bool has_begun() const { return begun_ && !stale_; }
  // Whether what is wished and applied is believed to be there before it was seen.
  bool keeps_listeners() const { return driver_->abilities().keeps_listeners; }
  Instant now() { return tasks_->now(); }
  // Whether it is for us to compare, and not for who has other credentials.
  bool is_mine(const StandingWish& standing) const {
    return standing.wish.credential == place_.credential;
  }

  SharedState& shared_;
  const lb::Place place_;
  const model::LoadBalancerRef& lb_ = place_.lb;
  const std::shared_ptr<Quota> quota_;
  Tasks* tasks_ = nullptr;  // of the step that runs
  lb::Listeners* driver_ = nullptr;

  OpenWishes open_;
  lb::Inventory known_;
  bool attend_ = false;   // begin, whether anything is wished or not
  bool begun_ = false;    // since the start or since we were not in charge
  bool listed_ = false;   // since then
  bool stale_ = false;    // list before the next plan
  bool audit_ = false;    // compare with the catalog after the next list
  bool compare_ = false;  // compare what was asked for
  bool retire_ = false;
  // Of a load balancer that keeps its listeners, since it was begun and until it is listed.
  bool small_ = false;
  bool seen_ = false;                    // the load balancer, with these credentials
  std::optional<Instant> gone_since_{};  // the provider says that it does not exist
  std::size_t first_asked_ = 0;          // wishes
  bool asked_last_ = false;              // the step before this one did nothing else
  Instant listed_at_ = Instant::min();
  std::uint64_t fence_ = 0;
  Instant settle_until_ = Instant::min();
  // Listeners whose targets may still be changed by a call that nobody waits for any more, with
  // what it may set without harm; nothing: not known. While settling, another state of theirs is
  // not called done: whoever hears that a port leads nowhere gives it away.
  std::map<WishKey, std::optional<model::Leads>> in_doubt_;
  // Listeners that such a call may make, and that were not there since. While settling, that they
  // are gone is not called done: whoever hears it lets go of their object, and nobody would remove
  // what lands after that.
  std::set<WishKey> may_appear_;
  // What is asked for again at the end of that time.
  std::vector<lb::Question> doubtful_;
  bool all_doubtful_ = false;
  Instant check_at_ = kNever;
  bool check_ = false;
  // What we have of listeners from their wishes alone. While settling, one that leads elsewhere
  // when it is first seen is in doubt.
  struct Belief {
    WishKey key{};
    model::Leads leads{};
  };
  std::map<model::ListenerId, Belief> believed_;
  Instant next_audit_ = kNever;
  // Since which list nobody was seen to wish them, by id.
  std::map<model::ListenerId, Instant> leftovers_;
  bool sweep_ = false;  // some of them shall go

  // Of the load balancer as a whole.
  int attempts_ = 0;
  Instant not_before_ = Instant::min();
  std::optional<Error> error_{};

  int writes_since_look_ = 0;
  bool room_ = false;  // a listener was removed in this round
  Rounds rounds_;
  std::size_t counted_ = 0;  // open wishes, as last counted
  Mailboxes::Next next_{};   // what the step that runs tells the mailboxes
};

}  // namespace berth::engine
