#include "admission/neighbours.h"

#include <algorithm>

#include "api/keys.h"

namespace berth::admission {
namespace {

std::string in_words(model::Transport transport, const model::PortRange& ports,
                     const model::LoadBalancerRef& lb) {
  return fmt::format("{} ports {}-{} of {}", model::to_string(transport), ports.first, ports.last,
                     model::to_string(lb));
}

bool is_self(const ledger::GrantOwner& owner, const Self& self) {
  return owner.kind == self.kind && owner.ns == self.key.ns && owner.name == self.key.name;
}

}  // namespace

std::optional<std::string> Neighbours::granted(const Self& self, const WantedPorts& wanted) const {
  for (const ledger::Grant& grant : book_.on(model::object_name(wanted.lb), wanted.ports)) {
    if (grant.transport != wanted.transport || !grant.ports.overlaps(wanted.ports) ||
        ledger::is_block(grant) || is_self(grant.owner, self))
      continue;
    return fmt::format("{} are granted to {}{}{}",
                       in_words(grant.transport, grant.ports, wanted.lb), grant.owner.to_string(),
                       grant.item.empty() ? "" : ", ", grant.item);
  }
  return std::nullopt;
}

std::optional<std::string> Neighbours::foreign(const Self& self, const WantedPorts& wanted) const {
  for (const claims::ListenerPtr& one :
       listeners_.by_index(claims::kForeignIndex, model::object_name(wanted.lb))) {
    const auto transports = claims::transports_of(*one);
    const model::PortRange ports = api::ports_of(one->spec);
    if (!ports.overlaps(wanted.ports) ||
        std::ranges::find(transports, wanted.transport) == transports.end())
      continue;
    // What it made for this object goes when people switch to us.
    const claims::OwnerName owner = claims::owner_of(*one);
    if (owner.kind == self.kind && owner.key.ns == self.key.ns &&
        owner.key.name == api::label_value(self.key.name))
      continue;
    return fmt::format("{} have a Listener of another controller, {}, for {} {}",
                       in_words(wanted.transport, ports, wanted.lb), one->meta.key().to_string(),
                       owner.kind, owner.key.to_string());
  }
  return std::nullopt;
}

std::string Neighbours::type_of(const model::LoadBalancerRef& lb) const {
  const auto object = book_.balancers().get({"", model::object_name(lb)});
  return object ? object->status.type : std::string();
}

}  // namespace berth::admission
