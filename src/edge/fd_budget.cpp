#include "edge/fd_budget.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/text.h"

namespace berth::edge {
namespace {

std::size_t three_quarters(std::size_t whole) { return whole - whole / 4; }

// "32768\t60999\n".
std::size_t ports_of_the_kernel() {
  constexpr const char* kRange = "/proc/sys/net/ipv4/ip_local_port_range";
  constexpr std::size_t kMaxFile = 4096;
  std::size_t first = 32'768, last = 60'999;  // what a kernel begins with
  if (const Result<std::string> text = read_file(kRange, kMaxFile)) {
    const char* const end = text->data() + text->size();
    const char* at = std::from_chars(text->data(), end, first).ptr;
    at = std::find_if(at, end, is_digit);
    std::from_chars(at, end, last);
  }
  return last >= first ? last - first + 1 : 0;
}

}  // namespace

bool FdBudget::add(const Use& more) {
  std::uint64_t word = used_.load(std::memory_order_relaxed);
  Use next{};
  do {
    next = unpacked(word);
    next.listening += more.listening;
    next.others += more.others;
    const bool for_others = more.others > 0;
    const std::size_t kept = for_others ? std::max(next.listening, for_listening_) : next.listening;
    if (kept + next.others > most_) return false;
  } while (!used_.compare_exchange_weak(word, std::uint64_t{next.listening} << kShift | next.others,
                                        std::memory_order_relaxed));
  return true;
}

std::size_t default_listening_files(std::size_t fd_budget) { return fd_budget / 4; }

std::size_t default_fd_budget() {
  // What every Linux process has at the least.
  constexpr rlim_t kFallback = 1024;
  // More than one process serves; also what stands for "no limit".
  constexpr rlim_t kMost = 1u << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = kFallback;
  const rlim_t usable = limit.rlim_cur < kMost ? limit.rlim_cur : kMost;
  return three_quarters(usable);
}

std::size_t default_udp_sessions(std::size_t files) {
  return std::max<std::size_t>(
      std::min(three_quarters(files), three_quarters(ports_of_the_kernel())), 1);
}

}  // namespace berth::edge
