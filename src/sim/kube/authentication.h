// Who a request comes from, and whether it may do what it asks. Plain values and pure functions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "net/server.h"
#include "sim/kube/api_error.h"

namespace berth::sim::kube {

struct RequestInfo;

struct User {
  std::string name{};
  std::vector<std::string> groups{};
  std::string uid{};
};

// True: the user may. Called from any handler, without a lock held.
using Authorizer = std::function<bool(const User& user, const RequestInfo& request)>;

struct Access {
  std::map<std::string, User> tokens{};  // bearer token to user
  // A request without credentials is system:anonymous; with false it is refused with 401.
  bool allow_anonymous = true;
  // Not set: everyone may do everything. Members of system:masters are never asked about.
  Authorizer authorizer{};
};

// Who bears a token that is not among `Access::tokens`.
using BearerLookup = std::function<std::optional<User>(std::string_view token)>;

// By bearer token, else by client certificate (common name is the user, organizations the groups).
Outcome<User> authenticate(const Access& access, const BearerLookup& issued,
                           const net::Request& request, const net::Peer& peer);
Outcome<> authorize(const Access& access, const User& user, const RequestInfo& request);

}  // namespace berth::sim::kube
