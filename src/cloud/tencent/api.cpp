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

// What the transport could not bring to its end.
Error unanswered(Error error, Effect effect) {
  if (effect == Effect::write && error.code != Code::stopped && error.code != Code::invalid)
    error.code = Code::timeout;
  return error;
}

// These are not tasks at the cloud by its own words, but at times they are: it is asked, and knows
// nothing of them when they were none.
bool may_be_no_task(std::string_view action) {
  return action == "BatchRegisterTargets" || action == "BatchDeregisterTargets";
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
};

Api::Api(net::Transport& transport, CredentialSource& credentials, Options options)
    : transport_(transport), credentials_(credentials), options_(std::move(options)) {}

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
      if (!clock_.correct(reply.date, context.tasks.wall_time())) return std::move(reply.result);
    } else if (is_busy(reply.code)) {
      (void)sleep_for(context.tasks, pause, context.stop);
      pause *= 2;
    } else if (reply.code.empty() || reply.result.error().code != Code::throttled) {
      return std::move(reply.result);
    }
  }
}

Api::Reply Api::send(const Context& context, const Exchange& exchange) {
  lb::Budget& pays = budget(exchange.caller, exchange.action);
  if (Result<> paid = lb::pay(context, pays); !paid) return {.result = pass(paid)};
  Result<net::Response> response = post(context, exchange);
  if (!response) return {.result = pass(response)};
  Reply reply{.result = Answer{}, .date = std::string(response->headers.get("Date"))};
  auto opened = open_envelope(*response);
  if (opened) {
    reply.result = Answer{std::move(opened->response), std::move(opened->request_id)};
  } else {
    reply.code = opened.error().code;
    reply.result = fail(error_from(opened.error(), exchange.effect, exchange.action));
  }
  lb::tell(pays, context.tasks.now(), reply.result);
  return reply;
}

Result<net::Response> Api::post(const Context& context, const Exchange& exchange) {
  const Result<crypto::CloudCredentials> credentials =
      credentials_.credentials(context, exchange.caller.credential);
  if (!credentials) return fail(credentials.error());
  if (Result<> good = check_credentials(*credentials); !good) return pass(good);
  remember_account(exchange.caller.credential, credentials->id);
  Result<net::Response> response = transport_.call(
      context, signed_request(options_, *credentials, exchange.caller.region, exchange.action,
                              wire::to_json(exchange.body), clock_.at(context.tasks.wall_time())));
  if (!response) {
    return fail(unanswered(std::move(response.error()), exchange.effect)
                    .about(std::string(exchange.action)));
  }
  return response;
}

Result<> Api::await_task(const Context& context, const Caller& caller, std::string_view action,
                         const std::string& request_id) {
  const Context bounded = context.within(kLongestTask);
  const Instant start = context.tasks.now();
  const auto too_late = [&]() -> Result<> {
    Error error = bounded.end_error();
    error.message = fmt::format("the task of {} did not end in time", action);
    error.request_id = request_id;
    return fail(std::move(error));
  };
  Duration under_way_at{};
  Duration at = [&] {
    const MutexLock lock(mu_);
    return paces_[std::string(action)].first();
  }();
  for (;; at = std::max(Pace::next(at), context.tasks.now() - start)) {
    const Instant when = std::min(start + at, bounded.deadline);
    (void)sleep_for(context.tasks, std::max(when - context.tasks.now(), Duration{}), context.stop);
    if (bounded.expired()) return too_late();
    const Result<Answer> answer = read(bounded, caller, kTaskAction, {{"TaskId", request_id}});
    if (!answer) {
      if (answer.error().code == Code::forbidden) return fail(answer.error());
      const bool is_unknown =
          answer.error().code == Code::invalid || answer.error().code == Code::not_found;
      if (is_unknown && may_be_no_task(action)) return {};
      if (is_unknown) return fail(failure_of(answer.error().message, request_id));
      continue;
    }
    const TaskStatus status = decode_task(answer->response);
    if (status.state == TaskState::under_way) {
      under_way_at = at;
      continue;
    }
    const MutexLock lock(mu_);
    paces_[std::string(action)].learn(under_way_at, at);
    if (status.state == TaskState::done) return {};
    return fail(failure_of(status.message, request_id).about(std::string(action)));
  }
}

Instant Api::free_at(const Caller& caller, std::string_view action, std::size_t calls,
                     Instant now) const {
  return budget(caller, action).free_at(now, calls);
}

lb::Budget& Api::budget(const Caller& caller, std::string_view action) const {
  std::string account = caller.credential.value;
  {
    const MutexLock lock(mu_);
    const auto it = accounts_.find(caller.credential);
    if (it != accounts_.end()) account = it->second;
  }
  return budgets_.of({.provider = model::Provider::tencent,
                      .account = std::move(account),
                      .region = caller.region,
                      .action = std::string(action)});
}

void Api::remember_account(const model::CredentialId& credential, const std::string& secret_id) {
  const MutexLock lock(mu_);
  std::string& known = accounts_[credential];
  if (known != secret_id) known = secret_id;
}

}  // namespace berth::cloud::tencent
