// Memory of lives: whoever makes a piece, anybody may end it, at any time.
#include "pieces.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace berth::scenario {
namespace {

using Bytes = std::vector<unsigned char>;

TEST(SmallPieces, NoTwoPiecesOverlap) {
  const SmallPieces pieces;
  std::vector<Bytes> all;
  for (std::size_t size = 1; size < 5000; size += 7) {
    all.emplace_back(size, static_cast<unsigned char>(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back().data()) % alignof(std::max_align_t), 0u);
  }
  for (const Bytes& bytes : all)
    EXPECT_EQ(bytes, Bytes(bytes.size(), static_cast<unsigned char>(bytes.size())));
}

TEST(SmallPieces, MayEndAfterTheHouseAndElsewhere) {
  std::vector<std::unique_ptr<std::string>> before;
  for (int i = 0; i < 100; ++i) before.push_back(std::make_unique<std::string>(100, 'a'));
  std::vector<std::unique_ptr<std::string>> inside;
  {
    const SmallPieces pieces;
    before.clear();
    for (int i = 0; i < 100; ++i) inside.push_back(std::make_unique<std::string>(100, 'b'));
  }
  std::thread([&] { inside.resize(50); }).join();
  for (const auto& text : inside) EXPECT_EQ(*text, std::string(100, 'b'));
  inside.clear();
}

}  // namespace
}  // namespace berth::scenario
