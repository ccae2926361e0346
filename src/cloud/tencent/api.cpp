#include "cloud/tencent/api.h"

#include <algorithm>

#include "cloud/tencent/wire_format.h"

namespace berth::cloud::tencent {
namespace {

using std::chrono::milliseconds;

// Of one call that the cloud refused for the moment.
constexpr int kMostTries = 6;
constexpr Duration kFirstPause = milliseconds{100};  // while another write is under way; doubled
// Of a task, where the context has no deadline.
constexpr Duration kLongestTask = std::chrono::minutes{5};
constexpr std::string_view kTaskAction = "DescribeTaskStatus";
// What is known of tasks of other kinds is better than nothing.
constexpr std::string_view kAnyAction = "";

// What the transport could not bring to its end.
Error unanswered(Error error, Effect effect, std::string_view action) {
  error.object = action;
  if (effect == Effect::write && error.code != Code::stopped && error.code != Code::invalid)
    error.code = Code::timeout;
  return error;
}

// What was never sent has no effect, whatever ran out.
Error unsent(Error error, Effect effect) {
  if (effect == Effect::write && error.code == Code::timeout) error.code = Code::unavailable;
  return error;
}

// These are not tasks at the cloud by its own words, but at times they are: it is asked, and knows
// nothing of them when they were none.
bool may_be_no_task(std::string_view action) {
  return action == "BatchRegisterTargets" || action == "BatchDeregisterTargets";
}

// `code` is the cloud's; none: it was not heard.
SentRequest::End end_of(const Result<Answer>& result, const std::string& code) {
  using enum SentRequest::End;
  if (result) return answered;
  if (is_busy(code)) return locked;
  if (result.error().code == Code::throttled) return limited;
  if (!code.empty()) return refused;
  return result.error().code == Code::timeout ? timed_out : lost;
}

// Of a question for a task: asking again would not help.
bool is_final(const Error& error) {
  return error.code == Code::forbidden || error.code == Code::invalid ||
         error.code == Code::not_found;
}

// The write was accepted: whoever may not ask what became of it does not undo it.
Failure hidden_task(std::string_view action, Error error, const std::string& request_id) {
  error.code = Code::timeout;
  error.message = fmt::format("what became of {} is not told: {}", action, error.message);
  error.request_id = request_id;
  return fail(std::move(error));
}

// It is the cloud that said so, not somebody on the way to it.
bool is_unknown_task(const Error& error) {
  return error.code != Code::forbidden && !error.request_id.empty();
}

Result<> unknown_task(std::string_view action, const Error& error, const std::string& request_id) {
  if (!is_unknown_task(error)) return hidden_task(action, error, request_id);
  if (may_be_no_task(action) && !request_id.empty()) return {};
  return fail(failure_of(error.message, request_id));
}

Failure unfinished(const Context& bounded, std::string_view action, const std::string& request_id) {
  Error error = bounded.end_error();
  error.message = fmt::format("the task of {} did not end in time", action);
  error.request_id = request_id;
  return fail(std::move(error));
}

}  // namespace

struct Api::Exchange {
  const Caller& caller;
  std::string_view action;
  const wire::Object& body;
  Effect effect;
};

// An answer, or why there is none.
struct Api::Reply {
  Result<Answer> result;
  std::string code{};  // the cloud's
  std::string date{};
  std::chrono::seconds ahead{};  // of the clock that it was signed by
};

Api::Api(net::Transport& transport, CredentialSource& credentials, Options options, OnSent on_sent)
    : transport_(transport),
      credentials_(credentials),
      options_(std::move(options)),
      on_sent_(std::move(on_sent)),
      budgets_(options_.calls_per_second) {}

Result<Answer> Api::read(const Context& context, const Caller& caller, std::string_view action,
                         const wire::Object& body) {
  return call(context, {caller, action, body, Effect::read});
}

Result<Answer> Api::write(const Context& context, const Caller& caller, std::string_view action,
                          const wire::Object& body) {
  Result<Answer> answer = call(context, {caller, action, body, Effect::write});
  if (!answer) return answer;
  if (Result<> done = await_task(context, caller, action, answer->request_id); !done)
    return pass(done);
  return answer;
}

Result<Answer> Api::call(const Context& context, const Exchange& exchange) {
  Duration pause = kFirstPause;
  for (int tries = 1;; ++tries) {
    Reply reply = send(context, exchange);
    if (reply.result || tries == kMostTries || context.expired()) return std::move(reply.result);
    if (is_clock_error(reply.code)) {
      if (!clock_.correct(reply.date, context.tasks.wall_time(), reply.ahead))
        return std::move(reply.result);
    } else if (is_busy(reply.code)) {
      const Instant now = context.tasks.now();
      (void)sleep_for(context.tasks, std::min(now + pause, context.deadline) - now, context.stop);
      if (context.expired()) return std::move(reply.result);
      pause *= 2;
    } else if (reply.code.empty() || reply.result.error().code != Code::throttled) {
      return std::move(reply.result);
    }
  }
}

Api::Reply Api::send(const Context& context, const Exchange& exchange) {
  const Result<crypto::CloudCredentials> signer = signer_of(context, exchange.caller.credential);
  if (!signer) return {.result = fail(unsent(signer.error(), exchange.effect))};
  lb::Budget& pays = budget(exchange.caller, exchange.action);
  if (Result<> paid = lb::pay(context, pays); !paid)
    return {.result = fail(unsent(std::move(paid.error()), exchange.effect))};
  const std::chrono::seconds ahead = clock_.ahead();
  const net::Request request =
      signed_request(options_, *signer, exchange.caller.region, exchange.action,
                     wire::to_json(exchange.body), context.tasks.wall_time() + ahead);
  const Instant start = context.tasks.now();
  const Result<net::Response> response = transport_.call(context, request);
  const Instant end = context.tasks.now();
  Reply reply = read_reply(response, exchange, pays);
  reply.ahead = ahead;
  if (response) lb::tell(pays, end, reply.result);
  if (on_sent_) on_sent_({exchange.action, end_of(reply.result, reply.code), end - start});
  return reply;
}

Api::Reply Api::read_reply(const Result<net::Response>& response, const Exchange& exchange,
                           lb::Budget& pays) const {
  if (!response)
    return {.result = fail(unanswered(response.error(), exchange.effect, exchange.action))};
  Reply reply{.result = Answer{}, .date = std::string(response->headers.get("Date"))};
  auto opened = open_envelope(*response);
  if (opened) {
    reply.result = Answer{std::move(opened->response), std::move(opened->request_id)};
  } else {
    reply.code = opened.error().code;
    if (const std::uint32_t limit = told_limit(opened.error().message)) pays.set_limit(limit);
    reply.result = fail(error_from(opened.error(), exchange.effect, exchange.action));
  }
  return reply;
}

Result<crypto::CloudCredentials> Api::signer_of(const Context& context,
                                                const model::CredentialId& credential) {
  if (context.expired()) return fail(context.end_error());
  Result<crypto::CloudCredentials> out = credentials_.credentials(context, credential);
  if (!out) return out;
  if (Result<> good = check_credentials(*out); !good) return pass(good);
  const MutexLock lock(mu_);
  std::string& known = accounts_[credential];
  if (known != out->id) known = out->id;
  return out;
}

std::string Api::signed_as(const model::CredentialId& credential) const {
  const MutexLock lock(mu_);
  const auto it = accounts_.find(credential);
  return it == accounts_.end() ? std::string() : it->second;
}

Result<> Api::await_task(const Context& context, const Caller& caller, std::string_view action,
                         const std::string& request_id) {
  const Context bounded = context.within(kLongestTask);
  const Instant start = context.tasks.now();
  const auto sleep_until = [&](Instant when) {
    const Duration span = std::min(when, bounded.deadline) - context.tasks.now();
    (void)sleep_for(context.tasks, std::max(span, Duration{}), context.stop);
  };
  const Awaited::Task task(awaited_, budget(caller, kTaskAction), start);
  for (Instant now = start; !bounded.expired(); now = context.tasks.now()) {
    const Instant when = task.first_question(pace(action), now);
    if (when <= now) break;
    sleep_until(when);
  }
  Duration under_way_at{};
  Duration at{};
  bool was_unknown = false;
  for (int question = 1;; ++question) {
    sleep_until(start + at);
    if (bounded.expired()) return unfinished(bounded, action, request_id);
    const Duration asked_at = context.tasks.now() - start;
    // Who waits for the budget learns nothing of the task.
    const bool is_on_time =
        free_at(caller, kTaskAction, 1, context.tasks.now()) <= context.tasks.now();
    const Result<Answer> answer = read(bounded, caller, kTaskAction, {{"TaskId", request_id}});
    if (!answer && is_final(answer.error())) {
      // One that was just accepted may not be known everywhere yet.
      const bool ask_again = is_unknown_task(answer.error()) && !was_unknown;
      if (!ask_again) return unknown_task(action, answer.error(), request_id);
      was_unknown = true;
    }
    const TaskStatus status = answer ? decode_task(answer->response) : TaskStatus{};
    if (status.state == TaskState::under_way) {
      if (answer) under_way_at = asked_at;
      at = std::max(asked_at + pace(action).gap(question), context.tasks.now() - start);
      continue;
    }
    learn(action, under_way_at, is_on_time ? std::optional(asked_at) : std::nullopt,
          context.tasks.now());
    if (status.state == TaskState::done) return {};
    return fail(task_failure_of(action, status.message, request_id));
  }
}

Pace Api::pace(std::string_view action) const {
  const MutexLock lock(mu_);
  for (const std::string_view name : {action, kAnyAction})
    if (const auto it = paces_.find(name); it != paces_.end()) return it->second;
  return {};
}

void Api::learn(std::string_view action, Duration under_way_at, std::optional<Duration> over_at,
                Instant now) {
  const MutexLock lock(mu_);
  Pace& any = paces_[std::string(kAnyAction)];
  Pace& own = paces_.try_emplace(std::string(action), any).first->second;
  for (Pace* const pace : {&own, &any}) {
    if (!over_at) {
      pace->was_longer_than(under_way_at);
    } else if (under_way_at == Duration{}) {
      pace->was_over_at_first(*over_at, now);
    } else {
      pace->was_over_between(under_way_at, *over_at);
    }
  }
}

Instant Api::free_at(const Caller& caller, std::string_view action, std::size_t calls,
                     Instant now) const {
  return budget(caller, action).free_at(now, calls);
}

lb::Budget& Api::budget(const Caller& caller, std::string_view action) const {
  std::string account = signed_as(caller.credential);
  if (account.empty()) account = caller.credential.value;
  return budgets_.of({.provider = model::Provider::tencent,
                      .account = std::move(account),
                      .region = caller.region,
                      .action = std::string(action)});
}

}  // namespace berth::cloud::tencent
