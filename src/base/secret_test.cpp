#include "base/secret.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <ostream>
#include <string_view>

namespace berth {
namespace {

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };
template <class T>
concept Comparable = requires(const T& a, const T& b) { a == b; };

static_assert(!fmt::is_formattable<Secret>::value);
static_assert(!Printable<Secret>);
static_assert(!Comparable<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_convertible_v<std::string, Secret>);

TEST(Secret, RevealsItsBytesOnRequest) {
  const Secret secret(std::string("hunter2"));
  EXPECT_EQ(secret.reveal(), "hunter2");
  EXPECT_FALSE(secret.empty());
  EXPECT_TRUE(Secret().empty());
}

TEST(Secret, CopiesAndMovesLikeAValue) {
  Secret one(std::string("first"));
  Secret copy = one;
  EXPECT_EQ(copy.reveal(), "first");
  Secret moved = std::move(one);
  EXPECT_EQ(moved.reveal(), "first");
  moved = Secret(std::string(100, 'x'));
  EXPECT_EQ(moved.reveal(), std::string(100, 'x'));
  moved = copy;
  EXPECT_EQ(moved.reveal(), "first");
  EXPECT_EQ(copy.reveal(), "first");
  Secret& same = moved;
  moved = same;
  EXPECT_EQ(moved.reveal(), "first");
}

// A Secret whose own bytes can be looked at: a short text is stored inside the object.
class Exposed {
 public:
  Exposed() : secret_(new(storage_.data()) Secret(std::string("hunter2"))) {}
  Secret& secret() { return *secret_; }
  bool shows(std::string_view text) const {
    const std::string_view bytes(reinterpret_cast<const char*>(storage_.data()), storage_.size());
    return bytes.find(text) != std::string_view::npos;
  }

 private:
  alignas(Secret) std::array<std::byte, sizeof(Secret)> storage_{};
  Secret* secret_;
};

TEST(Secret, LeavesNothingBehind) {
  Exposed destroyed;
  ASSERT_TRUE(destroyed.shows("hunter2"));
  std::destroy_at(&destroyed.secret());
  EXPECT_FALSE(destroyed.shows("unter"));

  Exposed moved;
  const Secret target = std::move(moved.secret());
  EXPECT_EQ(target.reveal(), "hunter2");
  EXPECT_FALSE(moved.shows("unter"));

  Exposed assigned;
  assigned.secret() = Secret(std::string("x"));
  EXPECT_FALSE(assigned.shows("unter"));
}

}  // namespace
}  // namespace berth
