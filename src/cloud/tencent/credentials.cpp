#include "cloud/tencent/credentials.h"

#include <algorithm>

namespace berth::cloud::tencent {
namespace {

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

Result<crypto::CloudCredentials> GivenCredentials::credentials(const Context& context,
                                                               const model::CredentialId& id) {
  if (id.empty()) return own_;
  if (others_) return others_(context, id);
  return fail(Code::forbidden, "there are no Tencent credentials of namespace '{}'", id.value);
}

Result<> check_credentials(const crypto::CloudCredentials& credentials) {
  if (credentials.id.empty() || credentials.key.empty()) {
    return fail(error_of(Code::forbidden, "there is no SecretId or no SecretKey")
                    .with_hint("set TENCENTCLOUD_ACCESS_KEY_ID and TENCENTCLOUD_ACESS_KEY, or "
                               "TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY"));
  }
  if (is_printable(credentials.id) && is_printable(credentials.key.reveal()) &&
      is_printable(credentials.token.reveal()))
    return {};
  return fail(error_of(Code::forbidden,
                       "invalid header field value: SecretId, SecretKey or token has blanks, line "
                       "breaks or bytes that are no text")
                  .with_hint("in a Kubernetes Secret they are base64 of the text without a line "
                             "break (echo -n)"));
}

}  // namespace berth::cloud::tencent
