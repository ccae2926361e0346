// What the cloud's errors mean: one table from its codes and messages to our codes, with a hint
// where users have met the error before. Pure.
//
// The code says what is done next: `throttled` and `unavailable` again soon; `not_found`,
// `already_exists`, `conflict` and `timeout` after a look; `forbidden` and `exhausted` now and
// then, because somebody has to do something at the cloud; `invalid` and `unsupported` when
// something else is wished.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::cloud::tencent {

// A refusal as the cloud says it.
struct CloudError {
  std::string code{};  // "InvalidParameter.LBIdNotFound"
  std::string message{};
  std::string request_id{};
};

enum class Effect : std::uint8_t { read, write };

// Of a write, an internal error of the cloud is a `timeout`: nobody knows what it did. A permission
// that is missing is named by the action ("CreateListener").
Error error_from(const CloudError& refusal, Effect effect, std::string_view action);
// A failure that comes without a code: of a task, or of some listeners of a batch.
Error failure_of(std::string_view message, std::string_view request_id);

// The same of the task that the cloud made of a call.
Error task_failure_of(std::string_view action, std::string_view message,
                      std::string_view request_id);
bool is_of_task(const Error& error);

// The same of something that is half done: it must be looked at before anything is believed of it.
Error in_doubt(Error error);

// Of entries that were refused together with whoever is at fault, and not tried without it: they
// may be good. A task may have done some of them.
Error refused_together(Error error);

// Whether fewer entries of the batch may have been the cause, so that the others could succeed.
bool may_concern_some(const Error& error);
// It is the load balancer that is not there.
bool is_balancer_gone(const Error& error);

// How many calls a second the cloud says that it takes, when it refuses one more; 0: it does not.
std::uint32_t told_limit(std::string_view message);

// Another write is under way on the load balancer.
bool is_busy(std::string_view code);
// The signature's time is too far from the cloud's.
bool is_clock_error(std::string_view code);

}  // namespace berth::cloud::tencent
