// A program that runs beside us for as long as we do, and ends when the thread that started it
// does, however that ends. Owned and used by that thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::edge::haproxy {

class Child {
 public:
  // A process group of its own; without input, and with both outputs in one pipe.
  static Result<Child> start(const std::string& program, const std::vector<std::string>& args);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  // Kills what is left of its group, and reaps it.
  ~Child();

  pid_t pid() const { return pid_; }
  const Fd& ended() const { return ended_; }    // readable once it has
  const Fd& output() const { return output_; }  // does not block
  void signal(int number) const;
  // True: it ended in time.
  bool wait(Duration within) const;

 private:
  Child(pid_t pid, Fd ended, Fd output);

  pid_t pid_;
  Fd ended_;
  Fd output_;
};

}  // namespace berth::edge::haproxy
