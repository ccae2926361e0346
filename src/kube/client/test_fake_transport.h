// For tests: a Transport that answers from a script, and Tasks whose clock jumps over every wait.
// Both are used by one thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/context.h"
#include "net/transport.h"

namespace berth::kube::testing {

// A wait nobody notifies ends at once, and the clock has moved to its end.
class JumpingTasks final : public Tasks {
 public:
  Instant now() override { return now_; }
  WallTime wall_time() override { return wall_start_ + (now_ - Instant{}); }
  std::unique_ptr<Signal> signal() override { return std::make_unique<Flag>(); }
  bool wait(Signal& signal, Instant until, std::stop_token stop) override {
    if (std::exchange(static_cast<Flag&>(signal).raised, false)) return true;
    if (!stop.stop_requested()) {
      pauses.push_back(until - now_);
      now_ = std::max(now_, until);
      if (on_pause) on_pause();
    }
    return false;
  }
  std::unique_ptr<Task> spawn(std::string, std::function<void(std::stop_token)>) override {
    return nullptr;
  }

  void advance(Duration span) { now_ += span; }

  std::vector<Duration> pauses;
  std::function<void()> on_pause;

 private:
  struct Flag final : Signal {
    void notify() override { raised = true; }
    bool raised = false;
  };

  Instant now_{std::chrono::hours{1}};
  WallTime wall_start_{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2}};
};

class FakeStream final : public net::Stream {
 public:
  explicit FakeStream(net::Response response) : response_(std::move(response)) {}
  int status() const override { return response_.status; }
  const net::Headers& headers() const override { return response_.headers; }
  Result<std::optional<std::string>> read(const Context&) override {
    if (response_.body.empty()) return std::nullopt;
    return std::exchange(response_.body, {});
  }

 private:
  net::Response response_;
};

// Gives the answers in their order and keeps the requests. Past the end of the script the transport
// is `unavailable`.
class FakeTransport final : public net::Transport {
 public:
  FakeTransport& answer(int status, std::string body = "{}", net::Headers headers = {}) {
    script_.push_back(net::Response{status, std::move(headers), std::move(body)});
    return *this;
  }
  FakeTransport& fail_with(Code code) {
    script_.push_back(fail(Error{.code = code, .message = "scripted"}));
    return *this;
  }

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    requests.push_back(request);
    deadlines.push_back(context.deadline);
    if (script_.empty()) return fail(Code::unavailable, "the script is over");
    Result<net::Response> next = std::move(script_.front());
    script_.pop_front();
    return next;
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    auto answer = call(context, request);
    if (!answer) return pass(answer);
    return std::make_unique<FakeStream>(*std::move(answer));
  }

  bool done() const { return script_.empty(); }

  std::vector<net::Request> requests;
  std::vector<Instant> deadlines;

 private:
  std::deque<Result<net::Response>> script_;
};

}  // namespace berth::kube::testing
