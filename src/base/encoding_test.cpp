#include "base/encoding.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// RFC 4648, section 10.
constexpr std::pair<std::string_view, std::string_view> kBase64Examples[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"}};

TEST(Base64, MatchesTheStandardsExamples) {
  for (const auto& [plain, encoded] : kBase64Examples) {
    EXPECT_EQ(base64_encode(plain), encoded);
    EXPECT_EQ(base64_decode(encoded).value(), plain);
  }
}

TEST(Base64, KeepsEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(base64_decode(base64_encode(bytes)).value(), bytes);
  EXPECT_EQ(base64_encode("\xfb\xff"), "+/8=");
  EXPECT_EQ(base64url_encode("\xfb\xff"), "-_8");
}

TEST(Base64, AllowsLineBreaks) {
  EXPECT_EQ(base64_decode("Zm9v\r\nYmFy\n").value(), "foobar");
  EXPECT_EQ(base64_decode("Zm8\n=\n").value(), "fo");
}

TEST(Base64, RefusesTheRest) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zm=v", "Zm 9v", "Zm-v", "Zm9vZ==="})
    EXPECT_FALSE(base64_decode(text)) << text;
  EXPECT_EQ(base64_decode("Zm9!").error().message, "not base64: unexpected character at offset 3");
}

TEST(Hex, IsLowerCase) { EXPECT_EQ(hex_encode(std::string_view("\x00\x7f\xff", 3)), "007fff"); }

TEST(Url, EncodesAllButUnreserved) {
  EXPECT_EQ(url_encode("AZaz09-_.~"), "AZaz09-_.~");
  EXPECT_EQ(url_encode("a b/c?d=e&f+g%"), "a%20b%2Fc%3Fd%3De%26f%2Bg%25");
  EXPECT_EQ(url_encode("\u00e9"), "%C3%A9");
}

TEST(Url, DecodesBothCasesAndNothingElse) {
  EXPECT_EQ(url_decode("a%2fb%2Fc").value(), "a/b/c");
  EXPECT_EQ(url_decode("%41").value(), "A");
  EXPECT_EQ(url_decode("a+b").value(), "a+b");  // a plus is a space in forms alone
  for (const char* text : {"%", "%4", "a%", "%zz", "%4g", "%%41"})
    EXPECT_FALSE(url_decode(text)) << text;
  EXPECT_EQ(url_decode("ab%4").error().message, "bad percent-encoding at offset 2");
}

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(Json, EscapesWhatMustBe) {
  EXPECT_EQ(json("plain"), R"("plain")");
  EXPECT_EQ(json("a\"b\\c\nd\re\tf"), R"("a\"b\\c\nd\re\tf")");
  EXPECT_EQ(json(std::string_view("\x00\x1f", 2)), R"("\u0000\u001f")");
  EXPECT_EQ(json("\u00e9\u4e2d\U0001F6A2"), "\"\u00e9\u4e2d\U0001F6A2\"");
}

TEST(Utf8, ReplacesWhatIsNone) {
  const std::string good = "\u00e9\u4e2d\U0001F6A2 \uffff \U0010FFFF";
  EXPECT_EQ(valid_utf8(good), good);
  for (const std::string bad :
       {"\x80", "\xff", "\xc0\xaf", "\xc1\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3", "\xe4\xb8", "\xf0\x9f\x9a"}) {
    std::string expected = "<";
    for (std::size_t i = 0; i < bad.size(); ++i) expected += "\uFFFD";
    EXPECT_EQ(valid_utf8("<" + bad + ">"), expected + ">");
    EXPECT_EQ(json("<" + bad + ">"), "\"" + expected + ">\"");
  }
}

}  // namespace
}  // namespace berth
