// What is in the cluster already, for a look at what would change: the objects that controllers
// have in their caches, read once with the caller's rights.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "claims/grant_book.h"
#include "claims/slot.h"
#include "controllers/ingress/surroundings.h"
#include "kube/client/client.h"
#include "preview/documents.h"

namespace berth::preview {

class House {
 public:
  // Nothing is there; all is known. `defaults` are the controller's.
  explicit House(const model::LoadBalancerDefaults& defaults);
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  // As an API server has them. What cannot be read is left out.
  void add_listeners(const std::vector<wire::Value>& objects);
  void add_balancers(const std::vector<wire::Value>& objects);
  void add_blocks(const std::vector<wire::Value>& objects);
  void add_around(const controllers::ingress::AroundIngress& around);
  void add_existing(const Document& document, wire::Value object);

  const claims::ListenerStore& listeners() const { return listeners_; }
  claims::GrantBook book() const { return {balancers_, blocks_}; }
  controllers::ingress::Sight sight() const { return around_.sight(); }
  // As it is on the server; null: there is none.
  const wire::Value* existing(const Document& document) const;

  std::vector<std::string> unseen{};  // what the caller may not read

 private:
  claims::ListenerStore listeners_;
  claims::BalancerStore balancers_;
  claims::BlockStore blocks_;
  controllers::ingress::Surroundings around_;
  std::map<std::string, wire::Value> existing_;
};

// All that concerns these documents. Kinds that are not installed have no objects.
Result<> read_house(const Context& context, kube::Client& client, const Documents& documents,
                    House& house);

}  // namespace berth::preview
