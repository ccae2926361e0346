#include "cloud/tencent/awaited.h"

#include <algorithm>
#include <iterator>

namespace berth::cloud::tencent {
namespace {

// Questions that one who asks early may need beyond the one that each task costs.
constexpr std::size_t kQuestionsInVain = 4;

}  // namespace

Awaited::Task::Task(Awaited& all, lb::Budget& questions, Instant start)
    : all_(all), questions_(questions), place_(start, [&] {
        const MutexLock lock(all.mu_);
        return all.next_++;
      }()) {
  const MutexLock lock(all_.mu_);
  all_.queues_[&questions_].insert(place_);
}

Awaited::Task::~Task() {
  const MutexLock lock(all_.mu_);
  const auto it = all_.queues_.find(&questions_);
  it->second.erase(place_);
  if (it->second.empty()) all_.queues_.erase(it);
}

Instant Awaited::Task::first_question(const Pace& pace, Instant now) const {
  const Instant start = place_.first;
  const Instant early = start + pace.first();
  if (now < early) return early;
  std::size_t all = 0;
  std::size_t older = 0;
  {
    const MutexLock lock(all_.mu_);
    const Queue& queue = all_.queues_.at(&questions_);
    all = queue.size();
    older = static_cast<std::size_t>(std::distance(queue.begin(), queue.find(place_)));
  }
  const bool has_room = questions_.free_at(now, all + kQuestionsInVain * (older + 1)) <= now;
  if (has_room) return early;
  const Instant surely = start + pace.surely();
  if (pace.is_known()) return surely;
  return older == 0 ? early : std::min(surely, now + pace.gap(1));
}

}  // namespace berth::cloud::tencent
