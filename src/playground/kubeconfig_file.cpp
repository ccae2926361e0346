#include "playground/kubeconfig_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"

namespace berth::playground {
namespace {

constexpr mode_t kOwnerOnly = 0600;  // it has a private key in it
constexpr int kMaxNames = 100;       // nobody runs more playgrounds in one folder
constexpr int kMaxTries = 10;        // others come and go between our looks
constexpr std::size_t kMaxKubeconfig = 1u << 20;
// Every kubeconfig of an embedded API server has it, and kubectl keeps it.
constexpr std::string_view kOfAPlayground = "current-context: berth\n";

Failure failed(const std::string& path, std::string_view what) {
  const int number = errno;
  const Code code = number == EACCES || number == EPERM || number == EROFS ? Code::forbidden
                    : number == ENOENT                                     ? Code::not_found
                                                                           : Code::invalid;
  return fail(error_of(code, "{}: {}", what, std::strerror(number)).about(path));
}

// False: the name leads to another file by now.
bool is_at(int file, const std::string& path) {
  struct stat ours{};
  struct stat there{};
  return ::fstat(file, &ours) == 0 && ::stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

std::string numbered(const std::string& path, int number) {
  const std::filesystem::path whole(path);
  const std::string name =
      fmt::format("{}-{}{}", whole.stem().string(), number, whole.extension().string());
  return (whole.parent_path() / name).string();
}

}  // namespace

Result<KubeconfigFile> KubeconfigFile::claim(const std::string& path, bool or_beside) {
  for (int number = 1;; ++number) {
    Result<KubeconfigFile> claimed = claim_one(number == 1 ? path : numbered(path, number));
    const bool taken = !claimed && claimed.error().code == Code::already_exists;
    if (!taken || !or_beside || number == kMaxNames) return claimed;
  }
}

Result<KubeconfigFile> KubeconfigFile::claim_one(const std::string& path) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
    if (file < 0) return failed(path, "cannot be opened");
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      ::close(file);
      return fail(error_of(Code::already_exists, "it is in use by another playground")
                      .about(path)
                      .with_hint("name another file with --kubeconfig"));
    }
    // Its owner may have removed it between our opening it and our lock.
    if (!is_at(file, path)) {
      ::close(file);
      continue;
    }
    const Result<std::string> content = read_file(path, kMaxKubeconfig);
    if (content && (content->empty() || content->contains(kOfAPlayground)))
      return KubeconfigFile(path, file);
    ::close(file);
    return fail(error_of(Code::already_exists, "it is there already, and not of a playground")
                    .about(path)
                    .with_hint("name another file with --kubeconfig"));
  }
  return fail(error_of(Code::conflict, "others remove it again and again").about(path));
}

KubeconfigFile::KubeconfigFile(KubeconfigFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

KubeconfigFile::~KubeconfigFile() {
  if (file_ < 0) return;
  if (is_at(file_, path_)) (void)::unlink(path_.c_str());
  ::close(file_);  // and with it the lock
}

// In place: a file that is renamed over this one would not be the one that is locked.
Result<> KubeconfigFile::write(std::string_view content) {
  if (::fchmod(file_, kOwnerOnly) != 0 || ::ftruncate(file_, 0) != 0)
    return failed(path_, "cannot be emptied");
  std::size_t at = 0;
  while (at < content.size()) {
    const ssize_t written =
        ::pwrite(file_, content.data() + at, content.size() - at, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed(path_, "cannot be written");
    at += static_cast<std::size_t>(written);
  }
  return {};
}

}  // namespace berth::playground
