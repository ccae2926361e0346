// FollowedCredentials: credentials that somebody may change while we run. They are read again when
// what was read is old, by whoever needs them next.
//
// What cannot be read for the moment changes nothing: the last good ones are used. Ones that are
// gone or wrong are told, after a while in which a file may be half written. Thread-safe; nothing
// is locked while it reads.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/context.h"
#include "base/mutex.h"
#include "crypto/signers.h"

namespace berth::cloud::tencent {

class FollowedCredentials {
 public:
  using Read = std::function<Result<crypto::CloudCredentials>(const Context& context)>;

  struct Options {
    Duration period = std::chrono::seconds{10};  // a change is seen after this at the latest
    // Good ones are used for so long after they were found wrong.
    Duration grace{};
    std::string name{};  // what is read, for the log
  };

  FollowedCredentials(Read read, Options options)
      : read_(std::move(read)), options_(std::move(options)) {}

  // `forbidden`: there are none, or they are wrong. `unavailable`: it is not known now.
  Result<crypto::CloudCredentials> get(const Context& context);

 private:
  using Outcome = Result<crypto::CloudCredentials>;
  Outcome note(Outcome read, Instant now) REQUIRES(mu_);
  Outcome note_wrong(Error error, Instant now) REQUIRES(mu_);

  const Read read_;
  const Options options_;
  Mutex mu_;
  std::optional<Outcome> last_ GUARDED_BY(mu_);
  Instant good_until_ GUARDED_BY(mu_) = Instant::min();  // what was read last
  std::optional<crypto::CloudCredentials> good_ GUARDED_BY(mu_);
  std::optional<Instant> wrong_since_ GUARDED_BY(mu_);
  bool is_reading_ GUARDED_BY(mu_) = false;
};

// Out of a file; see parse_credentials.
FollowedCredentials::Read credentials_in_file(std::string path);

}  // namespace berth::cloud::tencent
