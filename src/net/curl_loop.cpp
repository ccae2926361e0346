#include "net/curl_loop.h"

#include <curl/curl.h>
#include <pthread.h>

#include <mutex>
#include <utility>

namespace berth::net {
namespace {

// Easy handles kept for reuse: about as many as transfers run at once.
constexpr std::size_t kMaxIdleHandles = 64;
// Connections kept open, over all hosts.
constexpr long kMaxIdleConnections = 128;
// Every event wakes the poll; this only bounds how long a defect could go unnoticed.
constexpr int kPollMilliseconds = 60'000;

void init_curl_once() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

CURLM* make_multi(long max_connections_per_host) {
  init_curl_once();
  CURLM* multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max_connections_per_host);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, kMaxIdleConnections);
  return multi;
}

}  // namespace

CurlLoop::CurlLoop(std::string thread_name, long max_connections_per_host)
    : multi_(make_multi(max_connections_per_host)),
      thread_([this, name = std::move(thread_name)](const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), name.c_str());
        run(stop);
      }) {}

CurlLoop::~CurlLoop() {
  thread_.request_stop();
  curl_multi_wakeup(multi_);
  thread_.join();
  for (CURL* easy : idle_handles_) curl_easy_cleanup(easy);
  curl_multi_cleanup(multi_);
}

void CurlLoop::submit(std::shared_ptr<CurlTransfer> transfer) {
  post({Action::submit, std::move(transfer)});
}

void CurlLoop::cancel(std::shared_ptr<CurlTransfer> transfer) {
  post({Action::cancel, std::move(transfer)});
}

void CurlLoop::resume(std::shared_ptr<CurlTransfer> transfer) {
  post({Action::resume, std::move(transfer)});
}

void CurlLoop::post(Command command) {
  {
    const MutexLock lock(mu_);
    inbox_.push_back(std::move(command));
  }
  curl_multi_wakeup(multi_);
}

void CurlLoop::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<Command> commands;
    {
      const MutexLock lock(mu_);
      commands.swap(inbox_);
    }
    for (auto& command : commands) carry_out(command);
    int running = 0;
    curl_multi_perform(multi_, &running);
    collect_ended();
    for (const auto& [_, active] : active_) active.transfer->announce();
    curl_multi_poll(multi_, nullptr, 0, kPollMilliseconds, nullptr);
  }
  while (!active_.empty()) {
    const auto transfer = active_.begin()->second.transfer;
    release(transfer.get());
    transfer->end_with(error_of(Code::stopped, "the transport is closing"));
  }
}

void CurlLoop::carry_out(Command& command) {
  if (command.action == Action::submit) return start(std::move(command.transfer));
  const auto found = active_.find(command.transfer.get());
  if (found == active_.end()) return;  // ended meanwhile
  if (command.action == Action::cancel) return release(command.transfer.get());
  curl_easy_pause(found->second.easy, CURLPAUSE_CONT);
}

void CurlLoop::start(std::shared_ptr<CurlTransfer> transfer) {
  CURL* easy = acquire_handle();
  if (easy == nullptr) return transfer->end_with(error_of(Code::internal, "curl has no handle"));
  CurlTransfer* const key = transfer.get();
  active_.emplace(key, Active{transfer, easy});
  auto attached = transfer->attach(easy);
  if (attached && curl_multi_add_handle(multi_, easy) != CURLM_OK) {
    attached = fail(Code::internal, "curl refused the transfer");
  }
  if (attached) return;
  release(key);
  transfer->end_with(std::move(attached.error()));
}

void CurlLoop::collect_ended() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // The message dies with the handle's removal.
    const CURLcode code = message->data.result;
    CURL* const easy = message->easy_handle;
    char* self = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
    const auto found = active_.find(reinterpret_cast<CurlTransfer*>(self));
    if (found == active_.end()) continue;
    const auto transfer = found->second.transfer;
    transfer->end(easy, code);
    release(transfer.get());
  }
}

void CurlLoop::release(CurlTransfer* transfer) {
  const auto found = active_.find(transfer);
  CURL* const easy = found->second.easy;
  curl_multi_remove_handle(multi_, easy);
  if (idle_handles_.size() < kMaxIdleHandles) {
    curl_easy_reset(easy);
    idle_handles_.push_back(easy);
  } else {
    curl_easy_cleanup(easy);
  }
  active_.erase(found);
}

void* CurlLoop::acquire_handle() {
  if (idle_handles_.empty()) return curl_easy_init();
  void* const easy = idle_handles_.back();
  idle_handles_.pop_back();
  return easy;
}

}  // namespace berth::net
