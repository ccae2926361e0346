#include "claims/grant_lists.h"

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <tuple>

#include "api/walkers.h"

namespace berth::claims {
namespace {

using ledger::Grant;
using wire::Array;
using wire::Object;

// A longer list is not sent as a whole for what changes in it.
constexpr std::size_t kShortList = 32;

Array encoded(const std::vector<api::Grant>& grants) {
  Array out;
  for (const api::Grant& grant : grants) out.push_back(api::encode(grant));
  return out;
}

// The version, not the list: people write the same list in other words (`grants: []`).
Array tests_of(const kube::ObjectMeta& meta) {
  return {Object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", meta.uid}},
          Object{{"op", "test"},
                 {"path", "/metadata/resourceVersion"},
                 {"value", std::to_string(meta.resource_version)}}};
}

auto place_in_list(const api::Grant& grant) {
  return std::tuple(grant.start_port, std::string_view(grant.protocol));
}

// From one list to the other, entry by entry: two lists in the order of ports, walked side by side.
Array steps_between(const std::vector<api::Grant>& before, const std::vector<api::Grant>& after) {
  Array steps;
  std::size_t i = 0;
  for (std::size_t k = 0; i < before.size() || k < after.size();) {
    const std::string path = fmt::format("/spec/grants/{}", k);
    if (i < before.size() && k < after.size() && before[i] == after[k]) {
      ++i;
      ++k;
    } else if (i < before.size() &&
               (k == after.size() || place_in_list(before[i]) <= place_in_list(after[k]))) {
      steps.push_back(Object{{"op", "remove"}, {"path", path}});
      ++i;
    } else {
      steps.push_back(Object{{"op", "add"}, {"path", path}, {"value", api::encode(after[k])}});
      ++k;
    }
  }
  return steps;
}

Array swap_patch(const kube::ObjectMeta& meta, const std::vector<api::Grant>& before,
                 const std::vector<Grant>& grants) {
  Array patch = tests_of(meta);
  std::vector<api::Grant> after;
  for (const Grant& grant : grants) after.push_back(to_api(grant));
  if (before.size() > kShortList && after.size() > kShortList) {
    Array steps = steps_between(before, after);
    if (steps.size() < after.size() / 2) {
      std::ranges::move(steps, std::back_inserter(patch));
      return patch;
    }
  }
  patch.push_back(Object{{"op", "add"}, {"path", "/spec/grants"}, {"value", encoded(after)}});
  return patch;
}

kube::DeleteOptions as_known(const kube::ObjectMeta& meta) {
  return {.uid = meta.uid, .resource_version = std::to_string(meta.resource_version)};
}

std::string_view in_a_name(model::Transport transport) {
  return transport == model::Transport::tcp ? "tcp" : "udp";
}

Object new_block(const std::string& balancer, const ledger::NewBlock& wanted) {
  const kube::ResourceType& type = api::port_block_kind().type;
  api::PortBlockSpec spec{.load_balancer = balancer,
                          .protocol = std::string(model::to_string(wanted.block.transport)),
                          .start_port = wanted.block.ports.first,
                          .end_port = wanted.block.ports.last};
  for (const Grant& grant : wanted.grants) spec.grants.push_back(to_api(grant));
  // The server completes the name: no two that were made are ever the same.
  return {{"apiVersion", type.api_version()},
          {"kind", type.kind},
          {"metadata", Object{{"generateName",
                               fmt::format("{}-{}-{}-", balancer, in_a_name(wanted.block.transport),
                                           wanted.block.ports.first)}}},
          {"spec", api::encode(spec)}};
}

Grant naming(const api::PortBlock& block, const ledger::BlockPorts& ports, WallTime now) {
  return {.transport = ports.transport,
          .ports = ports.ports,
          .owner = {.kind = std::string(ledger::kBlockOwner),
                    .name = block.meta.name,
                    .uid = block.meta.uid},
          .since = now};
}

// False: somebody has called it in or replaced it meanwhile.
bool erase_named(std::vector<Grant>& list, const Grant& named) {
  return std::erase_if(list, [&](const Grant& grant) {
           return ledger::is_block(grant) && grant.owner == named.owner &&
                  grant.ports == named.ports && grant.transport == named.transport;
         }) > 0;
}

Error is_full(const std::string& name, std::size_t ranges) {
  return error_of(Code::exhausted, "{} has {} ranges of ports in use, as many as it can have", name,
                  ranges);
}

bool names(const api::LoadBalancer& object, const api::PortBlock& block) {
  return std::ranges::any_of(object.spec.grants, [&](const api::Grant& grant) {
    return grant.owner_kind == ledger::kBlockOwner && grant.owner_uid == block.meta.uid;
  });
}

// What is there and cannot be read is not nothing.
template <class Ptr>
Result<Ptr> known_or_none(Result<Ptr> found, const std::string& name) {
  if (!found && found.error().code == Code::not_found) return Ptr();
  if (found && !*found) return fail(Code::internal, "{} is there and cannot be read", name);
  return found;
}

}  // namespace

Result<> GrantLists::swap(const Context& context, const api::LoadBalancer& object,
                          const std::vector<Grant>& grants) const {
  auto written = objects_.patch(context, object.meta.key(), kube::PatchType::json,
                                swap_patch(object.meta, object.spec.grants, grants));
  if (!written) return pass(written);
  return {};
}

Result<> GrantLists::swap(const Context& context, const api::PortBlock& block,
                          const std::vector<Grant>& grants) const {
  auto written = block_objects_.patch(context, block.meta.key(), kube::PatchType::json,
                                      swap_patch(block.meta, block.spec.grants, grants));
  if (!written) return pass(written);
  return {};
}

Result<> GrantLists::make(const Context& context, const std::string& balancer,
                          const std::vector<ledger::NewBlock>& blocks,
                          std::vector<Grant>& list) const {
  std::vector<BlockPtr> made;
  for (const ledger::NewBlock& wanted : blocks) {
    auto created = block_objects_.create(context, new_block(balancer, wanted));
    if (!created || !*created) {
      for (const BlockPtr& one : made) (void)remove(context, *one);
      // Nobody was faster, though the kind may be missing.
      if (!created)
        return fail(error_of(Code::unavailable, "no PortBlock can be made: {}",
                             created.error().to_string()));
      return fail(Code::internal, "a PortBlock of ours cannot be read");
    }
    made.push_back(*created);
    list.push_back(naming(**created, wanted.block, context.tasks.wall_time()));
  }
  ledger::sort_by_port(list);
  return {};
}

Result<> GrantLists::create(const Context& context, const model::LoadBalancerRef& lb,
                            ledger::LaidOut grants) const {
  const std::string name = model::object_name(lb);
  if (Result<> blocks = make(context, name, grants.blocks, grants.list); !blocks) return blocks;
  const kube::ResourceType& type = api::load_balancer_kind().type;
  api::LoadBalancerSpec spec{.provider = std::string(model::to_string(lb.provider)),
                             .account = lb.account,
                             .region = lb.region,
                             .load_balancer_id = model::id_text(lb)};
  for (const Grant& grant : grants.list) spec.grants.push_back(to_api(grant));
  auto made = objects_.create(context, Object{{"apiVersion", type.api_version()},
                                              {"kind", type.kind},
                                              {"metadata", Object{{"name", name}}},
                                              {"spec", api::encode(spec)}});
  if (!made) return pass(made);
  return {};
}

Result<> GrantLists::hand_on(const Context& context, const api::LoadBalancer& object,
                             std::span<const ledger::BlockPorts> blocks) const {
  ledger::LaidOut next;
  for (;;) {
    next = ledger::handed_on(list_of(object), blocks);
    const std::size_t size = next.list.size() + next.blocks.size();
    if (size <= api::kMaxGrants) break;
    // Each of them makes the list longer by one at most.
    const std::size_t too_many = size - api::kMaxGrants;
    if (too_many >= blocks.size())
      return fail(is_full(object.meta.name, object.spec.grants.size()));
    blocks = blocks.first(blocks.size() - too_many);
  }
  if (Result<> made = make(context, object.meta.name, next.blocks, next.list); !made) return made;
  return swap(context, object, next.list);
}

Result<> GrantLists::call_in(const Context& context, const api::LoadBalancer& object,
                             const Grant& named, const api::PortBlock& block) const {
  std::vector<Grant> list = list_of(object);
  if (!erase_named(list, named)) return {};
  std::vector<Grant> back = list_of(block, named);
  if (list.size() + back.size() > api::kMaxGrants)
    return fail(is_full(object.meta.name, list.size()));
  // Also one that looks closed: somebody may have opened it again.
  Array patch = tests_of(block.meta);
  patch.push_back(Object{{"op", "add"}, {"path", "/spec/closed"}, {"value", true}});
  auto closed = block_objects_.patch(context, block.meta.key(), kube::PatchType::json, patch);
  if (!closed) return pass(closed);
  if (!*closed) return fail(Code::internal, "a PortBlock of ours cannot be read");
  std::ranges::move(back, std::back_inserter(list));
  ledger::sort_by_port(list);
  if (Result<> written = swap(context, object, list); !written) return written;
  // What is left of it now, nobody reads; if this fails, it goes later.
  (void)remove(context, **closed);
  return {};
}

Result<> GrantLists::replace(const Context& context, const api::LoadBalancer& object,
                             std::vector<Rebuilt> blocks) const {
  std::vector<Grant> list = list_of(object);
  std::vector<ledger::NewBlock> next;
  for (Rebuilt& block : blocks) {
    if (!erase_named(list, block.lost) || block.grants.empty()) continue;
    // Its ports were named by hand: ours never have so many.
    if (block.grants.size() > api::kMaxGrants)
      return fail(is_full(block.lost.owner.name, block.grants.size()));
    next.push_back({ledger::ports_of(block.lost), std::move(block.grants)});
  }
  if (list.size() == object.spec.grants.size()) return {};
  if (Result<> made = make(context, object.meta.name, next, list); !made) return made;
  return swap(context, object, list);
}

Result<> GrantLists::remove(const Context& context, const api::PortBlock& block) const {
  if (block.meta.deleting) return {};
  return block_objects_.remove(context, block.meta.key(), as_known(block.meta));
}

Result<bool> GrantLists::remove_unnamed(const Context& context, const std::vector<BlockPtr>& blocks,
                                        BalancerPtr object) const {
  const auto is_named = [&](const BlockPtr& block) { return object && names(*object, *block); };
  kube::ResourceVersion youngest = 0;
  for (const BlockPtr& block : blocks)
    if (!is_named(block)) youngest = std::max(youngest, block->meta.resource_version);
  if (object && youngest > object->meta.resource_version) {
    Result<BalancerPtr> next = renewed(context, *object, youngest);
    if (!next) return pass(next);
    object = std::move(*next);
  }
  bool is_all = true;
  for (const BlockPtr& block : blocks) {
    if (is_named(block)) continue;
    const Result<> removed = remove(context, *block);
    if (removed || removed.error().code == Code::not_found) continue;
    if (!kube::was_overtaken(removed.error())) return fail(removed.error());
    is_all = false;
  }
  return is_all;
}

Result<BalancerPtr> GrantLists::renewed(const Context& context, const api::LoadBalancer& object,
                                        kube::ResourceVersion than) const {
  // Whatever it says by now: who has named a block meanwhile is seen in the answer.
  Result<BalancerPtr> written = objects_.patch(
      context, object.meta.key(), kube::PatchType::merge,
      Object{{"metadata",
              Object{{"uid", object.meta.uid},
                     {"annotations", Object{{kUnnamedBlockAnnotation, std::to_string(than)}}}}}});
  if (written && !*written)
    return fail(Code::internal, "{} is there and cannot be read", object.meta.name);
  return written;
}

Result<BalancerPtr> GrantLists::read(const Context& context, const std::string& balancer) const {
  return known_or_none(objects_.get(context, {"", balancer}), balancer);
}

Result<BlockPtr> GrantLists::read_block(const Context& context, const std::string& name) const {
  return known_or_none(block_objects_.get(context, {"", name}), name);
}

}  // namespace berth::claims
