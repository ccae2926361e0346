#include "edge/splice_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "edge/socket.h"

namespace berth::edge {
namespace {

// A place for each page; small pieces take a place too. As much as an unprivileged process gets.
constexpr int kPipeSize = 1 << 20;
constexpr unsigned kFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

}  // namespace

SplicePipe::SplicePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) return;
  read_end_ = Fd(ends[0]);
  write_end_ = Fd(ends[1]);
  (void)::fcntl(write_end_.get(), F_SETPIPE_SZ, kPipeSize);  // refused: it holds less at a time
}

ssize_t SplicePipe::fill(const Fd& from, std::size_t most) {
  const ssize_t n = ::splice(from.get(), nullptr, write_end_.get(), nullptr, most, kFlags);
  if (n > 0) inside_ += static_cast<std::size_t>(n);
  return n;
}

ssize_t SplicePipe::pour(const Fd& to) {
  ssize_t poured = 0;
  while (inside_ > 0) {
    const ssize_t n = ::splice(read_end_.get(), nullptr, to.get(), nullptr, inside_, kFlags);
    if (n < 0 && !would_block(errno)) return -1;
    if (n <= 0) break;
    poured += n;
    inside_ -= static_cast<std::size_t>(n);
  }
  return poured;
}

std::string SplicePipe::take_rest() {
  std::string out(inside_, '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t n = ::read(read_end_.get(), out.data() + have, out.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;  // cannot be: all of it is there
    have += static_cast<std::size_t>(n);
  }
  inside_ = 0;
  return out;
}

}  // namespace berth::edge
