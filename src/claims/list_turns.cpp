#include "claims/list_turns.h"

namespace berth::claims {

ListTurns::Turn ListTurns::ask(const kube::ObjectKey& pool, Instant asked) {
  const MutexLock lock(mu_);
  if (lists_.size() >= kMaxRememberedLists && !lists_.contains(pool))
    std::erase_if(lists_, [](const auto& one) { return !one.second.running; });
  List& list = lists_[pool];
  if (list.began > asked) return Turn::fresh;
  if (list.running) return Turn::wait;
  list.running = true;
  return Turn::mine;
}

void ListTurns::done(const kube::ObjectKey& pool, Instant began, bool succeeded) {
  const MutexLock lock(mu_);
  List& list = lists_[pool];
  list.running = false;
  if (succeeded) list.began = began;
}

std::size_t ListTurns::size() const {
  const MutexLock lock(mu_);
  return lists_.size();
}

}  // namespace berth::claims
