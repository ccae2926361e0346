// For tests: a Transport that answers from a script, on any Tasks. One thread at a time.
//
// Each `open` takes the next step; without one it answers 503. A stream gives its chunks, then ends
// as the step says: well, broken, or not at all, in which case the test may feed it further.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/transport.h"

namespace berth::kube {

struct ScriptedAnswer {
  int status = 200;
  std::vector<std::string> chunks{};
  enum class End { well, broken, open } end = End::well;
  std::optional<Error> refused{};  // no answer at all
  std::string content_type = "application/json";
  Duration delay{};  // before the headers
};

class ScriptedTransport final : public net::Transport {
 public:
  explicit ScriptedTransport(Tasks& tasks) : tasks_(tasks) {}

  void push(ScriptedAnswer answer) { script_.push_back(std::move(answer)); }
  // To the stream opened last; it must be an open one.
  void feed(std::string chunk) {
    last_->chunks.push_back(std::move(chunk));
    last_->more->notify();
  }
  void end(ScriptedAnswer::End how) {
    last_->end = how;
    last_->more->notify();
  }
  // Path and query of each open, in order.
  const std::vector<std::string>& opened() const { return opened_; }
  const std::vector<std::string>& accepts() const { return accepts_; }
  const std::vector<Instant>& opened_at() const { return opened_at_; }
  bool used_up() const { return script_.empty(); }

  Result<net::Response> call(const Context&, const net::Request&) override {
    return fail(Code::unsupported, "not in the script");
  }

  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    if (context.expired()) return fail(context.end_error());
    opened_.push_back(request.url.substr(request.url.find("/api")));
    accepts_.emplace_back(request.headers.get("Accept"));
    opened_at_.push_back(tasks_.now());
    ScriptedAnswer answer{.status = 503};
    if (!script_.empty()) {
      answer = std::move(script_.front());
      script_.pop_front();
    }
    if (answer.delay > Duration{} && !sleep_for(tasks_, answer.delay, context.stop)) {
      return fail(context.end_error());
    }
    if (answer.refused) return fail(*answer.refused);
    last_ = std::make_shared<Body>();
    last_->chunks.assign(answer.chunks.begin(), answer.chunks.end());
    last_->end = answer.end;
    last_->more = tasks_.signal();
    return std::make_unique<ScriptedStream>(last_, answer.status, answer.content_type);
  }

 private:
  struct Body {
    std::deque<std::string> chunks;
    ScriptedAnswer::End end = ScriptedAnswer::End::well;
    std::unique_ptr<Signal> more;
  };

  class ScriptedStream final : public net::Stream {
   public:
    ScriptedStream(std::shared_ptr<Body> body, int status, const std::string& content_type)
        : body_(std::move(body)), status_(status), headers_{{"Content-Type", content_type}} {}
    int status() const override { return status_; }
    const net::Headers& headers() const override { return headers_; }
    Result<std::optional<std::string>> read(const Context& context) override {
      for (;;) {
        if (context.expired()) return fail(context.end_error());
        if (!body_->chunks.empty()) {
          std::string chunk = std::move(body_->chunks.front());
          body_->chunks.pop_front();
          return std::optional(std::move(chunk));
        }
        if (body_->end == ScriptedAnswer::End::well) return std::optional<std::string>();
        if (body_->end == ScriptedAnswer::End::broken)
          return fail(Code::unavailable, "the connection was reset");
        (void)context.tasks.wait(*body_->more, context.deadline, context.stop);
      }
    }

   private:
    std::shared_ptr<Body> body_;
    int status_;
    net::Headers headers_;
  };

  Tasks& tasks_;
  std::deque<ScriptedAnswer> script_;
  std::shared_ptr<Body> last_;
  std::vector<std::string> opened_;
  std::vector<std::string> accepts_;
  std::vector<Instant> opened_at_;
};

}  // namespace berth::kube
