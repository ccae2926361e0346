// A gate between one process of `berth controller` and the API server. Every request goes through
// it, so a test knows each write by name, and can kill the process at any of them: before the
// server hears of it, or after the server has done it and before the process knows.
//
// Why no webhook: the server gives a request up when its client dies, so a write that is under way
// in admission would not be done. Here the server's client is the gate.
//
// Owned by a test; Tasks outlive it. For the test's own thread, which
// starts the processes; the gate answers on threads of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/tasks.h"
#include "net/curl_transport.h"
#include "net/server.h"
#include "support/control_plane.h"

namespace berth {

struct KillAt {
  std::string write{};  // a name as `writes` has them; empty: the first of all
  bool after = false;   // after the server has done it
  std::string to_string() const;
};

class WriteGate {
 public:
  static Result<std::unique_ptr<WriteGate>> start(Tasks& tasks, const testing::ControlPlane& plane);
  ~WriteGate();

  // The kubeconfig of the next process. What its predecessor sent is not let through any more, and
  // the next one's writes are not noted.
  std::filesystem::path kubeconfig_for_next();
  void process_is(pid_t pid);

  // Forgets the writes that were noted, and notes those to come. The process dies at the one that
  // is given.
  void begin(std::optional<KillAt> kill = std::nullopt);
  // Since `begin`, up to the kill, in the order of their arrival: "PATCH pods/room-0/status #2" for
  // the second to that path. Leases are left out because they are renewed by the clock, and events
  // because nothing rests on them.
  std::vector<std::string> writes() const;
  // The process is dead by the hand of the gate, and no other was started since.
  bool has_killed() const;

 private:
  // The requests of one process.
  struct Session;
  using SessionPtr = std::shared_ptr<Session>;
  enum class Verdict { pass, refuse, kill_before, kill_after };

  WriteGate(Tasks& tasks, const testing::ControlPlane& plane);
  Result<> listen();
  void close(const SessionPtr& session);
  net::Reply handle(const net::Request& request, std::stop_token stop);
  SessionPtr session_of(std::string_view path) const;
  Verdict judge(const SessionPtr& session, const std::string& method, std::string_view path);
  std::string name_of(const std::string& method, std::string_view path) REQUIRES(mu_);
  void kill(const SessionPtr& session);
  net::Reply forward(const net::Request& request, const Context& context);
  net::Reply forward_stream(const SessionPtr& session, const net::Request& request);

  Tasks& tasks_;
  net::CurlTransport transport_;
  const std::string server_;
  const std::string token_;
  const std::filesystem::path directory_;
  std::shared_ptr<const net::TlsSettings> tls_;

  mutable Mutex mu_;
  SessionPtr session_ GUARDED_BY(mu_);
  int sessions_ GUARDED_BY(mu_) = 0;
  pid_t pid_ GUARDED_BY(mu_) = 0;
  bool shut_ GUARDED_BY(mu_) = false;  // the kill has begun: nothing passes any more
  bool killed_ GUARDED_BY(mu_) = false;
  std::optional<KillAt> kill_ GUARDED_BY(mu_);
  bool noting_ GUARDED_BY(mu_) = false;
  std::map<std::string, int> seen_ GUARDED_BY(mu_);
  std::vector<std::string> writes_ GUARDED_BY(mu_);
  std::unique_ptr<net::Server> http_;  // last: its threads use the rest
};

}  // namespace berth
