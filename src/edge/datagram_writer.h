// Sends many datagrams through one socket with few system calls, and with few trips through the
// network stack: neighbours of one size for one receiver leave as one large piece that the kernel
// cuts (UDP_SEGMENT). One for each loop; not thread-safe.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <span>

#include "edge/socket.h"

namespace berth::edge {

struct Datagram {
  char* bytes = nullptr;
  std::size_t size = 0;
  SocketAddress* to = nullptr;  // none: the socket is connected
};

class DatagramWriter {
 public:
  static constexpr std::size_t kMost = 64;  // in one call

  struct Sent {
    std::size_t datagrams = 0;
    std::uint64_t bytes = 0;
    std::size_t dropped = 0;
    int error = 0;  // of the last one that was dropped
  };
  // In their order. One that the socket does not take is dropped, as datagrams may be; those after
  // it still go.
  Sent send(const Fd& fd, std::span<const Datagram> datagrams);

 private:
  // Ends with the first datagram that is not in a message.
  std::size_t build(std::span<const Datagram> datagrams);
  std::size_t length_of_run(std::span<const Datagram> datagrams) const;

  struct alignas(cmsghdr) Control {
    std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
  };
  bool may_merge_ = true;  // until the kernel or a device refuses
  std::array<mmsghdr, kMost> messages_{};
  std::array<std::size_t, kMost> runs_{};  // datagrams of each message
  std::array<iovec, kMost> vectors_{};
  std::array<Control, kMost> controls_{};
};

}  // namespace berth::edge
