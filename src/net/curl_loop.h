// The thread that drives curl: it alone touches curl's handles; others post to it.
//
// Private to net. Shared by the transport and its open streams; the last of them joins the thread.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "net/curl_transfer.h"

namespace berth::net {

class CurlLoop {
 public:
  // `max_connections_per_host` 0: no bound.
  CurlLoop(std::string thread_name, long max_connections_per_host);
  ~CurlLoop();

  // Any thread; none of them waits.
  void submit(std::shared_ptr<CurlTransfer> transfer);
  void cancel(std::shared_ptr<CurlTransfer> transfer);
  void resume(std::shared_ptr<CurlTransfer> transfer);  // after a pause

 private:
  enum class Action { submit, cancel, resume };
  struct Command {
    Action action;
    std::shared_ptr<CurlTransfer> transfer;
  };
  struct Active {
    std::shared_ptr<CurlTransfer> transfer;
    void* easy;
  };

  void post(Command command);
  void run(const std::stop_token& stop);
  void carry_out(Command& command);
  void start(std::shared_ptr<CurlTransfer> transfer);
  void collect_ended();
  void release(CurlTransfer* transfer);
  void* acquire_handle();

  void* const multi_;
  // Of the loop's thread.
  std::unordered_map<CurlTransfer*, Active> active_;
  std::vector<void*> idle_handles_;

  Mutex mu_;
  std::vector<Command> inbox_ GUARDED_BY(mu_);
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace berth::net
