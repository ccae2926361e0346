// A pipe through which bytes go from one socket to another without being copied: the kernel hands
// pages on. For long streams it halves the cost of a byte (measured); for short messages a plain
// copy costs fewer calls. One for each loop, empty between uses; not thread-safe.
//
// A write to a connection that is gone raises SIGPIPE here, and no flag can say otherwise: the
// thread blocks it, as event loops do.
#pragma once

#include <string>

#include "base/fd.h"

namespace berth::edge {

class SplicePipe {
 public:
  SplicePipe();
  // False: the process has no file descriptors for it.
  bool valid() const { return read_end_.valid(); }

  // As recv(2) answers: bytes that are in the pipe now, 0 at the end, -1 with errno.
  ssize_t fill(const Fd& from, std::size_t most);
  // Bytes that went out, perhaps fewer than there were; -1 with errno when the connection broke.
  ssize_t pour(const Fd& to);
  // What is left, taken out.
  std::string take_rest();

 private:
  Fd read_end_;
  Fd write_end_;
  std::size_t inside_ = 0;
};

}  // namespace berth::edge
