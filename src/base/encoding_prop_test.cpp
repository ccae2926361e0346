#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/encoding.h"
#include "base/time.h"

namespace berth {
namespace {

RC_GTEST_PROP(Base64, DecodesWhatItEncoded, (const std::string& bytes)) {
  RC_ASSERT(base64_decode(base64_encode(bytes)).value() == bytes);
}

RC_GTEST_PROP(Base64, AnyTextIsDecodedOrRefused, (const std::string& text)) {
  const auto decoded = base64_decode(text);
  if (decoded) RC_ASSERT(decoded->size() <= text.size());
}

RC_GTEST_PROP(Url, DecodesWhatItEncoded, (const std::string& bytes)) {
  RC_ASSERT(url_decode(url_encode(bytes)).value() == bytes);
}

RC_GTEST_PROP(Utf8, OnceValidStaysAsItIs, (const std::vector<unsigned char>& bytes)) {
  const std::string once = valid_utf8(std::string(bytes.begin(), bytes.end()));
  RC_ASSERT(valid_utf8(once) == once);
}

RC_GTEST_PROP(Time, ParsesWhatItFormatted, ()) {
  // Microseconds from 1678 to 2261.
  const auto micros =
      *rc::gen::inRange<std::int64_t>(-9'214'560'000'000'000, 9'214'646'400'000'000);
  const WallTime at{std::chrono::microseconds{micros}};
  RC_ASSERT(parse_rfc3339(format_rfc3339_micro(at)).value() == at);
  RC_ASSERT(parse_rfc3339(format_rfc3339(at)).value() ==
            std::chrono::floor<std::chrono::seconds>(at));
}

}  // namespace
}  // namespace berth
