#include "sim/world/sim_transport.h"

namespace berth::world {
namespace {

constexpr Duration kNoDelay{};

bool is_write(const std::string& method) { return method != "GET" && method != "HEAD"; }

// Path and query of an absolute URL.
std::string target_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t path = scheme == std::string::npos ? 0 : url.find('/', scheme + 3);
  return path == std::string::npos ? "/" : url.substr(path);
}

Failure process_ended() { return fail(Code::stopped, "the process has ended"); }

// What the pipe of a reply holds now.
std::string drain(net::Reply& reply) {
  if (!reply.stream) return std::move(reply.body);
  std::string all;
  for (;;) {
    const net::BytePipe::Read read = reply.stream->read();
    all += read.bytes;
    if (read.bytes.empty() || read.ended) return all;
  }
}

// The body of a list (there at once) or of a watch (as it comes).
class SimStream final : public net::Stream {
 public:
  SimStream(sim::Process& process, net::Reply reply, const LinkOptions& link, Random random)
      : process_(process),
        reply_(std::move(reply)),
        link_(link),
        random_(random),
        readable_(process.signal()) {
    if (reply_.stream) reply_.stream->on_readable([this] { readable_->notify(); });
  }
  ~SimStream() override {
    if (!reply_.stream) return;
    reply_.stream->on_readable({});
    reply_.stream->abandon();
  }

  int status() const override { return reply_.status; }
  const net::Headers& headers() const override { return reply_.headers; }

  Result<std::optional<std::string>> read(const Context& context) override {
    if (!process_.alive()) return process_ended();
    if (broken_) return fail(Code::unavailable, "the connection broke");
    if (!reply_.stream) {
      if (std::exchange(body_read_, true)) return std::nullopt;
      return arrive(context, std::move(reply_.body));
    }
    for (;;) {
      net::BytePipe::Read read = reply_.stream->read();
      if (!read.bytes.empty()) return arrive(context, std::move(read.bytes));
      if (read.error) return fail(*read.error);
      if (read.ended) return std::nullopt;
      if (context.expired()) return fail(context.end_error());
      (void)process_.wait(*readable_, context.deadline, context.stop);
      if (!process_.alive()) return process_ended();
    }
  }

 private:
  Result<std::optional<std::string>> arrive(const Context& context, std::string bytes) {
    if (reply_.stream && link_.max_watch_delay > kNoDelay) {
      const auto bound = static_cast<std::uint64_t>(link_.max_watch_delay.count()) + 1;
      const Duration late{static_cast<Duration::rep>(random_.below(bound))};
      if (!sleep_for(process_, late, context.stop)) return fail(Code::stopped, "stopping");
    }
    if (!process_.alive()) return process_ended();
    if (link_.cut_stream_chance > 0 && random_.chance(link_.cut_stream_chance)) {
      broken_ = true;
      bytes.resize(random_.below(bytes.size() + 1));
      if (bytes.empty()) return fail(Code::unavailable, "the connection broke");
    }
    return bytes;
  }

  sim::Process& process_;
  net::Reply reply_;
  const LinkOptions& link_;
  Random random_;
  std::unique_ptr<Signal> readable_;
  bool body_read_ = false;
  bool broken_ = false;
};

}  // namespace

Result<sim::kube::Answer> SimTransport::exchange(const Context& context,
                                                 const net::Request& request) {
  if (context.expired()) return fail(context.end_error());
  net::Request sent = request;
  sent.url = target_of(request.url);
  const std::string label = request.method + " " + sent.url;
  const auto effect = is_write(request.method) ? sim::Effect::write : sim::Effect::read;
  const auto answered = process_.signal();
  std::shared_ptr<ServerGateway::Exchange> exchange;
  Result<> arrived = sim::seam(process_, label, effect, [&] {
    exchange = gateway_.accept(std::move(sent));
    exchange->wake = answered.get();
  });
  if (arrived) arrived = await(context, *exchange, *answered);
  if (exchange) exchange->wake = nullptr;  // from here on nobody is told
  if (!arrived) return pass(arrived);
  if (link_.lost_answer_chance > 0 && random_.chance(link_.lost_answer_chance)) {
    return fail(Code::unavailable, "the connection broke before the answer");
  }
  return std::move(exchange->answer);
}

Result<> SimTransport::await(const Context& context, ServerGateway::Exchange& exchange,
                             Signal& answered) {
  while (!exchange.done) {
    if (!process_.alive()) return process_ended();
    if (context.expired()) return fail(context.end_error());
    (void)process_.wait(answered, context.deadline, context.stop);
  }
  if (exchange.answer.delay > kNoDelay) {
    const auto nobody_notifies = process_.signal();
    const Instant there = saturating_add(process_.now(), exchange.answer.delay);
    (void)process_.wait(*nobody_notifies, std::min(there, context.deadline), context.stop);
  }
  if (!process_.alive()) return process_ended();
  if (context.expired()) return fail(context.end_error());
  return {};
}

Result<net::Response> SimTransport::call(const Context& context, const net::Request& request) {
  Result<sim::kube::Answer> answer = exchange(context, request);
  if (!answer) return pass(answer);
  net::Reply& reply = answer->reply;
  std::string body = drain(reply);
  return net::Response{
      .status = reply.status, .headers = std::move(reply.headers), .body = std::move(body)};
}

Result<std::unique_ptr<net::Stream>> SimTransport::open(const Context& context,
                                                        const net::Request& request) {
  Result<sim::kube::Answer> answer = exchange(context, request);
  if (!answer) return pass(answer);
  return std::make_unique<SimStream>(process_, std::move(answer->reply), link_, random_.fork());
}

}  // namespace berth::world
