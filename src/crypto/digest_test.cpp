#include "crypto/digest.h"

#include <gtest/gtest.h>

#include <set>

namespace berth::crypto {
namespace {

TEST(Digest, Sha256OfTheStandardsExamples) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abc").size(), 32u);
}

TEST(Digest, Md5OfTheStandardsExamples) {
  EXPECT_EQ(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
}

// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
TEST(Digest, HmacOfTheStandardsExamples) {
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256_hex(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Digest, HmacTakesAnEmptyKey) {
  EXPECT_EQ(hmac_sha256_hex("", ""),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  EXPECT_NE(hmac_sha256_hex("another", ""), hmac_sha256_hex("", ""));
  EXPECT_EQ(hmac_sha256_hex(std::string_view(), std::string_view()), hmac_sha256_hex("", ""));
}

TEST(Digest, ConstantTimeEqualIsEquality) {
  EXPECT_TRUE(constant_time_equal("", ""));
  EXPECT_TRUE(constant_time_equal("secret", "secret"));
  EXPECT_FALSE(constant_time_equal("secret", "secreT"));
  EXPECT_FALSE(constant_time_equal("secret", "secret-and-more"));
}

TEST(Digest, RandomBytesAreNeverTheSameTwice) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(random_bytes(16));
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(random_bytes(5).size(), 5u);
  EXPECT_EQ(random_bytes(0), "");
}

}  // namespace
}  // namespace berth::crypto
