// Credentials as people write them: in a file, or in the entries of a Secret. Pure.
//
// Errors are `forbidden`, so that what waits for the keys is tried again, and name the entry and
// what is allowed there. No value is in any of them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "crypto/signers.h"

namespace berth::cloud::tencent {

// What the environment, a file and a Secret call them; the first that is there counts. The first
// spelling of the key is upstream's, and so users have it.
inline constexpr std::string_view kIdNames[] = {"TENCENTCLOUD_ACCESS_KEY_ID",
                                                "TENCENTCLOUD_SECRET_ID"};
inline constexpr std::string_view kKeyNames[] = {
    "TENCENTCLOUD_ACESS_KEY", "TENCENTCLOUD_ACCESS_KEY", "TENCENTCLOUD_SECRET_KEY"};
inline constexpr std::string_view kTokenNames[] = {"TENCENTCLOUD_TOKEN"};

// What the entry of this name holds; nothing: there is none.
using GetEntry = std::function<Result<std::optional<Secret>>(std::string_view name)>;

Result<crypto::CloudCredentials> credentials_from(const GetEntry& get);

// Lines of NAME=VALUE with the names above, or with those of the file that the cloud's own tools
// keep (secret_id, secret_key, token, under [default]). Empty lines, comments and other names are
// passed over.
Result<crypto::CloudCredentials> parse_credentials(const Secret& text);

}  // namespace berth::cloud::tencent
