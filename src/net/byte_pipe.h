// A bounded queue of byte chunks from one writer to one reader, without waiting on either side.
//
// The three places where bytes stream share it: responses that the curl loop receives, responses
// that our server sends (watches), and both ends of an in-process connection in simulation. Who
// wants to block does so on its own Signal, notified by the callback. Thread-safe; callbacks run on
// the thread of the other side, without a lock held.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"

namespace berth::net {

class BytePipe {
 public:
  explicit BytePipe(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Writer. False: the reader has gone, or the chunk does not fit the bound (nothing was taken). An
  // empty pipe takes a chunk of any size, so that no single message can be too large to pass.
  bool write(std::string chunk);
  // The same for bytes that the writer keeps in a buffer of its own: one copy, no temporary.
  bool append(std::string_view bytes);
  // Writer: no more will come. An error says the stream broke.
  void close(std::optional<Error> error = std::nullopt);
  bool abandoned() const;
  bool full() const;
  // Called when the reader took something or went away. Set it before the write whose refusal shall
  // be followed by a call. A call may still be under way when another callback is set.
  void on_space(std::function<void()> callback);

  // Reader.
  struct Read {
    std::string bytes{};           // everything that was waiting
    bool ended = false;            // nothing will follow `bytes`
    std::optional<Error> error{};  // with `ended`: why, unless it ended well
  };
  Read read();
  // Reader: not interested any more; writes fail from now on.
  void abandon();
  // Called when something was written or the writer closed. Set it, then read once: what was there
  // before is not announced.
  void on_readable(std::function<void()> callback);

 private:
  using Callback = std::shared_ptr<const std::function<void()>>;

  bool take(std::string_view bytes, std::string* owned);
  static void call(const Callback& callback);

  const std::size_t max_bytes_;
  mutable Mutex mu_;
  std::string waiting_ GUARDED_BY(mu_);
  bool closed_ GUARDED_BY(mu_) = false;
  bool abandoned_ GUARDED_BY(mu_) = false;
  std::optional<Error> error_ GUARDED_BY(mu_);
  // Shared, so that one can be called without the lock while another is being set.
  Callback on_space_ GUARDED_BY(mu_);
  Callback on_readable_ GUARDED_BY(mu_);
};

}  // namespace berth::net
