#include "pieces.h"

#if defined(BERTH_ASAN) || defined(BERTH_TSAN)

namespace berth::scenario {

SmallPieces::SmallPieces() = default;
SmallPieces::~SmallPieces() = default;

}  // namespace berth::scenario

#else

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace berth::scenario {
namespace {

// Sizes are rounded up to this, which is also how pieces are aligned.
constexpr std::size_t kStep = 16;
constexpr std::size_t kLargest = 2048;
constexpr std::size_t kSizes = kLargest / kStep;
// All pieces of a slab have one size, so that a pointer alone says where it belongs.
constexpr std::size_t kSlab = 64u << 10;
// Address space, not memory: pages that nobody touches cost nothing. When it is used up, the heap
// serves.
constexpr std::size_t kRoom = std::size_t{16} << 30;

struct Piece {
  Piece* next;
};

// One for the process, and never given back: pieces of static objects outlive everything here.
struct Room {
  std::atomic<char*> begin = nullptr;
  std::atomic<std::size_t> used = 0;
  std::array<std::uint8_t, kRoom / kSlab> size_of_slab{};

  bool has(const void* piece) const {
    // Without a beginning nothing was ever handed out.
    const char* const first = begin.load(std::memory_order_relaxed);
    return first != nullptr &&
           reinterpret_cast<std::uintptr_t>(piece) - reinterpret_cast<std::uintptr_t>(first) <
               kRoom;
  }
  std::size_t slab_of(const void* piece) const {
    return static_cast<std::size_t>(static_cast<const char*>(piece) -
                                    begin.load(std::memory_order_relaxed)) /
           kSlab;
  }
};
constinit Room room;

constinit thread_local int users = 0;
constinit thread_local std::array<Piece*, kSizes> free_pieces{};

bool open_room() {
  static const bool opened = [] {
    void* const mapped = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped != MAP_FAILED) room.begin = static_cast<char*>(mapped);
    return mapped != MAP_FAILED;
  }();
  return opened;
}

// Cuts a new slab. Null: there is no room.
Piece* cut(std::size_t index) {
  const std::size_t at = room.used.fetch_add(kSlab);
  if (at + kSlab > kRoom) return nullptr;
  room.size_of_slab[at / kSlab] = static_cast<std::uint8_t>(index);
  const std::size_t size = (index + 1) * kStep;
  Piece* first = nullptr;
  for (std::size_t i = kSlab / size; i > 0; --i) {
    first = new (room.begin + at + (i - 1) * size) Piece{first};
  }
  return first;
}

void* take_from_heap(std::size_t size) {
  void* const taken = std::malloc(size == 0 ? 1 : size);
  if (taken == nullptr) std::abort();  // no exception of ours would help anybody
  return taken;
}

void* take(std::size_t size) {
  if (users == 0 || size - 1 >= kLargest) return take_from_heap(size);
  const std::size_t index = (size - 1) / kStep;
  Piece* piece = free_pieces[index];
  if (piece == nullptr) {
    piece = cut(index);
    if (piece == nullptr) return take_from_heap(size);
  }
  free_pieces[index] = piece->next;
  return piece;
}

void give_back(void* taken) {
  if (!room.has(taken)) return std::free(taken);
  Piece*& first = free_pieces[room.size_of_slab[room.slab_of(taken)]];
  first = new (taken) Piece{first};
}

}  // namespace

SmallPieces::SmallPieces() { users += open_room() ? 1 : 0; }
SmallPieces::~SmallPieces() { users -= open_room() ? 1 : 0; }

}  // namespace berth::scenario

// The forms for arrays, for sizes and without exceptions come to these two.
void* operator new(std::size_t size) { return berth::scenario::take(size); }
void operator delete(void* taken) noexcept { berth::scenario::give_back(taken); }
void operator delete(void* taken, std::size_t) noexcept { berth::scenario::give_back(taken); }

#endif
