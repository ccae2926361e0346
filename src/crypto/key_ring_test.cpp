#include "crypto/key_ring.h"

#include <gtest/gtest.h>

#include <set>

#include "base/encoding.h"
#include "crypto/digest.h"

namespace berth::crypto {
namespace {

using namespace std::chrono_literals;

const WallTime kMade = parse_rfc3339("2026-03-01T00:00:00Z").value();

Key key(std::string id, std::string bytes, WallTime made = kMade) {
  return {.id = std::move(id), .bytes = Secret(std::move(bytes)), .made = made};
}

KeyRing one_key() { return KeyRing({key("a", std::string(32, 'k'))}); }

// RFC 4231, test case 4: its 50 bytes are 0xcd, so the message is given as the raw MAC takes it;
// the seal adds lengths, which are checked against the same HMAC.
TEST(KeyRing, ASealIsHmacSha256OverPartsWithTheirLengths) {
  std::string bytes;
  for (char c = 1; c <= 25; ++c) bytes.push_back(c);
  EXPECT_EQ(hmac_sha256_hex(bytes, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  const KeyRing ring({key("k1", bytes)});
  EXPECT_EQ(ring.seal("claim", {"games", ""}),
            "k1." + base64url_encode(hmac_sha256(bytes, "5:claim5:games0:")));
}

TEST(KeyRing, WhatWasSealedIsGoodAndNothingElse) {
  const KeyRing ring = one_key();
  const std::string seal = ring.seal("claim", {"games", "room-0"});
  EXPECT_EQ(ring.judge("claim", {"games", "room-0"}, seal), SealVerdict::good);
  EXPECT_EQ(ring.judge("claim", {"games", "room-1"}, seal), SealVerdict::forged);
  EXPECT_EQ(ring.judge("claim", {"games", "room-0"}, ""), SealVerdict::absent);
  for (const std::string& text :
       {std::string("nonsense"), std::string("."), std::string("a."), std::string("a"), seal + "=",
        seal + "A", seal.substr(0, seal.size() - 1), "." + seal.substr(2)})
    EXPECT_EQ(ring.judge("claim", {"games", "room-0"}, text), SealVerdict::forged) << text;
}

TEST(KeyRing, FieldsCannotBeShifted) {
  const KeyRing ring = one_key();
  std::set<std::string> seals;
  const std::vector<std::vector<std::string_view>> lists = {
      {},          {""},        {"", ""}, {"ab", "c"},  {"a", "bc"}, {"abc"},
      {"", "abc"}, {"abc", ""}, {"1:a"},  {"a", "1:b"}, {"a1:b"},    {"1:a1:b"}};
  for (const auto& fields : lists) seals.insert(ring.seal("p", fields));
  EXPECT_EQ(seals.size(), lists.size());
  EXPECT_EQ(ring.judge("claim", {"a", "bc"}, ring.seal("claim", {"ab", "c"})), SealVerdict::forged);
}

TEST(KeyRing, PurposesAreNotInterchangeable) {
  const KeyRing ring = one_key();
  EXPECT_EQ(ring.judge("listener", {"x"}, ring.seal("claim", {"x"})), SealVerdict::forged);
  EXPECT_EQ(ring.judge("claim", {"x"}, ring.seal("claimx", {})), SealVerdict::forged);
  EXPECT_NE(ring.words("path"), ring.words("claim"));
}

TEST(KeyRing, TheNewestSealsAndAllVerify) {
  const Key old = key("old", "one", kMade);
  const Key young = key("young", "two", kMade + 24h);
  const KeyRing before({old});
  const KeyRing both({young, old});
  const KeyRing after({young});
  EXPECT_EQ(both.signer(), "young");
  const std::string seal = before.seal("p", {"x"});
  EXPECT_EQ(both.judge("p", {"x"}, seal), SealVerdict::good);
  EXPECT_FALSE(both.is_current(seal));
  EXPECT_TRUE(both.is_current(both.seal("p", {"x"})));
  EXPECT_EQ(after.judge("p", {"x"}, seal), SealVerdict::unknown_key);
  EXPECT_EQ(before.judge("p", {"x"}, both.seal("p", {"x"})), SealVerdict::unknown_key);
}

TEST(KeyRing, AKeyThatIsTooYoungDoesNotSealYet) {
  const std::vector<Key> keys{key("a", "one", kMade), key("b", "two", kMade + 24h)};
  EXPECT_EQ(KeyRing(keys, kMade + 23h).signer(), "a");
  EXPECT_EQ(KeyRing(keys, kMade + 24h).signer(), "b");
  EXPECT_EQ(KeyRing(keys, kMade - 1h).signer(), "a") << "somebody has to";
  const KeyRing early(keys, kMade);
  EXPECT_EQ(early.judge("p", {}, KeyRing(keys).seal("p", {})), SealVerdict::good)
      << "others may seal with it already";
}

TEST(KeyRing, WithoutKeysNothingIsGood) {
  const KeyRing ring;
  EXPECT_EQ(ring.seal("p", {"x"}), "");
  EXPECT_EQ(ring.judge("p", {"x"}, ""), SealVerdict::absent);
  EXPECT_EQ(ring.judge("p", {"x"}, one_key().seal("p", {"x"})), SealVerdict::unknown_key);
  EXPECT_TRUE(ring.words("p").empty());
  EXPECT_FALSE(ring.is_current(""));
}

TEST(KeyRing, WordsComeWithTheSealingKeysFirst) {
  const std::vector<Key> keys{key("a", "one", kMade), key("b", "two", kMade + 1h),
                              key("c", "three", kMade + 2h)};
  const auto all = KeyRing(keys).words("path");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all.front(), KeyRing({keys[2]}).words("path").front());
  EXPECT_EQ(KeyRing(keys, kMade + 1h).words("path").front(),
            KeyRing({keys[1]}).words("path").front());
  for (const std::string& word : all) EXPECT_EQ(word.size(), 32u);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 3u);
}

}  // namespace
}  // namespace berth::crypto
