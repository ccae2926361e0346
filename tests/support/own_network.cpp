#include "support/own_network.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/fd.h"

namespace berth::testing {
namespace {

std::string why(const std::string& what) { return what + ": " + std::strerror(errno); }

// Whoever is not root may do it as the root of a user namespace.
bool unshare_as_anybody() {
  const uid_t uid = ::getuid();
  const gid_t gid = ::getgid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << uid << ' ' << uid << " 1";
  std::ofstream("/proc/self/gid_map") << gid << ' ' << gid << " 1";
  return true;
}

void set_address(ifreq& request, in_addr_t address) {
  sockaddr_in value{};
  value.sin_family = AF_INET;
  value.sin_addr.s_addr = address;
  std::memcpy(&request.ifr_addr, &value, sizeof value);
}

}  // namespace

std::string enter_own_network() {
  if (::unshare(CLONE_NEWNET) != 0 && !unshare_as_anybody()) return why("no network of our own");
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &loopback) != 0) return why("loopback stays down");
  return {};
}

std::string enter_own_network(const std::string& address, int bits) {
  if (auto reason = enter_own_network(); !reason.empty()) return reason;
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // The kernel takes all of a network that lies on loopback for its own.
  ifreq rooms{};
  std::strcpy(rooms.ifr_name, "lo:1");
  set_address(rooms, ::inet_addr(address.c_str()));
  if (::ioctl(socket.get(), SIOCSIFADDR, &rooms) != 0) return why(address);
  set_address(rooms, htonl(~0u << (32 - bits)));
  if (::ioctl(socket.get(), SIOCSIFNETMASK, &rooms) != 0) return why(address);
  return {};
}

}  // namespace berth::testing
