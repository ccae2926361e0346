#include "ledger/grant_layout.h"

#include <gtest/gtest.h>

namespace berth::ledger {
namespace {

using model::Transport;

constexpr Layout kSmall{.long_list = 2, .block_ports = 4};

Grant grant(std::string owner, model::Port first, model::Port last,
            Transport transport = Transport::tcp) {
  return {.transport = transport,
          .ports = {first, last},
          .owner = {"Stage", "games", owner, "uid-" + owner},
          .item = "one"};
}
Grant block(model::Port first, model::Port last) {
  return {.ports = {first, last}, .owner = {.kind = "PortBlock", .name = "b", .uid = "uid-b"}};
}

TEST(GrantLayout, BlocksAreAlignedAndHaveNoPortZero) {
  const auto around = [](model::Port first, model::Port last) {
    const auto found = block_around({Transport::udp, {first, last}}, kSmall);
    return found ? found->ports : model::PortRange{};
  };
  EXPECT_EQ(around(100, 100), (model::PortRange{100, 103}));
  EXPECT_EQ(around(101, 103), (model::PortRange{100, 103}));
  EXPECT_EQ(around(103, 104), model::PortRange{}) << "two blocks";
  EXPECT_EQ(around(1, 1), (model::PortRange{1, 3}));
  EXPECT_EQ(around(65535, 65535), (model::PortRange{65532, 65535}));
}

TEST(GrantLayout, AShortListHasAllOfThem) {
  EXPECT_EQ(site_of({}, grant("a", 100, 100), kSmall).where, Where::list);
  const std::vector<Grant> one{grant("a", 100, 100)};
  EXPECT_EQ(site_of(one, grant("b", 101, 101), kSmall).where, Where::list);
}

TEST(GrantLayout, OfALongListABlockIsHandedOnUnlessSomethingCutsIt) {
  std::vector<Grant> list{grant("a", 100, 100), grant("b", 200, 200)};
  const Site site = site_of(list, grant("c", 101, 101), kSmall);
  ASSERT_EQ(site.where, Where::new_block);
  EXPECT_EQ(site.handed_on.ports, (model::PortRange{100, 103}));
  EXPECT_EQ(site_of(list, grant("c", 101, 110), kSmall).where, Where::list) << "it is too long";
  list.push_back(grant("wide", 103, 110));
  EXPECT_EQ(site_of(list, grant("c", 101, 101), kSmall).where, Where::list);
  list.back().transport = Transport::udp;
  EXPECT_EQ(site_of(list, grant("c", 101, 101), kSmall).where, Where::new_block);
}

// Scattered owners stay in the list until it is long; those beside each other leave it earlier.
TEST(GrantLayout, ACrowdedBlockIsHandedOnBeforeTheListIsLong) {
  constexpr Layout kLayout{
      .long_list = 100, .noticeable_list = 4, .crowded_block = 2, .block_ports = 4};
  std::vector<Grant> list{grant("a", 100, 100), grant("b", 101, 101), grant("c", 200, 200)};
  EXPECT_EQ(site_of(list, grant("d", 102, 102), kLayout).where, Where::list) << "it is short";
  list.push_back(grant("d", 300, 300));
  const Site site = site_of(list, grant("e", 102, 102), kLayout);
  ASSERT_EQ(site.where, Where::new_block);
  EXPECT_EQ(site.handed_on.ports, (model::PortRange{100, 103}));
  EXPECT_EQ(site_of(list, grant("e", 201, 201), kLayout).where, Where::list) << "one is no crowd";
  EXPECT_EQ(site_of(list, grant("e", 102, 102, Transport::udp), kLayout).where, Where::list);
  list.push_back(grant("wide", 103, 110));
  EXPECT_EQ(site_of(list, grant("e", 102, 102), kLayout).where, Where::list) << "it is cut";
}

// As earlier versions left it: whoever has something there is not moved for it.
TEST(GrantLayout, AListThatIsLongAlreadyIsTakenAsItIs) {
  std::vector<Grant> list;
  for (int i = 0; i < 512; ++i)
    list.push_back(grant(fmt::format("{}", i), static_cast<model::Port>(1000 + 3 * i),
                         static_cast<model::Port>(1001 + 3 * i)));
  const Site elsewhere = site_of(list, grant("new", 40000, 40000), {});
  ASSERT_EQ(elsewhere.where, Where::new_block);
  const LaidOut next = handed_on(list, std::vector{elsewhere.handed_on});
  EXPECT_EQ(next.list, list) << "what lies elsewhere stays";
}

TEST(GrantLayout, BlocksDoNotMakeAListLong) {
  const std::vector<Grant> list{grant("a", 100, 100), block(200, 203), block(300, 303)};
  EXPECT_EQ(site_of(list, grant("c", 400, 400), kSmall).where, Where::list);
}

TEST(GrantLayout, WhatLiesInABlockIsWrittenThere) {
  const std::vector<Grant> list{block(100, 103), block(104, 107)};
  const Site inside = site_of(list, grant("a", 105, 106), kSmall);
  ASSERT_EQ(inside.where, Where::block);
  EXPECT_EQ(inside.blocks.front().ports, (model::PortRange{104, 107}));
  EXPECT_EQ(site_of(list, grant("a", 105, 105, Transport::udp), kSmall).where, Where::list);
  const Site across = site_of(list, grant("a", 103, 110), kSmall);
  EXPECT_EQ(across.where, Where::cut);
  EXPECT_EQ(across.blocks.size(), 2u);
}

// The blocks of a version that has another size.
TEST(GrantLayout, BlocksOfAnotherSizeAreRespected) {
  const std::vector<Grant> list{grant("a", 1, 1), grant("b", 2, 2), block(100, 101)};
  EXPECT_EQ(site_of(list, grant("c", 103, 103), kSmall).where, Where::list)
      << "a block around it would have the other one in it";
}

TEST(GrantLayout, WhatIsHandedOnLeavesTheList) {
  const LaidOut next = handed_on({grant("a", 100, 100), grant("b", 103, 103), grant("c", 104, 104),
                                  grant("d", 100, 100, Transport::udp)},
                                 std::vector<BlockPorts>{{Transport::tcp, {100, 103}}});
  ASSERT_EQ(next.blocks.size(), 1u);
  EXPECT_EQ(next.blocks.front().grants, (std::vector{grant("a", 100, 100), grant("b", 103, 103)}));
  EXPECT_EQ(next.list, (std::vector{grant("c", 104, 104), grant("d", 100, 100, Transport::udp)}));
}

TEST(GrantLayout, ManyAreLaidOutInBlocksAndNoneIsForgotten) {
  std::vector<Grant> all;
  for (model::Port port = 1; port <= 10'000; ++port)
    all.push_back(grant(std::to_string(port), port, port));
  const LaidOut laid = laid_out(all, {});
  EXPECT_LT(laid.list.size() + laid.blocks.size(), 100u);
  std::size_t count = laid.list.size();
  for (const NewBlock& one : laid.blocks) {
    count += one.grants.size();
    for (const Grant& own : one.grants) EXPECT_TRUE(lies_in(own, one.block));
  }
  EXPECT_EQ(count, all.size());
}

TEST(GrantLayout, WhatACutBlockWouldHaveStaysInTheList) {
  const LaidOut laid =
      laid_out({grant("a", 100, 100), grant("b", 101, 101), grant("wide", 103, 108),
                grant("c", 200, 200), grant("d", 201, 201)},
               kSmall);
  ASSERT_EQ(laid.blocks.size(), 1u);
  EXPECT_EQ(laid.blocks.front().block.ports, (model::PortRange{200, 203}));
  EXPECT_EQ(laid.list.size(), 3u);
}

}  // namespace
}  // namespace berth::ledger
