#include "kube/client/exchange.h"

#include "base/encoding.h"
#include "kube/client/retry.h"
#include "kube/client/status.h"
#include "net/url.h"

namespace berth::kube {
namespace {

constexpr int kUnauthorized = 401;

std::string host_of(const std::string& server) {
  const auto url = net::parse_url(server);
  return url ? url->authority() : server;
}

// As controller-runtime cuts them, so that its dashboards fit.
const metrics::Buckets& request_buckets() {
  static const metrics::Buckets kBuckets{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
  return kBuckets;
}

Attempt describe(const Call& call, const Result<net::Response>& answer, int made_before) {
  Attempt out{.is_read = call.method == "GET", .made_before = made_before};
  if (!answer) {
    out.code = answer.error().code;
  } else if (answer->status >= 300) {
    const Error error = error_from_response(answer->status, answer->headers, answer->body);
    out.status = answer->status;
    out.code = error.code;
    out.retry_after = error.retry_after;
  } else {
    out.status = answer->status;
  }
  return out;
}

}  // namespace

Exchange::Exchange(net::Transport& transport, std::shared_ptr<const ClusterConfig> cluster,
                   ClientOptions options)
    : transport_(transport),
      cluster_(std::move(cluster)),
      options_(std::move(options)),
      host_(host_of(cluster_->server)) {}

Result<net::Response> Exchange::call(const Context& caller, const Call& call) {
  const Context context = caller.within(options_.call_timeout);
  bool may_log_in_again = true;
  for (int made = 0;; ++made) {
    auto answer = attempt(context, call, may_log_in_again);
    const auto pause = pause_before_retry(describe(call, answer, made), options_.max_retries);
    if (!pause) return answer;
    // A wait that the deadline would cut short helps nobody: the caller gets what we know.
    if (saturating_add(context.tasks.now(), *pause) >= context.deadline) return answer;
    if (!sleep_for(context.tasks, *pause, context.stop)) return fail(context.end_error());
  }
}

Result<net::Response> Exchange::attempt(const Context& context, const Call& call,
                                        bool& may_log_in_again) {
  for (;;) {
    auto who = identity(context);
    if (!who) return pass(who);
    const Instant start = context.tasks.now();
    auto answer = transport_.call(context, request(call, *who));
    count(call.method, answer ? answer->status : 0, context.tasks.now() - start);
    if (!answer) return answer;
    warnings_.note(answer->headers, context.fields);
    if (answer->status != kUnauthorized) return answer;
    cluster_->credentials->rejected(*who);
    if (!std::exchange(may_log_in_again, false)) return answer;
  }
}

Result<std::unique_ptr<net::Stream>> Exchange::open(const Context& caller, const Call& call) {
  const Context context = caller.within(options_.call_timeout);
  for (bool may_log_in_again = true;;) {
    auto who = identity(context);
    if (!who) return pass(who);
    const Instant start = context.tasks.now();
    auto stream = transport_.open(context, request(call, *who));
    count(call.method, stream ? (*stream)->status() : 0, context.tasks.now() - start);
    if (!stream) return stream;
    warnings_.note((*stream)->headers(), context.fields);
    if ((*stream)->status() != kUnauthorized) return stream;
    cluster_->credentials->rejected(*who);
    if (!std::exchange(may_log_in_again, false)) return stream;
  }
}

Result<Identity> Exchange::identity(const Context& context) const {
  auto who = cluster_->credentials->identity(context);
  if (who) return who;
  // A token file that is "not found" must not read as an object that is.
  const Code code = who.error().code;
  if (code == Code::stopped || code == Code::timeout || code == Code::unauthorized) return who;
  return fail(
      error_of(Code::unauthorized, "no credentials for {}", host_).because(std::move(who.error())));
}

net::Request Exchange::request(const Call& call, const Identity& identity) const {
  net::Request out{.method = call.method,
                   .url = cluster_->server + call.target,
                   .body = call.body,
                   .tls = identity.tls,
                   .proxy = cluster_->proxy_url};
  out.headers.set("Accept", call.accept);
  out.headers.set("User-Agent", options_.user_agent);
  if (!call.content_type.empty()) out.headers.set("Content-Type", call.content_type);
  if (!identity.bearer_token.empty()) {
    out.headers.set("Authorization", "Bearer " + identity.bearer_token.reveal());
  } else if (!identity.basic_user.empty()) {
    const Secret pair(identity.basic_user + ":" + identity.basic_password.reveal());
    out.headers.set("Authorization", "Basic " + base64_encode(pair.reveal()));
  }
  return out;
}

void Exchange::count(const std::string& method, int status, Duration took) {
  if (options_.registry == nullptr) return;
  const MutexLock lock(mu_);
  auto series = series_.find({method, status});
  if (series == series_.end()) {
    Series added{.requests = options_.registry->counter(
                     "rest_client_requests_total", "Requests to the API server by status.",
                     {{"code", status == 0 ? "<error>" : std::to_string(status)},
                      {"method", method},
                      {"host", host_}}),
                 .seconds = options_.registry->histogram(
                     "rest_client_request_duration_seconds", "Time of requests to the API server.",
                     {{"verb", method}, {"host", host_}}, request_buckets())};
    series = series_.emplace(std::pair(method, status), added).first;
  }
  series->second.requests.increment();
  series->second.seconds.observe(to_seconds(took));
}

}  // namespace berth::kube
