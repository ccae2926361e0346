#include "support/scratch_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace berth::testing {
namespace {

namespace fs = std::filesystem;

// etcd preallocates its log, and a bench of 50,000 Pods keeps a few hundred MB: a container's usual
// 64 MB of /dev/shm would fail half-way through a test.
constexpr std::uintmax_t kRoomNeeded = 2ULL << 30U;
constexpr const char* kLockName = ".alive";

fs::path base_dir() {
  fs::path memory = "/dev/shm";
  std::error_code error;
  const auto room = fs::space(memory, error);
  if (!error && room.available >= kRoomNeeded && ::access(memory.c_str(), W_OK) == 0) return memory;
  return fs::temp_directory_path(error);
}

// Removes directories whose owner no longer holds its lock.
void sweep(const fs::path& base, std::string_view prefix) {
  std::error_code error;
  const std::string start = std::string(prefix) + '.';
  for (const auto& entry : fs::directory_iterator(base, error)) {
    if (!entry.path().filename().string().starts_with(start)) continue;
    const Fd lock(::open((entry.path() / kLockName).c_str(), O_RDWR | O_CLOEXEC));
    if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      fs::remove_all(entry.path(), error);
    }
  }
}

// The lock is taken under another name first: a sweep never sees it untaken.
Fd take_lock(const fs::path& dir) {
  const fs::path draft = dir / ".draft";
  Fd lock(::open(draft.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::rename(draft.c_str(), (dir / kLockName).c_str()) != 0) {
    return {};
  }
  return lock;
}

}  // namespace

std::expected<ScratchDir, std::string> ScratchDir::create(std::string_view prefix) {
  const fs::path base = base_dir();
  sweep(base, prefix);
  std::string name = (base / (std::string(prefix) + ".XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return std::unexpected("mkdtemp " + name + ": " + std::strerror(errno));
  }
  Fd lock = take_lock(name);
  if (!lock.valid()) return std::unexpected("cannot lock " + name + ": " + std::strerror(errno));
  return ScratchDir(name, std::move(lock));
}

ScratchDir::~ScratchDir() {
  // A moved-from object has no lock, and nothing to remove.
  if (!lock_.valid()) return;
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace berth::testing
