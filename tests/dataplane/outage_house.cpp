#include "outage_house.h"

#include <unistd.h>

#include <boost/json.hpp>

#include "api/pod_ports.h"
#include "api/port_pool.h"
#include "base/file.h"
#include "wire/patch.h"
#include "wire/yaml.h"

namespace berth::testing {
namespace {

constexpr Duration kPatience = std::chrono::seconds{60};
constexpr Duration kPollInterval = std::chrono::milliseconds{20};
constexpr int kEverything = 1'000'000'000;
constexpr model::Port kRoomPort = 8000;
constexpr model::Port kDoorPort = 31'000;

constexpr std::string_view kNamespace = R"(
apiVersion: v1
kind: Namespace
metadata:
  name: games
  labels:
    bcs-ingress-controller-inject: "true"
)";
constexpr std::string_view kPool = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: rooms
  namespace: games
spec:
  poolItems:
    - itemName: item1
      loadBalancerIDs: ["edge:door"]
      protocol: TCP
      startPort: 31000
      endPort: 31001
)";
constexpr std::string_view kRoom = R"(
apiVersion: v1
kind: Pod
metadata:
  name: room
  namespace: games
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "rooms TCP 8000"
spec:
  containers:
    - name: room
      image: room:1
      ports:
        - containerPort: 8000
)";

// Of this process alone: two of them on one machine do not meet.
std::string own_address(std::string_view what) {
  return edge::loopback_address(fmt::format("{}/{}", ::getpid(), what));
}

}  // namespace

Context OutageHouse::patiently() { return Context{.tasks = tasks_}.within(kPatience); }

Result<std::unique_ptr<OutageHouse>> OutageHouse::open() {
  std::unique_ptr<OutageHouse> house(new OutageHouse());
  if (Result<> up = house->start_server(); !up) return pass(up);
  if (Result<> up = house->start_controller(); !up) return pass(up);
  if (Result<> made = house->create_room(); !made) return pass(made);
  return house;
}

OutageHouse::~OutageHouse() { main_.reset(); }

Result<> OutageHouse::start_server() {
  auto dir = ScratchDir::create("berth-outage");
  if (!dir) return fail(Code::internal, "{}", dir.error());
  dir_.emplace(std::move(*dir));
  auto api = sim::kube::HttpsFrontend::start(tasks_, {.transport = &transport_});
  if (!api) return pass(api);
  api_ = std::move(*api);
  Result<std::string> kubeconfig = api_->kubeconfig("admin", {"system:masters"});
  if (!kubeconfig) return pass(kubeconfig);
  const std::string path = (dir_->path() / "kubeconfig").string();
  if (Result<> written = write_file(path, *kubeconfig, 0600); !written) return written;
  auto cluster = kube::load_kubeconfig({path}, "");
  if (!cluster) return pass(cluster);
  cluster_ = std::move(*cluster);
  client_ = std::make_unique<kube::Client>(transport_, cluster_);
  return {};
}

Result<> OutageHouse::start_controller() {
  auto edge =
      providers::start_edge({.addresses =
                                 [](const model::LoadBalancerRef& lb) {
                                   return Result<std::vector<std::string>>({own_address(lb.id)});
                                 },
                             .loopback_targets = true},
                            {});
  if (!edge) return pass(edge);
  drivers_ = app::DriverSet({std::move(*edge)});
  config_.identity = "outage";
  config_.user.user = "admin";
  config_.lease_duration = std::chrono::milliseconds{1500};
  config_.renew_deadline = std::chrono::milliseconds{1000};
  config_.lease_retry_period = std::chrono::milliseconds{100};
  app_ = std::make_unique<app::App>(tasks_, transport_, cluster_, config_, drivers_.seams(),
                                    Random::from_entropy());
  attached_ = drivers_.attach(*app_, config_.drain);
  main_ = tasks_.spawn("controller", [this](std::stop_token stop) {
    const Result<> ran = app::serve(*app_, config_, {.tasks = tasks_, .stop = stop});
    if (stop.stop_requested()) return;
    const MutexLock lock(mu_);
    end_ = ran ? error_of(Code::internal, "it ended by itself") : ran.error();
  });
  return {};
}

Result<> OutageHouse::create_room() {
  auto rooms = edge::EchoStation::start();
  if (!rooms) return pass(rooms);
  rooms_ = std::move(*rooms);
  const std::string ip = own_address("room");
  auto room = rooms_->open({.at = {ip, kRoomPort}});
  if (!room) return pass(room);
  room_ = std::move(*room);
  door_ = {own_address("door"), kDoorPort};

  const kube::ObjectKey pod{"games", "room"};
  if (Result<> made = make(kube::types::kNamespace, kNamespace); !made) return made;
  // The webhooks come last of the controller.
  if (Result<> there = wait_for(kube::types::kMutatingWebhookConfiguration, {"", "berth"},
                                "/metadata/name", "berth");
      !there)
    return there;
  if (Result<> made = make(api::port_pool_kind().type, kPool); !made) return made;
  if (Result<> ready =
          wait_for(api::port_pool_kind().type, {"games", "rooms"}, "/status/status", "Ready");
      !ready)
    return ready;
  if (Result<> made = make(kube::types::kPod, kRoom); !made) return made;
  const wire::Value running =
      wire::Object{{"status", wire::Object{{"phase", "Running"},
                                           {"podIP", ip},
                                           {"podIPs", wire::Array{wire::Object{{"ip", ip}}}}}}};
  const auto runs = client_->patch(patiently(), kube::types::kPod, pod, kube::PatchType::merge,
                                   running, {.subresource = "status"});
  if (!runs) return fail(runs.error());
  return wait_for(kube::types::kPod, pod,
                  "/metadata/annotations/" + wire::escape_pointer_step(api::kBindStatusAnnotation),
                  "Ready");
}

Result<> OutageHouse::make(const kube::ResourceType& type, std::string_view yaml) {
  const Result<wire::Value> object = wire::parse_yaml(yaml);
  if (!object) return fail(object.error());
  const Context context = patiently();
  for (;;) {
    const auto made = client_->create(context, type, *object);
    if (made || made.error().code == Code::already_exists) return {};
    if (context.expired()) return fail(made.error());
    (void)sleep_for(tasks_, kPollInterval, {});
  }
}

Result<> OutageHouse::wait_for(const kube::ResourceType& type, const kube::ObjectKey& key,
                               const std::string& pointer, std::string_view value) {
  const Context context = patiently();
  for (;;) {
    const auto found = client_->get(context, type, key);
    if (found && wire::string_at(*found, pointer) == value) return {};
    if (context.expired()) {
      return fail(Code::timeout, "{} of {} is not {}: {}", pointer, key.to_string(), value,
                  found ? wire::to_json(*found) : found.error().to_string());
    }
    (void)sleep_for(tasks_, kPollInterval, {});
  }
}

std::optional<Error> OutageHouse::end() const {
  const MutexLock lock(mu_);
  return end_;
}

void OutageHouse::take_server_away() {
  api_->server().faults().refuse_next(
      {}, {.code = 503, .reason = "ServiceUnavailable", .message = "out of service"}, kEverything);
}

void OutageHouse::bring_server_back() { api_->server().faults().clear(); }

Result<> OutageHouse::give_lease_away() {
  const auto given = client_->patch(
      patiently(), kube::types::kLease, {config_.ns, "berth"}, kube::PatchType::merge,
      wire::Object{
          {"spec", wire::Object{{"holderIdentity", "another"}, {"leaseDurationSeconds", 3600}}}});
  if (!given) return fail(given.error());
  return {};
}

}  // namespace berth::testing
