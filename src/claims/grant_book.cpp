#include "claims/grant_book.h"

#include <algorithm>
#include <set>

namespace berth::claims {
namespace {

using ledger::Grant;

bool is_block(const api::Grant& grant) { return grant.owner_kind == ledger::kBlockOwner; }

bool lies_on(const api::Grant& grant, const model::PortRange& ports) {
  return grant.start_port <= ports.last && ports.first <= grant.end_port;
}

// A block in a block is none, and what lies outside of the named ports is somebody's mistake.
bool lies_in(const api::Grant& grant, const api::Grant& named) {
  return grant.protocol == named.protocol && named.start_port <= grant.start_port &&
         grant.end_port <= named.end_port && !is_block(grant);
}

// The joining rule.
void visit(const api::LoadBalancer& object, const FindBlock& find,
           const std::function<bool(const api::Grant& named)>& enters,
           const std::function<void(const api::Grant& grant)>& each) {
  for (const api::Grant& grant : object.spec.grants) {
    if (!is_block(grant)) {
      each(grant);
      continue;
    }
    if (!enters(grant)) continue;
    const BlockPtr block = find(grant.owner_name);
    if (!counts(object.meta.name, grant, block.get())) {
      each(grant);
      continue;
    }
    for (const api::Grant& own : block->spec.grants)
      if (lies_in(own, grant)) each(own);
  }
}

std::string owner_name_of(const api::Grant& grant) {
  return grant_owner_name(grant.owner_kind, {grant.owner_namespace, grant.owner_name});
}

template <class T>
void add_owner_indexes(kube::Store<T>& store) {
  const auto add = [&store](std::string_view name, std::string (*key_of)(const api::Grant&)) {
    store.add_index(std::string(name), [key_of](const T& object, kube::EmitKey emit) {
      std::set<std::string> keys;
      for (const api::Grant& grant : object.spec.grants)
        if (const auto [it, is_new] = keys.insert(key_of(grant)); is_new) emit(*it);
    });
  };
  add(kGrantOwnerIndex, [](const api::Grant& grant) { return grant.owner_uid; });
  add(kGrantOwnerNameIndex, owner_name_of);
}

}  // namespace

std::string grant_owner_name(std::string_view kind, const kube::ObjectKey& key) {
  return fmt::format("{}/{}/{}", kind, key.ns, key.name);
}

void add_indexes(BalancerStore& store) { add_owner_indexes(store); }

void add_indexes(BlockStore& store) {
  add_owner_indexes(store);
  store.add_index(
      std::string(kBlockBalancerIndex),
      [](const api::PortBlock& block, kube::EmitKey emit) { emit(block.spec.load_balancer); });
}

Result<model::LoadBalancerRef> ref_of(const api::LoadBalancer& object) {
  const Result<model::Provider> provider = model::parse_provider(object.spec.provider);
  if (!provider) {
    return fail(
        Error(provider.error()).about("LoadBalancer " + object.meta.name).at("spec.provider"));
  }
  return model::with_id_text({*provider, object.spec.region, "", object.spec.account},
                             object.spec.load_balancer_id);
}

Grant from_api(const api::Grant& grant) {
  return {.transport = model::parse_transport(grant.protocol).value_or(model::Transport::tcp),
          .ports = {static_cast<model::Port>(grant.start_port),
                    static_cast<model::Port>(grant.end_port)},
          .owner = {grant.owner_kind, grant.owner_namespace, grant.owner_name, grant.owner_uid},
          .item = grant.item,
          .since = parse_rfc3339(grant.since).value_or(WallTime{})};
}

api::Grant to_api(const Grant& grant) {
  return {.protocol = std::string(model::to_string(grant.transport)),
          .start_port = grant.ports.first,
          .end_port = grant.ports.last,
          .owner_kind = grant.owner.kind,
          .owner_namespace = grant.owner.ns,
          .owner_name = grant.owner.name,
          .owner_uid = grant.owner.uid,
          .item = grant.item,
          .since = format_rfc3339_micro(grant.since)};
}

std::vector<Grant> list_of(const api::LoadBalancer& object) {
  std::vector<Grant> out;
  for (const api::Grant& grant : object.spec.grants) out.push_back(from_api(grant));
  return out;
}

bool counts(std::string_view balancer, const api::Grant& named, const api::PortBlock* block) {
  return block && block->meta.uid == named.owner_uid && block->spec.load_balancer == balancer;
}

std::vector<Grant> list_of(const api::PortBlock& block, const Grant& named) {
  const api::Grant range = to_api(named);
  std::vector<Grant> out;
  for (const api::Grant& grant : block.spec.grants)
    if (lies_in(grant, range)) out.push_back(from_api(grant));
  return out;
}

std::vector<Grant> grants_of(const api::LoadBalancer& object, const FindBlock& find) {
  std::vector<Grant> out;
  visit(
      object, find, [](const api::Grant&) { return true; },
      [&](const api::Grant& grant) { out.push_back(from_api(grant)); });
  return out;
}

std::vector<Grant> GrantBook::collect(std::string_view balancer, const Which& enters,
                                      const Which& which) const {
  std::vector<Grant> out;
  const BalancerPtr object = balancers_->get("", balancer);
  if (!object) return out;
  visit(
      *object, [this](const std::string& name) { return blocks_->get("", name); }, enters,
      [&](const api::Grant& grant) {
        if (which(grant)) out.push_back(from_api(grant));
      });
  return out;
}

std::vector<Grant> GrantBook::on(std::string_view balancer) const {
  const auto all = [](const api::Grant&) { return true; };
  return collect(balancer, all, all);
}

std::vector<Grant> GrantBook::on(std::string_view balancer, const model::PortRange& ports) const {
  const auto there = [&](const api::Grant& grant) { return lies_on(grant, ports); };
  return collect(balancer, there, there);
}

std::vector<Grant> GrantBook::around(std::string_view balancer, std::string_view owner_uid,
                                     const model::PortRange& ports) const {
  std::set<std::string_view> own;
  const std::vector<BlockPtr> blocks = blocks_->by_index(kGrantOwnerIndex, owner_uid);
  for (const BlockPtr& block : blocks) own.insert(block->meta.name);
  return collect(
      balancer,
      [&](const api::Grant& named) {
        return lies_on(named, ports) || own.contains(named.owner_name);
      },
      [&](const api::Grant& grant) {
        return lies_on(grant, ports) || grant.owner_uid == owner_uid;
      });
}

bool GrantBook::has_any(std::string_view balancer) const {
  const BalancerPtr object = balancers_->get("", balancer);
  return object && std::ranges::any_of(object->spec.grants, [&](const api::Grant& grant) {
           if (!is_block(grant)) return true;
           const BlockPtr block = blocks_->get("", grant.owner_name);
           return !counts(balancer, grant, block.get()) || !block->spec.grants.empty();
         });
}

std::vector<std::string> GrantBook::balancers_with(std::string_view index,
                                                   std::string_view key) const {
  std::set<std::string> out;
  for (const BalancerPtr& object : balancers_->by_index(index, key)) out.insert(object->meta.name);
  for (const BlockPtr& block : blocks_->by_index(index, key)) out.insert(block->spec.load_balancer);
  return {out.begin(), out.end()};
}

std::map<std::string, std::vector<Grant>> GrantBook::of_owner(std::string_view owner_uid) const {
  std::map<std::string, std::vector<Grant>> out;
  // Port 0 is none: nothing lies on it.
  for (const std::string& balancer : balancers_with(kGrantOwnerIndex, owner_uid))
    if (std::vector<Grant> own = around(balancer, owner_uid, {}); !own.empty())
      out.emplace(balancer, std::move(own));
  return out;
}

std::vector<std::string> GrantBook::uids_of(std::string_view kind,
                                            const kube::ObjectKey& owner) const {
  const std::string name = grant_owner_name(kind, owner);
  std::set<std::string> blocks;
  for (const BlockPtr& block : blocks_->by_index(kGrantOwnerNameIndex, name))
    blocks.insert(block->meta.name);
  std::set<std::string> uids;
  for (const std::string& balancer : balancers_with(kGrantOwnerNameIndex, name)) {
    const std::vector<Grant> found = collect(
        balancer, [&](const api::Grant& named) { return blocks.contains(named.owner_name); },
        [&](const api::Grant& grant) {
          return grant.owner_kind == kind && grant.owner_namespace == owner.ns &&
                 grant.owner_name == owner.name;
        });
    for (const Grant& grant : found) uids.insert(grant.owner.uid);
  }
  return {uids.begin(), uids.end()};
}

BlockPtr GrantBook::block_of(std::string_view balancer, const Grant& named) const {
  BlockPtr block = blocks_->get("", named.owner.name);
  return counts(balancer, to_api(named), block.get()) ? block : nullptr;
}

}  // namespace berth::claims
