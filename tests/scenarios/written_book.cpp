#include "written_book.h"

#include <boost/json.hpp>

#include "api/decode.h"

namespace berth::scenario {
namespace {

using wire::Value;

constexpr std::string_view kOurGroup = "networkextension.bkbcs.tencent.com";
constexpr std::string_view kBerthGroup = "berth.dev";

std::string path_of(const api::Listener& listener) {
  return fmt::format("/apis/{}/v1/namespaces/{}/listeners/{}", kOurGroup, listener.meta.ns.view(),
                     listener.meta.name);
}

// As the server has it now; null: it has not.
std::shared_ptr<const Value> find_object(world::World& world, std::string_view plural,
                                         std::string_view name) {
  const auto all = world.cluster().server().objects(kBerthGroup, plural);
  for (const auto& one : all ? *all : std::vector<std::shared_ptr<const Value>>{})
    if (wire::string_at(*one, "/metadata/name") == name) return one;
  return nullptr;
}

// Of a JSON Patch that is for one version alone.
std::string tested_version(const net::Request& request) {
  const Result<Value> patch = wire::parse_json(request.body);
  if (!patch || !patch->is_array()) return "";
  for (const Value& operation : patch->get_array())
    if (wire::string_at(operation, "/path") == "/metadata/resourceVersion")
      return std::string(wire::string_at(operation, "/value"));
  return "";
}

}  // namespace

WrittenBook::WrittenBook(world::World& world, const TrustBook& trust)
    : world_(world), trust_(trust) {
  observing_ = world.cluster().gateway().observe(
      [this](const net::Request& request, const world::SeenReply& reply) { see(request, reply); });
}

void WrittenBook::see(const net::Request& request, const world::SeenReply& reply) {
  if (request.method == "GET" || reply.status() >= 300) return;
  const bool ours = world::author_of(request) == world::kOurUser;
  if (request.method == "DELETE" && request.url.find("/secrets") != std::string::npos)
    keys_back_ = world_.kernel().now() + kKeysChecked;
  const bool is_balancer = request.url.find("/loadbalancers") != std::string::npos;
  const bool is_block = request.url.find("/portblocks") != std::string::npos;
  if (ours && request.url.find("/listeners/") != std::string::npos)
    return see_claims(request, reply);
  if (!is_balancer && !is_block && (!ours || request.url.find("/pods/") == std::string::npos))
    return;
  const Value* const object = reply.object();
  if (!object) return;
  if (ours && wire::string_at(*object, "/kind") == "Pod") see_pod(request, *object);
  if (is_balancer) see_balancer(request, *object);
  if (is_block) see_block(request, *object);
}

// From what to what, as the patch says: it tests the one and adds the other. On a peer a claim is
// none, whatever it says.
void WrittenBook::see_claims(const net::Request& request, const world::SeenReply& reply) {
  const Result<Value> patch = wire::parse_json(request.body);
  if (!patch || !patch->is_array()) return;
  const Value* const object = reply.object();
  const std::string lock =
      "/metadata/annotations/" + wire::escape_pointer_step(claims::kLockAnnotation);
  if (!object || !wire::string_at(*object, lock).empty()) return;
  std::optional<std::string> before;
  std::optional<std::string> after;
  for (const Value& operation : patch->get_array()) {
    if (!wire::string_at(operation, "/path").ends_with("berth.dev~1claim")) continue;
    const bool tests = wire::string_at(operation, "/op") == "test";
    (tests ? before : after) = std::string(wire::string_at(operation, "/value"));
  }
  if (before && after && *before != *after) see_claim(*before, *after);
}

void WrittenBook::see_claim(const std::string& before, const std::string& after) {
  const auto was = ledger::decode_claim(before);
  if (!was)
    world_.kernel().fail(fmt::format("a claim that cannot be read was written over: {}", before));
  const auto is = ledger::decode_claim(after);
  if (was && *was && is && *is && (*is)->state == ledger::SlotState::kept &&
      (*was)->pod_uid.empty())
    world_.kernel().fail(fmt::format("what was never a Pod is kept: {}", after));
}

// By what we wrote: that it is Ready, its owner may have written there himself.
void WrittenBook::see_pod(const net::Request& request, const Value& pod) {
  const std::string ns(wire::string_at(pod, "/metadata/namespace"));
  if (!unasked_.contains(ns)) return;
  const Result<Value> written = wire::parse_json(request.body);
  if (!written) return;
  const Room room = RoomBook::read(*written);
  if (room.ready || room.gate_open)
    world_.kernel().fail(fmt::format("{}/{} was told Ready, and we never admitted it", ns,
                                     wire::string_at(pod, "/metadata/name")));
}

// Blocks as they are now; but this one as it was.
std::vector<ledger::Grant> WrittenBook::grants_of(const api::LoadBalancer& balancer,
                                                  const std::string& written,
                                                  const claims::BlockPtr& before) const {
  return claims::grants_of(balancer, [&](const std::string& name) -> claims::BlockPtr {
    if (name == written) return before;
    const auto found = find_object(world_, "portblocks", name);
    if (!found) return nullptr;
    const Result<api::PortBlock> block = api::decode_port_block(*found);
    return block ? std::make_shared<const api::PortBlock>(*block) : nullptr;
  });
}

void WrittenBook::see_balancer(const net::Request& request, const Value& object) {
  const Result<api::LoadBalancer> balancer = api::decode_load_balancer(object);
  if (!balancer || request.method == "DELETE") return;
  api::LoadBalancer& known = balancers_[balancer->meta.name];
  const bool made = request.method == "POST";
  // What was put back as it was came by no request: then nobody knows what it was before this one.
  const bool follows = !known.meta.name.empty() &&
                       tested_version(request) == std::to_string(known.meta.resource_version);
  if (world::author_of(request) == world::kOurUser && (made || follows))
    check_granted(*balancer, made ? std::nullopt : std::optional(grants_of(known)));
  known = *balancer;
}

void WrittenBook::see_block(const net::Request& request, const Value& object) {
  if (wire::string_at(object, "/kind") != "PortBlock") return;  // of many that are deleted
  const Result<api::PortBlock> block = api::decode_port_block(object);
  if (!block) return;
  // The same of one that was lost, or put back, without a request.
  claims::BlockPtr& known = blocks_[block->meta.name];
  const bool made = request.method == "POST";
  const bool removed = request.method == "DELETE";
  const bool follows =
      known && known->meta.uid == block->meta.uid &&
      (removed || tested_version(request) == std::to_string(known->meta.resource_version));
  const auto found = find_object(world_, "loadbalancers", block->spec.load_balancer);
  const auto balancer = found ? api::decode_load_balancer(*found) : Result<api::LoadBalancer>{};
  if (found && balancer && world::author_of(request) == world::kOurUser && (made || follows))
    check_granted(*balancer, grants_of(*balancer, block->meta.name, made ? nullptr : known));
  known = removed ? nullptr : std::make_shared<const api::PortBlock>(*block);
}

void WrittenBook::check_granted(const api::LoadBalancer& balancer,
                                const std::optional<std::vector<ledger::Grant>>& before) {
  if (trust_.is_in_upheaval()) return;
  // With grants and keys lost together, nothing says whose of two Listeners a port is.
  if (!before && world_.kernel().now() < keys_back_) return;
  const std::vector<ledger::Grant> after = grants_of(balancer);
  const auto listeners = world_.cluster().server().objects(kOurGroup, "listeners");
  if (!listeners) return;
  for (const auto& one : *listeners) {
    const Result<api::Listener> listener = api::decode_listener(*one);
    if (!listener || claims::is_foreign(*listener)) continue;
    const std::string path = path_of(*listener);
    if (trust_.forged().contains(path) || trust_.edited_listeners().contains(path)) continue;
    const auto lb = claims::load_balancer_of(*listener, {});
    const auto transports = claims::transports_of(*listener);
    const kube::OwnerReference* const owner = listener->meta.controller();
    if (!lb || !owner || model::object_name(*lb) != balancer.meta.name) continue;
    // Whichever part of its owner has it.
    const auto lies_in = [&](const std::vector<ledger::Grant>& grants) {
      return std::ranges::all_of(transports, [&](model::Transport transport) {
        return std::ranges::any_of(grants, [&](const ledger::Grant& grant) {
          return grant.owner.uid == owner->uid && grant.transport == transport &&
                 grant.ports.contains(api::ports_of(listener->spec));
        });
      });
    };
    if (lies_in(after) || (before && !lies_in(*before))) continue;
    world_.kernel().fail(fmt::format("the grants of {} were written, and left Listener {} out",
                                     balancer.meta.name, listener->meta.key().to_string()));
  }
}

}  // namespace berth::scenario
