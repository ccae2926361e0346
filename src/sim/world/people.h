// People with kubectl, and what each of them may do on the embedded API server, as RBAC would say
// it: a tenant has one or more namespaces, an operator has our kinds everywhere, an administrator
// has everything. No admission policy stands in their way.
//
// A request says who sends it by a bearer token, so that whoever watches the server tells what we
// wrote from what people did. Plain values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "sim/kube/authentication.h"

namespace berth::world {

// Replicas are this user.
inline constexpr std::string_view kOurUser = "berth";

enum class Role : std::uint8_t { tenant, operator_of_ours, administrator };
std::string_view to_string(Role role);

struct Person {
  std::string name{};
  Role role = Role::tenant;
  std::vector<std::string> namespaces{};  // of a tenant
};

// Tenants never write pods/status or what is not in their namespaces.
bool may(const Person& person, const sim::kube::RequestInfo& request);

// Requests without a token are the world's own (nodes, controllers of workloads), and pass.
sim::kube::Access access_of(std::vector<Person> people);

net::Request signed_by(std::string_view user, net::Request request);
// Empty: the world's own.
std::string_view author_of(const net::Request& request);

}  // namespace berth::world
