// HAProxy as it runs: a master with its workers, their sockets, and the files that they read.
//
// Owned and used by one thread, the supervisor's. Calls block for as long as HAProxy needs, at most
// `kPatience` for each step.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "edge/haproxy/answers.h"
#include "edge/haproxy/changes.h"
#include "edge/haproxy/child.h"
#include "edge/haproxy/config.h"

namespace berth::edge::haproxy {

inline constexpr Duration kPatience = std::chrono::seconds{10};

// Where Debian and others put it; empty: it is not installed.
std::string find_program();

// A folder that only we can read, in memory where the machine has such files; gone with its owner.
class PrivateFolder {
 public:
  static Result<PrivateFolder> make();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder();

  const std::string& path() const { return path_; }

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class Runner {
 public:
  Runner(std::string program, PrivateFolder folder);

  const std::string& folder() const { return folder_.path(); }

  // Carries this from now on: starts it, tells it what differs, or reloads it. After an error it
  // carries what it did before, if it did; `guilty` has the sites that it complained of.
  Result<> carry(const Config& wanted, const PemFiles& files);
  const std::set<std::string>& guilty() const { return guilty_; }

  bool runs() const { return child_.has_value(); }
  // Of the process that runs; what has happened is taken in by `look`.
  const Child& child() const { return *child_; }
  // Takes in what it says; false: it has ended, and nothing is carried any more.
  bool look();
  // Takes nothing new, and ends when all that it has is over.
  void finish();
  // Now.
  void end();

  // What it counted; the numbers begin anew with each worker.
  Result<std::vector<Stat>> stats() const;

  int worker() const { return worker_; }
  std::uint64_t starts() const { return starts_; }
  std::uint64_t reloads() const { return reloads_; }

 private:
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  Result<> write_files(const Config& wanted, const PemFiles& files);
  void drop_files(const Config& carried, const PemFiles& files);
  Result<> start();
  Result<> reload();
  // Waits until the worker of another configuration serves.
  Result<> wait_for_worker(int before, std::uint64_t reloads_before);
  Result<Processes> processes() const;
  Result<std::string> tell(const std::vector<std::string>& commands);
  void end_sessions(const std::vector<std::string>& gone);
  void end_sessions(int old_worker, const std::vector<std::string>& gone);
  void read_output();
  void note_line(std::string_view line);
  Error complaint(const Config& wanted);

  const std::string program_;
  const PrivateFolder folder_;
  std::optional<Child> child_;
  std::optional<Config> carried_;
  std::set<std::string> written_;  // certificates and lists
  std::string output_;             // a line that has not ended yet
  std::vector<std::string> alerts_;
  std::set<std::string> guilty_;
  int worker_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t reloads_ = 0;
};

}  // namespace berth::edge::haproxy
