// What HAProxy is to carry: listeners of layer 7, and those whose TLS ends here, as plain values.
// Made by the driver; everything else of this folder is made from it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/secret.h"
#include "base/time.h"
#include "model/listener.h"

namespace berth::edge::haproxy {

// Certificates by the names of their files, which say their content: another one has another name.
struct SiteTls {
  std::vector<std::string> certificates{};  // the first is the default
  std::string client_ca{};                  // clients must show one that it signed; empty: none

  friend bool operator==(const SiteTls&, const SiteTls&) = default;
};

// A rule with its targets.
struct Route {
  std::string name{};  // ours: letters, digits and dashes, and nobody else's
  model::RuleKey key{};
  model::RuleAttributes attributes{};
  SiteTls tls{};
  std::vector<model::WeightedTarget> targets{};
};

// A listener.
struct Site {
  std::string name{};  // as of a route
  model::Protocol protocol = model::Protocol::http;
  std::vector<model::Target> binds{};  // numeric addresses, as they are opened
  model::ListenerAttributes attributes{};
  SiteTls tls{};
  std::vector<Route> routes{};
};

struct SiteBounds {
  std::size_t connections_per_listener = 0;  // 0: none
  std::size_t connections_per_client = 0;
};

using PemFiles = std::map<std::string, std::shared_ptr<const Secret>>;

struct State {
  std::vector<Site> sites{};  // in an order that is the same every time
  PemFiles files{};           // what the sites name
  SiteBounds bounds{};
  Duration second = std::chrono::seconds{1};  // how long a second of attributes lasts
};

}  // namespace berth::edge::haproxy
