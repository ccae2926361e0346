#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "base/fd.h"

namespace berth {
namespace {

constexpr std::size_t kReadChunk = 64u << 10;

Code code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return Code::forbidden;
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP: return Code::invalid;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE: return Code::exhausted;
    default: return Code::internal;
  }
}

Failure system_failure(std::string_view verb, const std::string& path, int error) {
  return fail(code_of(error), "cannot {} {}: {}", verb, path,
              std::generic_category().message(error));
}

Result<> write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t wrote = ::write(fd, content.data(), content.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return system_failure("write", path, errno);
    content.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

// Fills the temporary file; the caller removes it when this fails.
Result<> fill(const Fd& file, std::string_view content, unsigned mode, const std::string& path) {
  if (::fchmod(file.get(), static_cast<mode_t>(mode)) != 0)
    return system_failure("set the mode of", path, errno);
  if (auto wrote = write_all(file.get(), content, path); !wrote) return pass(wrote);
  if (::fsync(file.get()) != 0) return system_failure("sync", path, errno);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return system_failure("read", path, errno);
  std::string content;
  for (;;) {
    const std::size_t have = content.size();
    // One byte past the bound tells a file that fits from one that does not.
    content.resize(have + std::min(kReadChunk, max_bytes - have + 1));
    const ssize_t got = ::read(file.get(), content.data() + have, content.size() - have);
    const int error = errno;
    content.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error == EINTR) continue;
    if (got < 0) return system_failure("read", path, error);
    if (got == 0) return content;
    if (content.size() > max_bytes)
      return fail(Code::invalid, "cannot read {}: it is larger than {} bytes", path, max_bytes);
  }
}

Result<> write_file(const std::string& path, std::string_view content, unsigned mode) {
  std::string temporary = path + ".XXXXXX";
  const Fd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) return system_failure("create a file beside", path, errno);
  auto filled = fill(file, content, mode, path);
  if (filled && ::rename(temporary.c_str(), path.c_str()) != 0)
    filled = system_failure("replace", path, errno);
  if (!filled) ::unlink(temporary.c_str());
  return filled;
}

}  // namespace berth
