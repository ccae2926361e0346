#include "cloud/tencent/followed_credentials.h"

#include <algorithm>

#include "base/file.h"
#include "base/log.h"
#include "cloud/tencent/credential_texts.h"

namespace berth::cloud::tencent {
namespace {

// Until what is wrong is looked at again: somebody is about to mend it.
constexpr Duration kWrong = std::chrono::seconds{1};
constexpr std::size_t kMaxFile = 64u << 10;

// Looking again soon brings nothing else.
bool is_final(Code code) {
  return code == Code::not_found || code == Code::forbidden || code == Code::invalid ||
         code == Code::unsupported;
}

bool is_same(const crypto::CloudCredentials& a, const crypto::CloudCredentials& b) {
  return a.id == b.id && a.key.reveal() == b.key.reveal() && a.token.reveal() == b.token.reveal();
}

}  // namespace

Result<crypto::CloudCredentials> FollowedCredentials::get(const Context& context) {
  {
    const MutexLock lock(mu_);
    // One reads at a time where the others have something to go on with.
    if (last_ && (context.tasks.now() < good_until_ || (is_reading_ && good_))) return *last_;
    is_reading_ = true;
  }
  Outcome read = read_(context);
  const MutexLock lock(mu_);
  is_reading_ = false;
  return note(std::move(read), context.tasks.now());
}

Result<crypto::CloudCredentials> FollowedCredentials::note(Outcome read, Instant now) {
  if (read) {
    if (!good_ || !is_same(*good_, *read))
      log_info("credentials of a cloud were read", {{"from", options_.name}});
    good_ = *read;
    wrong_since_.reset();
    last_ = std::move(read);
    good_until_ = now + options_.period;
    return *last_;
  }
  if (is_final(read.error().code)) return note_wrong(std::move(read.error()), now);
  if (read.error().code == Code::stopped) return read;
  good_until_ = now + std::min(kWrong, options_.period);
  if (good_) return *good_;
  read.error().code = Code::unavailable;
  last_ = std::move(read);
  return *last_;
}

Result<crypto::CloudCredentials> FollowedCredentials::note_wrong(Error error, Instant now) {
  error.code = Code::forbidden;
  good_until_ = now + std::min(kWrong, options_.period);
  if (!wrong_since_) {
    wrong_since_ = now;
    log_warn("credentials of a cloud cannot be used",
             {{"from", options_.name}, {"error", error.to_string()}});
  }
  if (good_ && now < *wrong_since_ + options_.grace) return *good_;
  good_.reset();
  last_ = Outcome(fail(std::move(error)));
  return *last_;
}

FollowedCredentials::Read credentials_in_file(std::string path) {
  return [path = std::move(path)](const Context&) -> Result<crypto::CloudCredentials> {
    Result<std::string> bytes = read_file(path, kMaxFile);
    if (!bytes) return pass(bytes);
    Result<crypto::CloudCredentials> out = parse_credentials(Secret(std::move(*bytes)));
    if (!out) return fail(std::move(out.error()).about(path));
    return out;
  };
}

}  // namespace berth::cloud::tencent
