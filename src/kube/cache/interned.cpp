#include "kube/cache/interned.h"

#include <array>
#include <functional>
#include <unordered_set>

#include "base/mutex.h"

namespace berth::kube {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

// Nodes of a std::unordered_set stay where they are, so the pointers handed out stay good.
struct Shard {
  Mutex mu;
  std::unordered_set<std::string, TextHash, std::equal_to<>> texts GUARDED_BY(mu);
};

// Informers start together and intern the same few words: shards keep them out of each other's way.
constexpr std::size_t kShards = 16;

std::array<Shard, kShards>& shards() {
  static auto* const all = new std::array<Shard, kShards>;  // outlives every static that uses it
  return *all;
}

const std::string* intern(std::string_view text) {
  if (text.empty()) return nullptr;
  // The high bits choose the shard: the set's buckets use the low ones.
  Shard& shard = shards()[(TextHash{}(text) >> 48) % kShards];
  const MutexLock lock(shard.mu);
  const auto found = shard.texts.find(text);
  return found != shard.texts.end() ? &*found : &*shard.texts.emplace(text).first;
}

}  // namespace

Interned::Interned(std::string_view text) : text_(intern(text)) {}

}  // namespace berth::kube
