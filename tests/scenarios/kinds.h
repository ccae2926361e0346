// The kinds that people of a life know: those that modules declare, on or off, and what every
// cluster has.
#pragma once

#include <string_view>
#include <vector>

#include "kube/client/resource.h"
#include "sim/world/world.h"

namespace berth::scenario {

// Null: nobody has it. By its plural ("ingresses") and by its name ("Ingress").
const kube::ResourceType* type_called(std::string_view plural);
const kube::ResourceType* type_of_kind(std::string_view kind);

// What lies in namespaces.
const std::vector<kube::ResourceType>& types_in_namespaces();
// Of ours: what users make, which has Listeners; and what we make for ourselves.
const std::vector<kube::ResourceType>& types_of_users();
const std::vector<kube::ResourceType>& types_of_ours();

// The server has the kind, at this moment; and objects of it.
bool is_served(world::World& world, const kube::ResourceType& type);
bool has_some(world::World& world, const kube::ResourceType& type);

}  // namespace berth::scenario
