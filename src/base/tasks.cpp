#include "base/tasks.h"

namespace berth {

bool sleep_for(Tasks& tasks, Duration span, std::stop_token stop) {
  const auto nobody_notifies = tasks.signal();
  (void)tasks.wait(*nobody_notifies, saturating_add(tasks.now(), span), stop);
  return !stop.stop_requested();
}

}  // namespace berth
