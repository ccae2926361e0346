#include "edge/relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace berth::edge {
namespace {

// A reader that stays slow has this much waiting for it, not a whole buffer.
constexpr std::size_t kLeastRead = 16u << 10;
// A stream that brings less at a time goes back to being copied.
constexpr std::size_t kLeastSplice = 64u << 10;
// Reads of what a broken side had sent before it broke.
constexpr int kLastReads = 16;

}  // namespace

Relay::Relay(const Home& home, Accepted accepted, std::vector<BackendPtr> tried)
    : home_(home),
      listener_(std::move(accepted.listener)),
      seat_(std::move(accepted.seat)),
      from_(accepted.from),
      nth_(accepted.nth),
      tried_(std::move(tried)),
      client_(*this, std::move(accepted.client)),
      target_(*this, Fd()) {
  count(listener_->counters.connections);
  count(listener_->counters.active);
}

Relay::~Relay() {
  listener_->counters.active.fetch_sub(1, std::memory_order_relaxed);
  for (Side* side : {&client_, &target_})
    if (side->watched) home_.loop.forget(side->fd.get());
}

bool Relay::connect(Attempt attempt) {
  if (backend_) tried_.push_back(backend_.shared());
  if (target_.watched) home_.loop.forget(target_.fd.get());
  backend_ = std::move(attempt.backend);
  target_.fd = std::move(attempt.fd);
  connecting_since_ = home_.loop.now();
  // The client's turn comes when there is somebody to hand its bytes to.
  target_.interest = EventLoop::kWritable;
  target_.watched = home_.loop.watch(target_.fd.get(), target_.interest, target_);
  return target_.watched;
}

void Relay::abort() {
  close_with_reset(client_.fd);
  close_with_reset(target_.fd);
  home_.owner.on_relay_ended(*this);
}

bool Relay::is_connected() {
  if (!connecting_) return true;
  if (pending_error(target_.fd) != 0) {
    count(listener_->counters.connect_failures);
    home_.owner.on_target_lost(*this);
    return false;
  }
  connecting_ = false;
  tried_ = {};
  static_cast<ListHook<ConnectingList>&>(*this).unlink();
  return true;
}

// Nothing was said to a target that has not answered: another one will do as well.
void Relay::on_target_removed() {
  if (connecting_) return home_.owner.on_target_lost(*this);
  abort();
}

std::vector<BackendPtr> Relay::all_tried() const {
  std::vector<BackendPtr> all = tried_;
  all.push_back(backend_.shared());
  return all;
}

void Relay::on_events(Side& side, std::uint32_t events) {
  if (!is_connected() || !move_bytes(side, events)) return;
  pass_end_on(client_);
  pass_end_on(target_);
  if (finished()) return home_.owner.on_relay_ended(*this);
  update_interest(client_);
  update_interest(target_);
}

bool Relay::move_bytes(Side& side, std::uint32_t events) {
  if ((events & EventLoop::kWritable) && !side.waiting.empty() && !flush(side)) return false;
  if (!(events & (EventLoop::kReadable | EventLoop::kFailed))) return true;
  if (may_read(side)) return side.streams ? splice_from(side) : copy_from(side);
  if (!(events & EventLoop::kFailed)) return true;
  if (side.read_ended && pending_error(side.fd) != 0) {
    abort();
    return false;
  }
  // It hung up, and what it said last has to wait for the other side. Until then the kernel would
  // tell us again and again.
  home_.loop.forget(side.fd.get());
  side.watched = false;
  side.interest = 0;
  return true;
}

bool Relay::copy_from(Side& side) {
  Side& other = other_than(side);
  const ssize_t n =
      ::recv(side.fd.get(), home_.buffer.data(), std::min(side.read_limit, home_.buffer.size()), 0);
  if (n <= 0) return nothing_read(side, n);
  count_read(side, n);
  if (!send_or_keep(other, home_.buffer.first(static_cast<std::size_t>(n)))) return false;
  const bool keeps_up = other.waiting.empty();
  side.streams =
      keeps_up && static_cast<std::size_t>(n) == home_.buffer.size() && home_.pipe.valid();
  // Less at a time for a reader that lags, more again when it keeps up.
  side.read_limit = keeps_up ? std::min(side.read_limit * 2, kCopyBuffer)
                             : std::max(side.read_limit / 2, kLeastRead);
  return true;
}

bool Relay::splice_from(Side& side) {
  Side& other = other_than(side);
  const ssize_t n = home_.pipe.fill(side.fd, kCopyBuffer);
  if (n <= 0) return nothing_read(side, n);
  count_read(side, n);
  const ssize_t poured = home_.pipe.pour(other.fd);
  if (poured < n) other.waiting = home_.pipe.take_rest();
  if (poured < 0) {
    break_off(other);
    return false;
  }
  side.streams = poured == n && static_cast<std::size_t>(n) >= kLeastSplice;
  return true;
}

// The end, nothing there at the moment, or a broken connection.
bool Relay::nothing_read(Side& side, ssize_t n) {
  if (n == 0) side.read_ended = true;
  if (n == 0 || would_block(errno)) return true;
  abort();
  return false;
}

void Relay::count_read(const Side& side, ssize_t n) {
  count(&side == &client_ ? listener_->counters.bytes_in : listener_->counters.bytes_out,
        static_cast<std::uint64_t>(n));
}

bool Relay::send_or_keep(Side& to, std::span<const char> bytes) {
  const ssize_t n = ::send(to.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n < 0 && !would_block(errno)) {
    break_off(to);
    return false;
  }
  const auto sent = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  if (sent < bytes.size())
    to.waiting.assign(bytes.begin() + static_cast<ssize_t>(sent), bytes.end());
  return true;
}

bool Relay::flush(Side& side) {
  const ssize_t n = ::send(side.fd.get(), side.waiting.data() + side.taken,
                           side.waiting.size() - side.taken, MSG_NOSIGNAL);
  if (n < 0 && !would_block(errno)) {
    break_off(side);
    return false;
  }
  side.taken += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  if (side.taken < side.waiting.size()) return true;
  side.waiting = {};  // its memory too: most connections need none
  side.taken = 0;
  return true;
}

// It takes no more, but may have said something before: an answer that refuses an upload, say.
void Relay::break_off(Side& broken) {
  Side& other = other_than(broken);
  for (int i = 0; i < kLastReads && may_read(broken); ++i) {
    const ssize_t n = ::recv(broken.fd.get(), home_.buffer.data(), home_.buffer.size(), 0);
    if (n <= 0) break;
    const ssize_t sent =
        ::send(other.fd.get(), home_.buffer.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL);
    if (sent != n) break;
  }
  abort();
}

void Relay::pass_end_on(Side& side) {
  Side& other = other_than(side);
  if (!side.read_ended || other.write_ended || !other.waiting.empty()) return;
  (void)::shutdown(other.fd.get(), SHUT_WR);
  other.write_ended = true;
}

void Relay::update_interest(Side& side) {
  std::uint32_t wanted = 0;
  if (may_read(side)) wanted |= EventLoop::kReadable;
  if (!side.waiting.empty()) wanted |= EventLoop::kWritable;
  if (wanted == side.interest && (side.watched || wanted == 0)) return;
  if (side.watched) {
    home_.loop.change(side.fd.get(), wanted);
  } else {
    // Refused: no room for another watch. It goes on with the next event of the other side.
    side.watched = home_.loop.watch(side.fd.get(), wanted, side);
  }
  side.interest = wanted;
}

bool Relay::finished() const {
  return client_.read_ended && target_.read_ended && client_.write_ended && target_.write_ended;
}

}  // namespace berth::edge
