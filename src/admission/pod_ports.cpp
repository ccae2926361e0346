#include "admission/pod_ports.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/decode.h"
#include "api/pod_ports.h"
#include "crypto/digest.h"

namespace berth::admission {
namespace {

using kube::AdmissionAnswer;
using kube::AdmissionRequest;
using wire::Array;
using wire::Object;
using wire::Value;

// How long a creation waits for a pool that our cache has not seen yet, and for one that is being
// filled. Both end before the handler's deadline, so that the refusal says why; the first is
// shorter, because a pool that does not exist is the likelier reason.
constexpr Duration kUnknownPoolWait = std::chrono::seconds{2};
constexpr Duration kFillingPoolWait = std::chrono::seconds{6};
constexpr Duration kLookAgain = std::chrono::milliseconds{20};

std::string_view annotation(const Value& pod, std::string_view key) {
  return wire::string_at(pod, "/metadata/annotations/" + wire::escape_pointer_step(key));
}

// One port that a Pod wants with one protocol.
struct WantedPort {
  kube::ObjectKey pool{};
  model::Protocol protocol = model::Protocol::tcp;
  model::Port container_port = 0;
  bool host_port = false;
};

// The declaration of a container's port, by name or by number; null when there is none.
const Value* declared_port(const Value& pod, const api::PortRequest& wanted) {
  const Array* containers = wire::array_at(pod, "/spec/containers");
  for (std::size_t i = 0; containers && i < containers->size(); ++i) {
    const Array* ports = wire::array_at((*containers)[i], "/ports");
    for (std::size_t j = 0; ports && j < ports->size(); ++j) {
      const Value& declared = (*ports)[j];
      const bool same = wanted.port_name.empty()
                            ? wire::int_at(declared, "/containerPort") == wanted.port
                            : wire::string_at(declared, "/name") == wanted.port_name;
      if (same) return &declared;
    }
  }
  return nullptr;
}

Result<std::vector<WantedPort>> requests_of(const AdmissionRequest& request) {
  Result<std::vector<api::PortRequest>> wanted =
      api::parse_port_requests(annotation(request.object, api::kPortsAnnotation), request.ns);
  if (!wanted) return fail(std::move(wanted.error()).about(request.describe()));
  std::vector<WantedPort> out;
  for (const api::PortRequest& port : *wanted) {
    const Value* declared = declared_port(request.object, port);
    if (!declared) {
      return fail(error_of(Code::invalid, "no container declares port {}",
                           port.port_name.empty() ? std::to_string(port.port) : port.port_name)
                      .about(request.describe())
                      .at(fmt::format("metadata.annotations[{}]", api::kPortsAnnotation))
                      .with_hint("add it to spec.containers[].ports"));
    }
    std::vector<model::Protocol> protocols = port.protocols;
    if (protocols.empty()) {
      const bool udp = wire::string_at(*declared, "/protocol") == "UDP";
      protocols = {udp ? model::Protocol::udp : model::Protocol::tcp};
    }
    const auto number =
        static_cast<model::Port>(wire::int_at(*declared, "/containerPort").value_or(0));
    for (const model::Protocol protocol : protocols)
      out.push_back({port.pool, protocol, number, port.host_port});
  }
  return out;
}

std::string controller_uid(const Value& pod) {
  const Array* owners = wire::array_at(pod, "/metadata/ownerReferences");
  for (const Value& owner : owners ? *owners : Array{}) {
    if (wire::bool_at(owner, "/controller").value_or(false))
      return std::string(wire::string_at(owner, "/uid"));
  }
  return {};
}

ledger::Claim new_claim(const AdmissionRequest& request, std::string token, WallTime now) {
  return {.token = std::move(token),
          .ns = request.ns,
          .owner_uid = controller_uid(request.object),
          .request =
              crypto::sha256_hex(annotation(request.object, api::kPortsAnnotation)).substr(0, 16),
          .since = now};
}

// Adds to a map that may be missing: the whole map is written then.
void put_entries(const Value& pod, std::string_view map, const Object& entries, Array& patch) {
  const std::string path = fmt::format("/metadata/{}", map);
  if (!wire::object_at(pod, path)) {
    patch.push_back(Object{{"op", "add"}, {"path", path}, {"value", entries}});
    return;
  }
  for (const auto& entry : entries) {
    patch.push_back(Object{{"op", "add"},
                           {"path", path + "/" + wire::escape_pointer_step(entry.key())},
                           {"value", entry.value()}});
  }
}

// BCS_PORTPOOL_PORT_VIPLIST_TCP_8000=1.2.3.4:31000 in every container.
void put_environment(const Value& pod, const std::vector<api::PortBindingItem>& bindings,
                     Array& patch) {
  Array variables;
  for (const api::PortBindingItem& b : bindings) {
    variables.push_back(Object{
        {"name", fmt::format("BCS_PORTPOOL_PORT_VIPLIST_{}_{}", b.protocol, b.rs_start_port)},
        {"value", api::public_address(b)}});
  }
  for (const std::string_view list : {"initContainers", "containers"}) {
    const Array* containers = wire::array_at(pod, fmt::format("/spec/{}", list));
    for (std::size_t i = 0; containers && i < containers->size(); ++i) {
      const std::string path = fmt::format("/spec/{}/{}/env", list, i);
      if (!wire::array_at(pod, path)) {
        patch.push_back(Object{{"op", "add"}, {"path", path}, {"value", variables}});
        continue;
      }
      for (const Value& variable : variables) {
        patch.push_back(Object{{"op", "add"}, {"path", path + "/-"}, {"value", variable}});
      }
    }
  }
}

AdmissionAnswer tell_pod(const Value& pod, const std::string& token,
                         const std::vector<api::PortBindingItem>& bindings) {
  AdmissionAnswer answer;
  put_entries(pod, "labels", Object{{ledger::kTokenLabel, token}}, answer.patch);
  put_entries(pod, "annotations",
              Object{{api::kPoolBindingsAnnotation, api::encode_pool_bindings(bindings)},
                     {api::kBindStatusAnnotation, api::kNotReady}},
              answer.patch);
  put_environment(pod, bindings, answer.patch);
  return answer;
}

api::PortBindingItem binding_of(const WantedPort& request, const claims::Slot& slot,
                                std::string address) {
  return {.pool_name = request.pool.name,
          .pool_namespace = request.pool.ns,
          .load_balancer_ids = {slot.load_balancer_id},
          .pool_item_load_balancers = {{.id = slot.load_balancer_id, .ips = {std::move(address)}}},
          .pool_item_name = slot.item,
          .protocol = std::string(model::to_string(request.protocol)),
          .start_port = slot.port,
          .rs_start_port = request.container_port,
          .host_port = request.host_port};
}

}  // namespace

Result<AdmissionAnswer> PodPorts::admit(const Context& context, const AdmissionRequest& request) {
  const std::string_view wanted = annotation(request.object, api::kPortPoolsAnnotation);
  if (request.operation != "CREATE" || !request.subresource.empty() || wanted == "false")
    return AdmissionAnswer{};
  // Called again after another webhook changed the Pod: it has its ports.
  const std::string_view carried = wire::string_at(
      request.object, "/metadata/labels/" + wire::escape_pointer_step(ledger::kTokenLabel));
  if (!carried.empty() &&
      claimer_.is_recent_claim(carried, request.ns, context.tasks.wall_time())) {
    return AdmissionAnswer{};
  }
  const Result<std::vector<WantedPort>> ports = requests_of(request);
  if (!ports) return fail(ports.error());

  const std::string token = make_token_();
  std::vector<claims::SlotRequest> slots;
  for (const WantedPort& port : *ports) slots.push_back({port.pool, port.protocol});
  std::vector<claims::Slot> given;
  if (request.dry_run) {
    for (const claims::SlotRequest& slot : slots) {
      Result<claims::Slot> shown = claimer_.peek(slot);
      if (!shown) return fail(std::move(shown.error()));
      given.push_back(std::move(*shown));
    }
  } else {
    Result<std::vector<claims::Slot>> taken =
        claim(context, slots, new_claim(request, token, context.tasks.wall_time()));
    if (!taken) return pass(taken);
    given = std::move(*taken);
  }

  std::vector<api::PortBindingItem> bindings;
  for (std::size_t i = 0; i < given.size(); ++i) {
    bindings.push_back(
        binding_of((*ports)[i], given[i], forwarder_.address_of(given[i].load_balancer_id)));
  }
  AdmissionAnswer answer = tell_pod(request.object, token, bindings);
  for (const api::PortBindingItem& b : bindings) {
    answer.warnings.push_back(fmt::format("{} port {} is reached at {}{}", b.protocol,
                                          b.rs_start_port, api::public_address(b),
                                          request.dry_run ? " (dry run: not reserved)" : ""));
  }
  return answer;
}

// A pool that was created a moment ago, by the same `kubectl apply` as the Pod, has its first ports
// soon: refusing the Pod would cost its creator a retry, and a bare Pod has nobody to retry.
Result<std::vector<claims::Slot>> PodPorts::claim(const Context& context,
                                                  const std::vector<claims::SlotRequest>& slots,
                                                  const ledger::Claim& claim) {
  const Instant begin = context.tasks.now();
  for (;;) {
    Result<std::vector<claims::Slot>> taken = claimer_.claim_all(context, slots, claim);
    if (taken || taken.error().code != Code::exhausted) return taken;
    if (!is_worth_waiting(slots, context.tasks.now() - begin)) {
      if (is_filling(slots)) taken.error().hint = "the pool is being filled: try again in a moment";
      return taken;
    }
    (void)sleep_for(context.tasks, kLookAgain, context.stop);
    if (context.expired()) return taken;
  }
}

bool PodPorts::is_filling(const std::vector<claims::SlotRequest>& slots) const {
  return std::ranges::any_of(slots, [&](const claims::SlotRequest& slot) {
    return state_of_pool_(slot.pool) == PoolState::filling;
  });
}

bool PodPorts::is_worth_waiting(const std::vector<claims::SlotRequest>& slots,
                                Duration waited) const {
  return std::ranges::any_of(slots, [&](const claims::SlotRequest& slot) {
    const PoolState state = state_of_pool_(slot.pool);
    if (state == PoolState::unknown) return waited < kUnknownPoolWait;
    return state == PoolState::filling && waited < kFillingPoolWait;
  });
}

Result<AdmissionAnswer> validate_port_pool(const AdmissionRequest& request) {
  Result<api::PortPool> pool = api::decode_incoming_port_pool(request.object);
  if (!pool) return fail(std::move(pool.error()).about(request.describe()));
  Result<> valid;
  if (request.operation == "UPDATE") {
    Result<api::PortPool> before = api::decode_incoming_port_pool(request.old_object);
    if (!before) return fail(std::move(before.error()).about(request.describe()));
    valid = api::validate_update(*before, *pool);
  } else {
    valid = api::validate(*pool);
  }
  if (!valid) return pass(valid);
  return AdmissionAnswer{};
}

}  // namespace berth::admission
