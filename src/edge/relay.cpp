#include "edge/relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace berth::edge {
namespace {

// One buffer for all relays of a loop; only what a short write leaves over is kept per connection.
constexpr std::size_t kCopyBuffer = 256u << 10;

std::array<char, kCopyBuffer>& copy_buffer() {
  static thread_local std::array<char, kCopyBuffer> buffer;
  return buffer;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Relay::Relay(EventLoop& loop, Fd client, Fd target, model::Target target_address,
             std::function<void()> on_end)
    : loop_(loop),
      client_{.fd = std::move(client)},
      target_{.fd = std::move(target), .connecting = true},
      target_address_(std::move(target_address)),
      on_end_(std::move(on_end)) {}

Relay::~Relay() {
  if (!watching_) return;
  loop_.forget(client_.fd.get());
  loop_.forget(target_.fd.get());
}

bool Relay::begin() {
  const bool client_watched =
      loop_.watch(client_.fd.get(), interest_of(client_, target_),
                  [this](std::uint32_t events) { on_events(client_, target_, events); });
  const bool target_watched =
      client_watched &&
      loop_.watch(target_.fd.get(), interest_of(target_, client_),
                  [this](std::uint32_t events) { on_events(target_, client_, events); });
  watching_ = client_watched;
  return target_watched;
}

void Relay::abort() {
  close_with_reset(client_.fd);
  close_with_reset(target_.fd);
  end();
}

void Relay::on_events(Side& side, Side& other, std::uint32_t events) {
  if (side.connecting && (events & (EventLoop::kWritable | EventLoop::kFailed))) {
    if (pending_error(side.fd) != 0) return abort();
    side.connecting = false;
  }
  if ((events & EventLoop::kFailed) && pending_error(side.fd) != 0) return abort();
  const bool readable = events & (EventLoop::kReadable | EventLoop::kFailed);
  if ((events & EventLoop::kWritable) && !write_to(side)) return abort();
  if (readable && other.outgoing.empty() && !side.read_ended && !read_from(side, other))
    return abort();
  pass_end_on(side, other);
  pass_end_on(other, side);
  if (finished()) return end();
  update_interest();
}

bool Relay::read_from(Side& side, Side& other) {
  auto& buffer = copy_buffer();
  const ssize_t n = ::recv(side.fd.get(), buffer.data(), buffer.size(), 0);
  if (n < 0) return would_block(errno);
  if (n == 0) {
    side.read_ended = true;
    return true;
  }
  other.outgoing.assign(buffer.data(), static_cast<std::size_t>(n));
  return other.connecting || write_to(other);
}

bool Relay::write_to(Side& side) {
  while (!side.outgoing.empty()) {
    const ssize_t n =
        ::send(side.fd.get(), side.outgoing.data(), side.outgoing.size(), MSG_NOSIGNAL);
    if (n < 0) return would_block(errno);
    side.outgoing.erase(0, static_cast<std::size_t>(n));
  }
  return true;
}

void Relay::pass_end_on(const Side& side, Side& other) {
  if (!side.read_ended || other.write_ended || other.connecting || !other.outgoing.empty()) return;
  (void)::shutdown(other.fd.get(), SHUT_WR);
  other.write_ended = true;
}

std::uint32_t Relay::interest_of(const Side& side, const Side& other) const {
  std::uint32_t events = 0;
  if (!side.read_ended && other.outgoing.empty()) events |= EventLoop::kReadable;
  if (side.connecting || !side.outgoing.empty()) events |= EventLoop::kWritable;
  return events;
}

void Relay::update_interest() {
  for (auto [side, other] : {std::pair(&client_, &target_), std::pair(&target_, &client_)}) {
    // Ended both ways, its hang-up would be reported for as long as the other side drains.
    if (side->read_ended && side->write_ended) {
      loop_.forget(side->fd.get());
    } else {
      loop_.change(side->fd.get(), interest_of(*side, *other));
    }
  }
}

bool Relay::finished() const {
  return client_.read_ended && target_.read_ended && client_.write_ended && target_.write_ended;
}

void Relay::end() {
  if (!on_end_) return;
  const auto on_end = std::exchange(on_end_, nullptr);
  on_end();
}

}  // namespace berth::edge
