// Runs a parity case against one server and writes down what it answered, with everything masked
// that may differ.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/context.h"
#include "kube/client/config.h"
#include "net/transport.h"
#include "wire/value.h"

namespace berth::parity {

// A server under test. One at a time uses it.
struct Peer {
  net::Transport& transport;
  std::shared_ptr<const kube::ClusterConfig> cluster;
};

using Variables = std::map<std::string, std::string>;

// One line per step: status, then the answer's body as JSON.
Result<std::vector<std::string>> run_case(const Context& context, const Peer& peer,
                                          const wire::Value& steps, Variables variables);

}  // namespace berth::parity
