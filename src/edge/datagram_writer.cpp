#include "edge/datagram_writer.h"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace berth::edge {
namespace {

// What fits a packet of Ethernet with the headers of IPv6: larger ones are cut by IP, and must not
// be merged.
constexpr std::size_t kMaxMerged = 1500 - 40 - 8;
// All of a merged piece, as one datagram would be bounded.
constexpr std::size_t kMaxPiece = 65'000;

bool says_no_to_merging(int error) {
  return error == EINVAL || error == EIO || error == EMSGSIZE || error == EOPNOTSUPP;
}

void ask_to_cut(msghdr& header, std::span<char> room, std::size_t size) {
  header.msg_control = room.data();
  header.msg_controllen = room.size();
  cmsghdr* const control = CMSG_FIRSTHDR(&header);
  control->cmsg_level = SOL_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto segment = static_cast<std::uint16_t>(size);
  std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
}

bool same_receiver(const Datagram& a, const Datagram& b) {
  return a.to == b.to || (a.to != nullptr && b.to != nullptr && *a.to == *b.to);
}

}  // namespace

// How many of the first datagrams may leave as one: all of one size, and a last one that is
// shorter.
std::size_t DatagramWriter::length_of_run(std::span<const Datagram> datagrams) const {
  const Datagram& first = datagrams.front();
  if (!may_merge_ || first.size == 0 || first.size > kMaxMerged) return 1;
  std::size_t bytes = first.size;
  std::size_t length = 1;
  while (length < datagrams.size()) {
    const Datagram& next = datagrams[length];
    bytes += next.size;
    if (next.size == 0 || next.size > first.size || bytes > kMaxPiece ||
        !same_receiver(first, next))
      break;
    ++length;
    if (next.size < first.size) break;
  }
  return length;
}

std::size_t DatagramWriter::build(std::span<const Datagram> datagrams) {
  std::size_t used = 0;
  std::size_t count = 0;
  datagrams = datagrams.first(std::min(datagrams.size(), kMost));
  while (used < datagrams.size()) {
    const std::size_t run = length_of_run(datagrams.subspan(used));
    msghdr& header = messages_[count].msg_hdr;
    header = {};
    header.msg_iov = &vectors_[used];
    header.msg_iovlen = run;
    if (SocketAddress* const to = datagrams[used].to) {
      header.msg_name = to->room();
      header.msg_namelen = to->length();
    }
    if (run > 1) ask_to_cut(header, controls_[count].bytes, datagrams[used].size);
    for (std::size_t i = used; i < used + run; ++i)
      vectors_[i] = {datagrams[i].bytes, datagrams[i].size};
    runs_[count++] = run;
    used += run;
  }
  return count;
}

DatagramWriter::Sent DatagramWriter::send(const Fd& fd, std::span<const Datagram> datagrams) {
  Sent sent;
  while (!datagrams.empty()) {
    const std::size_t count = build(datagrams);
    const int n =
        ::sendmmsg(fd.get(), messages_.data(), static_cast<unsigned>(count), MSG_NOSIGNAL);
    if (n > 0) {
      std::size_t gone = 0;
      for (int i = 0; i < n; ++i) {
        gone += runs_[static_cast<std::size_t>(i)];
        sent.bytes += messages_[static_cast<std::size_t>(i)].msg_len;
      }
      sent.datagrams += gone;
      datagrams = datagrams.subspan(gone);
      continue;
    }
    if (errno == EINTR) continue;
    if (runs_[0] > 1 && says_no_to_merging(errno)) {
      may_merge_ = false;  // the same again, one by one
      continue;
    }
    sent.error = errno;
    sent.dropped += runs_[0];
    datagrams = datagrams.subspan(runs_[0]);
  }
  return sent;
}

}  // namespace berth::edge
