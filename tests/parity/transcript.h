// Runs a parity case against one server and writes down what it answered, with everything masked
// that may differ.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/context.h"
#include "kube/client/config.h"
#include "masking.h"
#include "net/transport.h"
#include "webhook_host.h"

namespace berth::parity {

// A server under test. Cases use it at the same time.
struct Peer {
  std::string name;  // "real" or "embedded"
  net::Transport& transport;
  std::string server;
  // Who a step can speak as; "admin" when it does not say.
  std::map<std::string, kube::Identity> identities;
  WebhookHost& hooks;
  // Forgets the history of all objects.
  std::function<Result<>(const Context& context)> compact;
};

// One line per step: what was asked, the status, the answer's body as JSON, and its warnings.
Result<std::vector<std::string>> run_case(const Context& context, const Peer& peer,
                                          const wire::Value& steps, Variables variables);

}  // namespace berth::parity
