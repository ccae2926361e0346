#include "kube/admission/path_guard.h"

#include "crypto/digest.h"

namespace berth::kube {
namespace {

constexpr std::string_view kPurpose = "webhook path";

}  // namespace

void PathGuard::use(const crypto::KeyRing& paths) {
  auto words = std::make_shared<const std::vector<std::string>>(paths.words(kPurpose));
  const MutexLock lock(mu_);
  words_ = std::move(words);
}

void PathGuard::allow_plain(bool allowed) {
  const MutexLock lock(mu_);
  plain_ = allowed;
}

bool PathGuard::allows_plain() const {
  const MutexLock lock(mu_);
  return plain_;
}

bool PathGuard::knows(std::string_view segment) const {
  std::shared_ptr<const std::vector<std::string>> words;
  {
    const MutexLock lock(mu_);
    words = words_;
  }
  if (!words) return false;
  bool known = false;
  for (const std::string& word : *words)
    known = crypto::constant_time_equal(word, segment) || known;
  return known;
}

std::string PathGuard::segment() const {
  const MutexLock lock(mu_);
  return words_ && !words_->empty() ? words_->front() : std::string();
}

}  // namespace berth::kube
