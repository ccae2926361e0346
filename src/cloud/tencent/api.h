// Api: signed calls to the cloud's API, and tasks waited for.
//
// Every call pays its budget first (account, region, action) and tells it how it ended. A call that
// the cloud refuses for the moment (too many, another write under way, our clock is wrong) is made
// again a few times: nothing has happened then. Errors have the codes of lb/listeners.h and the
// cloud's request id. Calls block and obey the context; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/mutex.h"
#include "cloud/tencent/awaited.h"
#include "cloud/tencent/credentials.h"
#include "cloud/tencent/errors.h"
#include "cloud/tencent/options.h"
#include "cloud/tencent/pace.h"
#include "cloud/tencent/server_clock.h"
#include "lb/budget.h"
#include "net/transport.h"
#include "wire/value.h"

namespace berth::cloud::tencent {

// In whose name, and where.
struct Caller {
  model::CredentialId credential{};
  std::string region{};
};

// A request that went out, whatever came back: each try, each question for a task.
struct SentRequest {
  enum class End : std::uint8_t { answered, refused, limited, locked, timed_out, lost };
  std::string_view action{};
  End end = End::answered;
  Duration took{};  // on the way, without what it waited for before
};
// Called by whatever task sent it; it must not wait.
using OnSent = std::function<void(const SentRequest& request)>;

struct Answer {
  wire::Value response{};  // what the cloud calls Response
  std::string request_id{};
};

class Api {
 public:
  // Both outlive it.
  Api(net::Transport& transport, CredentialSource& credentials, Options options,
      OnSent on_sent = {});

  const Options& options() const { return options_; }
  // Somebody hears of every request.
  bool is_observed() const { return on_sent_ != nullptr; }

  Result<Answer> read(const Context& context, const Caller& caller, std::string_view action,
                      const wire::Object& body);
  // Returns when its task is over. `timeout`: nobody knows what became of it.
  Result<Answer> write(const Context& context, const Caller& caller, std::string_view action,
                       const wire::Object& body);

  // The SecretId that calls in this name were last signed with; empty: there was none.
  std::string signed_as(const model::CredentialId& credential) const;

  // When so many calls have room, as far as is known.
  Instant free_at(const Caller& caller, std::string_view action, std::size_t calls,
                  Instant now) const;

 private:
  struct Exchange;
  struct Reply;
  Result<Answer> call(const Context& context, const Exchange& exchange);
  Reply send(const Context& context, const Exchange& exchange);
  Reply read_reply(const Result<net::Response>& response, const Exchange& exchange,
                   lb::Budget& pays) const;
  Result<crypto::CloudCredentials> signer_of(const Context& context,
                                             const model::CredentialId& credential);
  Result<> await_task(const Context& context, const Caller& caller, std::string_view action,
                      const std::string& request_id);
  Pace pace(std::string_view action) const;
  // Without a time: when it was over was not seen.
  void learn(std::string_view action, Duration under_way_at, std::optional<Duration> over_at,
             Instant now);
  lb::Budget& budget(const Caller& caller, std::string_view action) const;

  net::Transport& transport_;
  CredentialSource& credentials_;
  const Options options_;
  const OnSent on_sent_;
  ServerClock clock_;
  mutable lb::Budgets budgets_;
  Awaited awaited_;
  mutable Mutex mu_;
  // By action: tasks of one kind last about as long.
  std::map<std::string, Pace, std::less<>> paces_ GUARDED_BY(mu_);
  // What the cloud counts by, as far as it is known: whose keys these are.
  std::map<model::CredentialId, std::string> accounts_ GUARDED_BY(mu_);
};

}  // namespace berth::cloud::tencent
