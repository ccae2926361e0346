#include "sim/kube/authentication.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/kube/request_info.h"

namespace berth::sim::kube {

namespace {

constexpr std::string_view kBearer = "Bearer ";

User authenticated(User user) {
  user.groups.push_back("system:authenticated");
  return user;
}

}  // namespace

Outcome<User> authenticate(const Access& access, const BearerLookup& issued,
                           const net::Request& request, const net::Peer& peer) {
  const std::string_view header = request.headers.get("Authorization");
  if (header.starts_with(kBearer)) {
    const std::string_view token = header.substr(kBearer.size());
    const auto found = access.tokens.find(std::string(token));
    if (found != access.tokens.end()) return authenticated(found->second);
    std::optional<User> account = issued(token);
    if (!account) return refuse(unauthorized());
    return authenticated(std::move(*account));
  }
  if (!peer.certificate_common_name.empty()) {
    return authenticated({peer.certificate_common_name, peer.certificate_organizations, {}});
  }
  if (!access.allow_anonymous) return refuse(unauthorized());
  return User{"system:anonymous", {"system:unauthenticated"}, {}};
}

Outcome<> authorize(const Access& access, const User& user, const RequestInfo& request) {
  if (!access.authorizer) return {};
  if (std::ranges::find(user.groups, "system:masters") != user.groups.end()) return {};
  if (access.authorizer(user, request)) return {};
  // Everybody may ask about himself.
  if (request.resource.starts_with("selfsubject") && request.verb == "create") return {};
  if (!request.is_resource) {
    ApiError error = forbidden({}, {}, {});
    error.message = fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", user.name,
                                request.verb, request.path);
    return refuse(std::move(error));
  }
  std::string resource = request.resource;
  if (!request.subresource.empty()) resource += "/" + request.subresource;
  const std::string where = request.ns.empty() ? "at the cluster scope"
                                               : fmt::format("in the namespace \"{}\"", request.ns);
  return refuse(
      forbidden({request.group, request.resource}, request.name,
                fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}",
                            user.name, request.verb, resource, request.group, where)));
}

}  // namespace berth::sim::kube
