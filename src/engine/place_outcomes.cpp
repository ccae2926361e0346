// What becomes of wishes: reporting, and what is done about failures.
#include "engine/place_reconciler.h"

namespace berth::engine {

void PlaceReconciler::drop(OpenWish& wish) {
  WishKey key = wish.key;
  open_.erase(key);
  next_.settled.push_back(std::move(key));
}

void PlaceReconciler::succeeded(OpenWish& wish, model::ListenerId listener_id) {
  // Of a silent repair the caller believes that it is done, and so it is.
  const bool news = !wish.repair || wish.told || listener_id != wish.wish.known_id;
  const Outcome outcome{
      .key = wish.key, .version = wish.wish.version, .listener_id = std::move(listener_id)};
  drop(wish);
  if (news) shared_.sink.report(outcome);
}

void PlaceReconciler::tell(OpenWish& wish, const Error& error, bool foreign) {
  if (wish.was_told(error.code) && wish.told_foreign == foreign) return;
  wish.told = error;
  wish.told_foreign = foreign;
  log_info("a listener is not as wished",
           {{"lb", to_string(lb_)}, {"object", wish.key.value}, {"error", error.to_string()}});
  tell_again(wish);
}

void PlaceReconciler::tell_again(const OpenWish& wish) {
  if (!wish.told) return;
  const lb::KnownListener* known = known_.by_id(wish.wish.known_id);
  shared_.sink.report({.key = wish.key,
                       .version = wish.wish.version,
                       .result = fail(*wish.told),
                       .listener_id = known ? known->id : model::ListenerId{},
                       .foreign = wish.told_foreign,
                       .astray = wish.astray_since.has_value(),
                       .nowhere = wish.told_nowhere && is_gone()});
}

// The failure is told first: who waits for traffic and who waits for its end hear of it.
void PlaceReconciler::tell_nowhere(OpenWish& wish, const Error& error) {
  if (wish.told_nowhere && wish.was_told(error.code)) return;
  wish.told_nowhere = true;
  wish.told.reset();
  tell(wish, error);
}

void PlaceReconciler::tell_all(const Error& error) {
  if (open_.empty()) return;
  for (OpenWish* wish : open_.all()) tell(*wish, error);
}

void PlaceReconciler::failed(OpenWish& wish, const Error& error) {
  const Treatment treatment = treatment_of(error.code);
  ++wish.attempts;
  wish.not_before = now() + shared_.delay(treatment, wish.attempts, error);
  // Who believes that traffic arrives must not go on believing it.
  if (wish.astray_since && treatment != Treatment::stop) tell(wish, error);
  switch (treatment) {
    case Treatment::stop: return;
    case Treatment::give_up:
      // Kept, so that the same wish, said again, does not lead to the same call again.
      wish.not_before = kNever;
      tell(wish, error);
      return;
    case Treatment::slowly: tell(wish, error); return;
    case Treatment::look:
      doubt(wish);
      // It may still take effect.
      if (error.code == Code::timeout) {
        settle_for(shared_.options.settle);
        doubt_until_settled(wish.wish);
        if (wish.wish.spec) in_doubt_[wish.key] = model::leads_of(*wish.wish.spec);
        if (wish.wish.spec && !known_.by_id(wish.wish.known_id)) may_appear_.insert(wish.key);
      }
      break;
    case Treatment::again: break;
  }
  if (wish.attempts >= kReportAfter) tell(wish, error);
}

// Here, and at other places of the same quota.
void PlaceReconciler::made_room() {
  quota_->make_room();
  next_.room = true;
  wake_those_that_wait_for_room();
}

void PlaceReconciler::wake_those_that_wait_for_room() {
  for (OpenWish* wish : open_.all()) {
    const bool waits = wish->was_told(Code::exhausted) || wish->was_told(Code::already_exists);
    if (waits && !wish->told_foreign) {
      wish->not_before = Instant::min();
    }
  }
}

}  // namespace berth::engine
