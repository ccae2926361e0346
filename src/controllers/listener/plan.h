// From Listener objects to wishes, and from outcomes to what is written back. Pure.
#pragma once

#include <string>
#include <vector>

#include "api/listener.h"
#include "api/load_balancer.h"
#include "claims/listener_write.h"
#include "claims/seal.h"
#include "engine/engine.h"
#include "model/load_balancer.h"
#include "wire/value.h"

namespace berth::controllers::listener {

struct Naming {
  model::LoadBalancerDefaults defaults{};
  std::string cluster_id{};

  // How the names of our listeners at a provider begin. What ends it is in no cluster id and in no
  // object's name, so that no cluster's prefix is the beginning of another's.
  std::string prefix() const { return cluster_id + "_"; }
  // What the listener of this object is called at the provider: the prefix, as much of the object's
  // name as fits, for people, and a digest of its namespace and name, so that no two share one.
  std::string listener_name(const api::Listener& listener, model::Provider provider) const;
};

// A cluster id is lower-case letters, digits and '-', so short that names of listeners have room.
Result<> check_cluster_id(std::string_view id);

// What the load balancer shall look like for this Listener; of one that is being deleted, that it
// has nothing there. Errors name the field that cannot be read.
Result<engine::Wish> wish_of(const api::Listener& listener, const Naming& naming);

// A Listener is acted on only inside a grant of its owner: anybody who may create Listeners could
// otherwise lead a pool's port elsewhere, under its name in another namespace. The ports of that
// grant. `grants` are those on its ports. The error says whose the ports are.
Result<model::PortRange> granted_ports(const api::Listener& listener, const engine::Wish& wish,
                                       const std::vector<ledger::Grant>& grants);

// Whether somebody, whoever it is, has a grant of its ports.
bool is_anybodys(const engine::Wish& wish, const std::vector<ledger::Grant>& grants);

// Why a Listener that is inside a grant of its owner is not acted on, although it looks like ours.
Error not_sealed(const api::Listener& listener, claims::Trust trust);

// Grants that one of the lists has and the other has not.
std::vector<api::Grant> changed_grants(const std::vector<api::Grant>& before,
                                       const std::vector<api::Grant>& after);
// The same of two versions of an object that has such a list; each may be null.
template <class T>
std::vector<api::Grant> changed_grants(const T* before, const T* after) {
  static const std::vector<api::Grant> none;
  return changed_grants(before ? before->spec.grants : none, after ? after->spec.grants : none);
}
// Whether one of them is about ports of the Listener.
bool is_about(const std::vector<api::Grant>& grants, const api::Listener& listener);

// What is known of a Listener that cannot be read, or is outside of its owner's grants: its
// listener at the provider, if it has one, is still its own.
engine::Wish name_only(const api::Listener& listener, const model::LoadBalancerRef& lb,
                       const Naming& naming);

// Which wish an outcome answers: changes with the spec and with the object.
engine::WishVersion version_of(const api::Listener& listener);

// The patch that notes the outcome of the wish for this spec; empty when the object says so
// already.
claims::ListenerPatch outcome_patch(const api::Listener& listener, const engine::Outcome& outcome);

}  // namespace berth::controllers::listener
