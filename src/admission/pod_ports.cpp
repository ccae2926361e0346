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

bool declares_port(const Value& pod, model::Port port) {
  const Array* containers = wire::array_at(pod, "/spec/containers");
  for (const Value& container : containers ? *containers : Array{}) {
    const Array* ports = wire::array_at(container, "/ports");
    for (const Value& declared : ports ? *ports : Array{}) {
      if (wire::int_at(declared, "/containerPort") == port) return true;
    }
  }
  return false;
}

Result<std::vector<api::PortRequest>> requests_of(const AdmissionRequest& request) {
  Result<std::vector<api::PortRequest>> wanted =
      api::parse_port_requests(annotation(request.object, api::kPortsAnnotation), request.ns);
  if (!wanted) return fail(std::move(wanted.error()).about(request.describe()));
  for (const api::PortRequest& port : *wanted) {
    if (!declares_port(request.object, port.container_port)) {
      return fail(error_of(Code::invalid, "no container declares port {}", port.container_port)
                      .about(request.describe())
                      .at(fmt::format("metadata.annotations[{}]", api::kPortsAnnotation))
                      .with_hint("add it to spec.containers[].ports"));
    }
  }
  return wanted;
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
void put_environment(const Value& pod, const std::vector<api::PoolBinding>& bindings,
                     Array& patch) {
  Array variables;
  for (const api::PoolBinding& b : bindings) {
    variables.push_back(
        Object{{"name", fmt::format("BCS_PORTPOOL_PORT_VIPLIST_{}_{}", model::to_string(b.protocol),
                                    b.container_port)},
               {"value", model::to_string(model::Target{b.address, b.port})}});
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
                         const std::vector<api::PoolBinding>& bindings) {
  AdmissionAnswer answer;
  put_entries(pod, "labels", Object{{ledger::kTokenLabel, token}}, answer.patch);
  put_entries(pod, "annotations",
              Object{{api::kPoolBindingsAnnotation, api::encode_pool_bindings(bindings)},
                     {api::kBindStatusAnnotation, api::kNotReady}},
              answer.patch);
  put_environment(pod, bindings, answer.patch);
  return answer;
}

api::PoolBinding binding_of(const api::PortRequest& request, const claims::Slot& slot,
                            std::string address) {
  return {.pool = request.pool,
          .item = slot.item,
          .load_balancer_id = slot.load_balancer_id,
          .address = std::move(address),
          .protocol = request.protocol,
          .port = slot.port,
          .container_port = request.container_port};
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
  const Result<std::vector<api::PortRequest>> ports = requests_of(request);
  if (!ports) return fail(ports.error());

  const std::string token = make_token_();
  std::vector<claims::SlotRequest> slots;
  for (const api::PortRequest& port : *ports) slots.push_back({port.pool, port.protocol});
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

  std::vector<api::PoolBinding> bindings;
  for (std::size_t i = 0; i < given.size(); ++i) {
    bindings.push_back(
        binding_of((*ports)[i], given[i], forwarder_.address_of(given[i].load_balancer_id)));
  }
  AdmissionAnswer answer = tell_pod(request.object, token, bindings);
  for (const api::PoolBinding& b : bindings) {
    answer.warnings.push_back(fmt::format("{} port {} is reached at {}{}",
                                          model::to_string(b.protocol), b.container_port,
                                          model::to_string(model::Target{b.address, b.port}),
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
