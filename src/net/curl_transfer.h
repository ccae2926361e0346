// One exchange on its way through curl: what to send, where the answer goes, how it ended.
//
// Private to net. Shared by the task that waits for it and the loop that drives it: the loop writes
// the head until `head_arrived()` and the rest until `ended()`, and the task reads only after.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/tasks.h"
#include "net/byte_pipe.h"
#include "net/curl_transport.h"
#include "net/url.h"

struct curl_slist;

namespace berth::net {

class CurlTransfer {
 public:
  enum class Kind { call, stream };

  CurlTransfer(Kind kind, Request request, const CurlTransportOptions& options,
               std::unique_ptr<Signal> changed);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  // The waiting task. The signal is notified when the head or a piece of a stream has arrived, and
  // at the end.
  Signal& changed() { return *changed_; }
  bool head_arrived() const { return head_arrived_; }
  bool ended() const { return ended_; }
  Response& response() { return response_; }              // the body: of a call only
  const std::optional<Error>& error() { return error_; }  // after `ended()`
  BytePipe& pipe() { return pipe_; }                      // of a stream
  // True when curl waits for room in the pipe: the caller made some, and must have it resumed.
  bool take_pause() { return paused_.exchange(false); }
  // "GET https://host/path", for messages. Without the query, which may carry tokens.
  const std::string& name() const { return name_; }

  // The loop, on its thread.
  Result<> attach(void* easy);          // sets every option on a handle that was reset
  void end(void* easy, int curl_code);  // maps curl's verdict
  void end_with(std::optional<Error> error);
  // Wakes the reader of a stream if something came since. Curl hands out 16 KiB at a time; one
  // wake-up for all that a socket had is several times cheaper.
  void announce();

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_send(char* buffer, std::size_t size, std::size_t count, void* self);

  void take_header_line(std::string_view line);
  std::size_t take_for_call(std::string_view bytes);
  std::size_t take_for_stream(std::string_view bytes);
  Result<> add_headers();
  bool add_header(const std::string& line);
  Error verdict(void* easy, int curl_code) const;

  const Kind kind_;
  const Request request_;
  const CurlTransportOptions options_;
  const std::unique_ptr<Signal> changed_;
  const Result<Url> url_;
  const std::string name_;

  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  std::array<char, 256> error_text_{};  // CURL_ERROR_SIZE
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  bool too_large_ = false;
  bool unannounced_ = false;

  std::atomic<bool> head_arrived_ = false;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> paused_ = false;
  Response response_;
  std::optional<Error> error_;
  BytePipe pipe_;
};

}  // namespace berth::net
