#include "edge/haproxy/runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/log.h"
#include "edge/haproxy/cli.h"

namespace berth::edge::haproxy {
namespace {

constexpr const char* kConfigFile = "haproxy.cfg";
constexpr const char* kMasterSocket = "master.sock";
constexpr const char* kStatsSocket = "stats.sock";
// Of what it complains about at one time, nobody reads more.
constexpr std::size_t kMaxAlerts = 50;
// Between two looks whether it is there.
constexpr std::chrono::milliseconds kLook{5};

Instant now() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

}  // namespace

std::string find_program() {
  for (const char* path : {"/usr/sbin/haproxy", "/usr/local/sbin/haproxy", "/usr/bin/haproxy",
                           "/usr/local/bin/haproxy"})
    if (::access(path, X_OK) == 0) return path;
  return {};
}

Result<PrivateFolder> PrivateFolder::make() {
  for (const char* parent : {"/dev/shm", "/tmp"}) {
    std::string path = fmt::format("{}/berth-edge-XXXXXX", parent);
    if (::mkdtemp(path.data()) != nullptr) return PrivateFolder(std::move(path));  // mode 0700
  }
  return fail(Code::exhausted, "no folder for HAProxy's files: {}",
              std::generic_category().message(errno));
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Runner::Runner(std::string program, PrivateFolder folder)
    : program_(std::move(program)), folder_(std::move(folder)) {}

Result<> Runner::carry(const Config& wanted, const PemFiles& files) {
  alerts_.clear();
  guilty_.clear();
  Changes changes{.reload = true};
  if (runs() && carried_) changes = changes_between(*carried_, wanted);
  if (changes.empty()) return {};
  if (Result<> written = write_files(wanted, files); !written) return written;
  if (runs() && !changes.reload) {
    const Result<std::string> answers = tell(changes.commands);
    // Whatever it is that it did not understand, the file has it.
    if (!answers || !is_fine(*answers)) changes.reload = true;
  }
  if (changes.reload) {
    const Result<> done = runs() ? reload() : start();
    if (!done) return fail(complaint(wanted).because(done.error()));
  }
  carried_ = wanted;
  end_sessions(changes.gone);
  drop_files(wanted, files);
  return {};
}

Result<> Runner::write_files(const Config& wanted, const PemFiles& files) {
  constexpr unsigned kOwn = 0600;
  for (const auto& [name, bytes] : files) {
    if (written_.contains(name)) continue;
    if (Result<> done = write_file(file(name), bytes->reveal(), kOwn); !done) return done;
    written_.insert(name);
  }
  for (const auto& [name, text] : wanted.lists) {
    if (Result<> done = write_file(file(name), text, kOwn); !done) return done;
    written_.insert(name);
  }
  return write_file(file(kConfigFile), text_of(wanted), kOwn);
}

// What nothing names any more.
void Runner::drop_files(const Config& carried, const PemFiles& files) {
  std::erase_if(written_, [&](const std::string& name) {
    if (files.contains(name) || carried.lists.contains(name)) return false;
    ::unlink(file(name).c_str());
    return true;
  });
}

Result<> Runner::start() {
  Result<Child> child = Child::start(
      program_,
      {"-W", "-S", file(kMasterSocket) + ",mode,600,level,admin", "-f", file(kConfigFile)});
  if (!child) return pass(child);
  child_.emplace(std::move(*child));
  ++starts_;
  Result<> done = wait_for_worker(0, 0);
  if (!done) end();
  return done;
}

Result<> Runner::reload() {
  const Result<Processes> before = processes();
  if (!before) return fail(before.error());
  if (Result<std::string> asked = ask(file(kMasterSocket), "reload", kPatience); !asked)
    return pass(asked);
  if (Result<> done = wait_for_worker(before->worker, before->reloads + 1); !done) return done;
  ++reloads_;
  return {};
}

Result<> Runner::wait_for_worker(int before, std::uint64_t reloads) {
  for (const Instant until = now() + kPatience; now() < until;) {
    pollfd said{.fd = child_->output().get(), .events = POLLIN, .revents = 0};
    (void)::poll(&said, 1, static_cast<int>(kLook.count()));
    read_output();
    if (child_->wait({})) {
      read_output();
      return fail(Code::internal, "HAProxy ended");
    }
    // While the master begins anew, nobody answers.
    const Result<Processes> there = processes();
    if (!there || there->reloads < reloads) continue;
    if (there->failed > 0) return fail(Code::invalid, "HAProxy did not take its configuration");
    if (there->worker == 0 || there->worker == before) continue;
    worker_ = there->worker;
    return {};
  }
  return fail(Code::timeout, "HAProxy does not begin to serve");
}

Result<Processes> Runner::processes() const {
  const Result<std::string> answer = ask(file(kMasterSocket), "show proc", kPatience);
  if (!answer) return fail(answer.error());
  return parse_processes(*answer);
}

Result<std::string> Runner::tell(const std::vector<std::string>& commands) {
  return ask_all(file(kStatsSocket), commands, kPatience, [this] { read_output(); });
}

// In this worker and in those that finish what they have. Servers that still have something to end
// stay, and serve nobody; the next reload is without them.
void Runner::end_sessions(const std::vector<std::string>& gone) {
  if (gone.empty()) return;
  std::vector<std::string> ends;
  std::vector<std::string> removals;
  for (const std::string& path : gone) {
    ends.push_back("shutdown sessions server " + path);
    removals.push_back("del server " + path);
  }
  (void)tell(ends);
  if (const Result<Processes> all = processes())
    for (const int pid : all->old_workers) end_sessions(pid, gone);
  (void)tell(removals);
}

// One that finishes has no servers any more that could be named, but sessions.
void Runner::end_sessions(int old_worker, const std::vector<std::string>& gone) {
  const std::string master = file(kMasterSocket);
  const Result<std::string> sessions =
      ask(master, fmt::format("@!{} show sess", old_worker), kPatience);
  if (!sessions) return;
  for (const std::string& id : parse_sessions(*sessions, gone))
    (void)ask(master, fmt::format("@!{} shutdown session {}", old_worker, id), kPatience);
}

Result<std::vector<Stat>> Runner::stats() const {
  constexpr const char* kFrontendsAndServers = "show stat -1 5 -1";
  const Result<std::string> answer = ask(file(kStatsSocket), kFrontendsAndServers, kPatience);
  if (!answer) return fail(answer.error());
  return parse_stats(*answer);
}

bool Runner::look() {
  if (!runs()) return false;
  read_output();
  if (!child_->wait({})) return true;
  read_output();
  end();
  return false;
}

void Runner::finish() {
  if (runs()) child_->signal(SIGUSR1);
}

void Runner::end() {
  constexpr Duration kGoodbye = std::chrono::seconds{2};
  if (runs()) {
    child_->signal(SIGTERM);
    (void)child_->wait(kGoodbye);
  }
  child_.reset();
  carried_.reset();
  worker_ = 0;
}

void Runner::read_output() {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t got = ::read(child_->output().get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    output_.append(chunk.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = output_.find('\n')) != std::string::npos;) {
      note_line(std::string_view(output_).substr(0, end));
      output_.erase(0, end + 1);
    }
  }
}

void Runner::note_line(std::string_view line) {
  const bool alert = line.starts_with("[ALERT]");
  log(alert ? LogLevel::warn : LogLevel::debug, "HAProxy says", {{"line", std::string(line)}});
  if (alert && alerts_.size() < kMaxAlerts) alerts_.emplace_back(line);
}

// What it said of the configuration, and of which sites.
Error Runner::complaint(const Config& wanted) {
  const std::string where = file(kConfigFile) + ":";
  for (const std::string& alert : alerts_) {
    if (const std::size_t at = alert.find(where); at != std::string::npos) {
      std::size_t line = 0;
      const char* const digits = alert.data() + at + where.size();
      (void)std::from_chars(digits, alert.data() + alert.size(), line);
      guilty_.insert(site_at(wanted, line));
    }
    for (const Section& section : wanted.sections)
      if (!section.site.empty() && alert.contains(section.site)) guilty_.insert(section.site);
  }
  guilty_.erase("");
  return error_of(Code::internal, "HAProxy did not take the listener: {}",
                  alerts_.empty() ? "it says nothing" : alerts_.front());
}

}  // namespace berth::edge::haproxy
