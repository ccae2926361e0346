#include "net/byte_pipe.h"

#include <utility>

namespace berth::net {

bool BytePipe::write(std::string chunk) { return take(chunk, &chunk); }

bool BytePipe::append(std::string_view bytes) { return take(bytes, nullptr); }

bool BytePipe::take(std::string_view bytes, std::string* owned) {
  Callback readable;
  {
    const MutexLock lock(mu_);
    if (abandoned_ || closed_) return false;
    if (!waiting_.empty() && waiting_.size() + bytes.size() > max_bytes_) return false;
    if (bytes.empty()) return true;
    if (waiting_.empty() && owned != nullptr) {
      waiting_ = std::move(*owned);
    } else {
      waiting_.append(bytes);
    }
    readable = on_readable_;
  }
  call(readable);
  return true;
}

void BytePipe::close(std::optional<Error> error) {
  Callback readable;
  {
    const MutexLock lock(mu_);
    if (closed_) return;
    closed_ = true;
    error_ = std::move(error);
    readable = on_readable_;
  }
  call(readable);
}

bool BytePipe::abandoned() const {
  const MutexLock lock(mu_);
  return abandoned_;
}

bool BytePipe::full() const {
  const MutexLock lock(mu_);
  return waiting_.size() >= max_bytes_;
}

void BytePipe::on_space(std::function<void()> callback) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(callback));
  const MutexLock lock(mu_);
  on_space_.swap(shared);
}

BytePipe::Read BytePipe::read() {
  Read result;
  Callback space;
  {
    const MutexLock lock(mu_);
    result.bytes = std::exchange(waiting_, {});
    result.ended = closed_;
    if (closed_) result.error = error_;
    if (!result.bytes.empty()) space = on_space_;
  }
  call(space);
  return result;
}

void BytePipe::abandon() {
  Callback space;
  std::string dropped;
  {
    const MutexLock lock(mu_);
    if (abandoned_) return;
    abandoned_ = true;
    dropped.swap(waiting_);
    space = on_space_;
  }
  call(space);
}

void BytePipe::on_readable(std::function<void()> callback) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(callback));
  const MutexLock lock(mu_);
  on_readable_.swap(shared);
}

void BytePipe::call(const Callback& callback) {
  if (callback && *callback) (*callback)();
}

}  // namespace berth::net
