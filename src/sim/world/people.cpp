#include "sim/world/people.h"

#include <algorithm>
#include <array>

#include "sim/kube/request_info.h"

namespace berth::world {
namespace {

using sim::kube::RequestInfo;

constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kUpstreamGroup = "networkextension.bkbcs.tencent.com";
constexpr std::string_view kOurGroup = "berth.dev";
constexpr std::string_view kLeaseGroup = "coordination.k8s.io";

template <class List>
bool contains(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool only_reads(const RequestInfo& request) {
  return request.verb == "get" || request.verb == "list" || request.verb == "watch";
}

// As the role `edit` has it, with our kinds aggregated to it.
bool tenant_may(const Person& person, const RequestInfo& request) {
  static constexpr std::array<std::string_view, 5> kCore{"pods", "configmaps", "secrets", "events",
                                                         "pods/eviction"};
  if (!contains(person.namespaces, request.ns)) return false;
  if (request.group == kUpstreamGroup) return true;
  return request.group.empty() && contains(kCore, request.full_resource());
}

bool operator_may(const RequestInfo& request) {
  return request.group == kUpstreamGroup || request.group == kOurGroup ||
         (request.group == kLeaseGroup && request.resource == "leases");
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::tenant: return "tenant";
    case Role::operator_of_ours: return "operator";
    case Role::administrator: return "administrator";
  }
  return "";
}

bool may(const Person& person, const RequestInfo& request) {
  // Reading is never what an invariant rests on.
  if (!request.is_resource || only_reads(request)) return true;
  switch (person.role) {
    case Role::tenant: return tenant_may(person, request);
    case Role::operator_of_ours: return operator_may(request);
    case Role::administrator: return true;
  }
  return false;
}

sim::kube::Access access_of(std::vector<Person> people) {
  sim::kube::Access access;
  access.tokens[std::string(kOurUser)] = {.name = std::string(kOurUser)};
  for (const Person& person : people) access.tokens[person.name] = {.name = person.name};
  access.authorizer = [people = std::move(people)](const sim::kube::User& user,
                                                   const RequestInfo& request) {
    const auto person = std::ranges::find(people, user.name, &Person::name);
    return person == people.end() || may(*person, request);
  };
  return access;
}

net::Request signed_by(std::string_view user, net::Request request) {
  if (!user.empty()) request.headers.set("Authorization", std::string(kBearer).append(user));
  return request;
}

std::string_view author_of(const net::Request& request) {
  const std::string_view header = request.headers.get("Authorization");
  return header.starts_with(kBearer) ? header.substr(kBearer.size()) : std::string_view();
}

}  // namespace berth::world
