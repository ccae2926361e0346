#include "sim/workloads/node_ports.h"

#include <algorithm>

#include "lb/plan.h"

namespace berth::workloads {
namespace {

using kube::ObjectKey;
using kube::Requeue;

constexpr std::string_view kNamespaceIndex = "namespace";
// Files for one node's Services, beside those of echo servers and load balancers.
constexpr std::size_t kMaxFiles = 4000;
constexpr std::size_t kListeningFiles = 1000;
// Somebody else may have the port: another playground, or a program of this machine.
constexpr Duration kTryAgain = std::chrono::seconds{1};

const lb::Place kNode{{.id = "node"}};

template <class T>
void index_by_namespace(kube::Store<T>& store) {
  store.add_index(std::string(kNamespaceIndex),
                  [](const T& object, auto emit) { emit(object.meta.ns.view()); });
}

model::ListenerSpec listener_of(const ObjectKey& service, const NodePortLead& lead) {
  std::vector<model::WeightedTarget> targets;
  for (const model::Target& one : lead.targets) targets.push_back({.target = one});
  return model::plain_listener(model::protocol_of(lead.protocol), {lead.port, lead.port},
                               service.to_string(), std::move(targets));
}

bool is_same_port(const model::ListenerSpec& a, const model::ListenerSpec& b) {
  return a.protocol == b.protocol && a.ports == b.ports;
}

}  // namespace

NodePorts::NodePorts(Tasks& tasks, kube::Client& client, kube::Store<kube::Pod>& pods,
                     Random random, std::string address)
    : pods_(pods),
      address_(std::move(address)),
      services_(tasks, client, any_object_projection(kube::types::kService), random.fork()),
      controller_(tasks, {.name = "node-ports"}, [this](const Context& context, const auto& key) {
        return reconcile(context, key);
      }) {
  index_by_namespace(pods_);
  index_by_namespace(services_.store());
  controller_.watch(services_.store(),
                    [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
  controller_.watch(pods_, [this](const auto& change, const auto& emit) {
    for (const AnyPtr& service :
         services_.store().by_index(kNamespaceIndex, change.object().meta.ns.view())) {
      const wire::Object& selector = object_or_empty(service->value, "/spec/selector");
      for (const auto& pod : {change.before, change.after})
        if (pod && selects(selector, pod->meta.labels)) emit(service->meta.key());
    }
  });
}

NodePorts::~NodePorts() { controller_.stop({}); }

void NodePorts::add_to(kube::Manager& manager) {
  manager.add(services_.core());
  manager.on_lead([this](const Context&) { return begin(); });
  manager.add(controller_);
}

Result<> NodePorts::begin() {
  if (edge_) return {};
  Result<std::unique_ptr<edge::EdgeDriver>> edge =
      edge::EdgeDriver::start({.addresses =
                                   [this](const model::LoadBalancerRef&) {
                                     return Result<std::vector<std::string>>({address_});
                                   },
                               .threads = 1,
                               .fd_budget = kMaxFiles,
                               .listening_files = kListeningFiles,
                               .loopback_targets = true});
  if (!edge) return pass(edge);
  edge_ = std::move(*edge);
  return {};
}

Result<Requeue> NodePorts::reconcile(const Context& context, const ObjectKey& key) {
  const AnyPtr service = services_.store().get(key);
  std::vector<model::ListenerSpec> wished;
  if (service) {
    for (const NodePortLead& lead :
         node_port_leads(*service, pods_.by_index(kNamespaceIndex, key.ns)))
      wished.push_back(listener_of(key, lead));
  }
  OpenPorts& open = open_[key];
  close_others(context, open, wished);
  Requeue again;
  for (const model::ListenerSpec& one : wished)
    if (!lead(context, open, one)) again.after = kTryAgain;
  if (open.empty()) open_.erase(key);
  return again;
}

void NodePorts::close_others(const Context& context, OpenPorts& open,
                             const std::vector<model::ListenerSpec>& wished) {
  std::vector<model::ListenerId> gone;
  std::erase_if(open, [&](const Open& one) {
    const bool stays = std::ranges::any_of(
        wished, [&](const model::ListenerSpec& spec) { return is_same_port(spec, one.spec); });
    if (!stays) gone.push_back(one.id);
    return !stays;
  });
  if (!gone.empty()) (void)edge_->remove(context, kNode, gone);
}

Result<> NodePorts::lead(const Context& context, OpenPorts& open,
                         const model::ListenerSpec& wished) {
  auto there =
      std::ranges::find_if(open, [&](const Open& one) { return is_same_port(wished, one.spec); });
  if (there == open.end()) {
    const model::ListenerSpec fresh = model::without_targets(wished);
    Result<model::ListenerId> made = edge_->create(context, kNode, {&fresh, 1}).front();
    if (!made) return pass(made);
    there = open.insert(open.end(), {std::move(*made), fresh});
  }
  const lb::TargetChange change =
      lb::target_change({there->id, {}}, model::targets_of(wished), model::targets_of(there->spec));
  if (change.add.empty() && change.remove.empty()) return {};
  Result<> led = edge_->change_targets(context, kNode, {&change, 1}).front();
  if (led) there->spec = wished;
  return led;
}

}  // namespace berth::workloads
