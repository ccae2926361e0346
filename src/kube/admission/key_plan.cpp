#include "kube/admission/key_plan.h"

#include <algorithm>

namespace berth::kube {
namespace {

using crypto::Key;

bool has(std::span<const Key> keys, const std::string& id) {
  return std::ranges::find(keys, id, &Key::id) != keys.end();
}

}  // namespace

RingPlan plan_rotation(std::span<const Key> keys, const RingRules& rules, WallTime now,
                       bool demanded) {
  RingPlan plan;
  // A key from the near future was made just now by a clock that is ahead of ours: one of our own
  // beside it would be the older of the two, and seal at once. A key from far away was made by a
  // clock that was wrong: it counts when its time comes.
  const Key* newest = nullptr;
  for (const Key& key : keys) {
    if (key.made <= now + kKeyAnnouncement && (!newest || key.made > newest->made)) newest = &key;
  }
  const Duration age = newest ? now - newest->made : Duration::max();
  const bool due = age >= rules.rotation || (demanded && age >= kKeyAnnouncement);
  plan.make = due && keys.size() < kMaxKeysInRing;
  for (const Key& key : keys) {
    const bool succeeded = std::ranges::any_of(keys, [&](const Key& other) {
      return other.made > key.made && other.made + kKeyAnnouncement + rules.overlap <= now;
    });
    if (succeeded) plan.retire.push_back(key.id);
  }
  return plan;
}

crypto::KeyRing ring_at(std::vector<Key> keys, WallTime now) {
  return crypto::KeyRing(std::move(keys), now - kKeyAnnouncement);
}

std::vector<Key> completed(std::vector<Key> found, std::span<const Key> known) {
  if (found.empty()) return {known.begin(), known.end()};
  const WallTime oldest = std::ranges::min_element(found, {}, &Key::made)->made;
  const bool related =
      std::ranges::any_of(known, [&](const Key& key) { return has(found, key.id); });
  std::vector<Key> lost;
  for (const Key& key : known) {
    if (!has(found, key.id) && (!related || key.made > oldest)) lost.push_back(key);
  }
  for (Key& key : lost) found.push_back(std::move(key));
  return found;
}

}  // namespace berth::kube
