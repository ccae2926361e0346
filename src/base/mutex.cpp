#include "base/mutex.h"

namespace berth {

int& locks_held() {
  static thread_local int held = 0;
  return held;
}

}  // namespace berth
