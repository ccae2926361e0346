#include "house.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/pod_ports.h"
#include "api/port_pool.h"

namespace berth::bench {
namespace {

constexpr int kItemPorts = 4000;
constexpr int kFirstPort = 1000;
constexpr Duration kLookAgain = std::chrono::milliseconds{20};

bool is_counted_write(const net::Request& request) {
  return request.method != "GET" && request.url.find("/leases") == std::string::npos &&
         request.url.find("/events") == std::string::npos;
}

}  // namespace

Result<net::Response> CountingTransport::call(const Context& context, const net::Request& request) {
  if (is_counted_write(request)) ++writes_;
  return inner_.call(context, request);
}

Result<std::unique_ptr<House>> House::open(const std::string& kubeconfig, lb::Driver& driver) {
  std::unique_ptr<House> house(new House());
  if (Result<> opened = house->session_.open(kubeconfig); !opened) return pass(opened);
  auto cluster = kube::load_kubeconfig({kubeconfig}, "");
  if (!cluster) return pass(cluster);
  house->own_ = std::make_unique<net::CurlTransport>();
  house->counter_ = std::make_unique<CountingTransport>(*house->own_);
  house->config_.identity = "bench";
  house->config_.elect_leader = false;
  house->config_.quarantine = {};
  house->config_.user.user = "admin";
  house->app_ = std::make_unique<app::App>(
      house->tasks(), *house->counter_, *cluster, house->config_,
      [&driver](const model::LoadBalancerRef&) { return &driver; }, Random::from_entropy());
  const Instant begin = house->tasks().now();
  house->main_ = house->tasks().spawn("controller", [raw = house.get()](std::stop_token stop) {
    const Context context{.tasks = raw->tasks(), .stop = std::move(stop)};
    (void)app::serve(*raw->app_, raw->config_, context);
  });
  const Context context = house->patiently();
  const net::Request question{.method = "GET", .url = "/readyz"};
  while (house->app_->health().handle(question).status != 200) {
    if (!sleep_for(house->tasks(), std::chrono::milliseconds{1}, {}) || context.expired())
      return fail(Code::timeout, "the controller did not start");
  }
  house->took_ = house->tasks().now() - begin;
  return house;
}

Result<> House::wait_until_leading() {
  const Context context = patiently();
  while (!app_->leading()) {
    if (!sleep_for(tasks(), std::chrono::milliseconds{1}, {}) || context.expired())
      return fail(Code::timeout, "the controller does not lead");
  }
  return {};
}

House::~House() { main_.reset(); }

Result<> House::need_namespace() {
  const wire::Value object = wire::Object{
      {"apiVersion", "v1"},
      {"kind", "Namespace"},
      {"metadata",
       wire::Object{{"name", "games"}, {"labels", wire::Object{{api::kInjectLabel, "true"}}}}}};
  const auto made = client().create(patiently(), kube::types::kNamespace, object);
  if (!made && made.error().code != Code::already_exists) return fail(made.error());
  return {};
}

Result<> House::need_pool(const std::string& name, int ports) {
  if (client().get(patiently(), api::port_pool_kind().type, {"games", name})) return {};
  if (Result<> made = create_pool(name, ports, "TCP", {"lb-" + name}); !made) return made;
  return wait_for_pool(name);
}

Result<> House::create_pool(const std::string& name, int ports, const std::string& protocol,
                            std::vector<std::string> load_balancers) {
  wire::Array items;
  for (int begin = 0; begin < ports; begin += kItemPorts) {
    wire::Array ids;
    // Each item on load balancers of its own: ports are few on one.
    for (const std::string& lb : load_balancers)
      ids.emplace_back(fmt::format("{}-{}", lb, begin / kItemPorts));
    items.push_back(wire::Object{{"itemName", fmt::format("item{}", begin / kItemPorts)},
                                 {"loadBalancerIDs", ids},
                                 {"protocol", protocol},
                                 {"startPort", kFirstPort},
                                 {"endPort", kFirstPort + std::min(kItemPorts, ports - begin)}});
  }
  const kube::ResourceType& type = api::port_pool_kind().type;
  const auto made = client().create(
      patiently(), type,
      wire::Object{{"apiVersion", type.api_version()},
                   {"kind", type.kind},
                   {"metadata", wire::Object{{"namespace", "games"}, {"name", name}}},
                   {"spec", wire::Object{{"poolItems", items}}}});
  if (!made) return fail(made.error());
  return {};
}

Result<> House::wait_for_pool(const std::string& name) {
  const Context context = patiently();
  for (;;) {
    const auto pool = client().get(context, api::port_pool_kind().type, {"games", name});
    if (!pool) return fail(pool.error());
    if (wire::string_at(*pool, "/status/status") == api::kReady) return {};
    if (!sleep_for(tasks(), kLookAgain, {}) || context.expired())
      return fail(Code::timeout, "pool {} was not filled: {}", name,
                  wire::to_json(*pool).substr(0, 2000));
  }
}

Result<> House::remove_pool(const std::string& name) {
  const Context context = patiently();
  const kube::ResourceType& type = api::port_pool_kind().type;
  if (Result<> removed = client().remove(context, type, {"games", name}); !removed) return removed;
  for (;;) {
    const auto pool = client().get(context, type, {"games", name});
    if (!pool && pool.error().code == Code::not_found) return {};
    if (!sleep_for(tasks(), kLookAgain, {}) || context.expired())
      return fail(Code::timeout, "pool {} did not go", name);
  }
}

wire::Value room(const std::string& name, const std::string& ask) {
  return wire::Object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", wire::Object{{"namespace", "games"},
                                {"name", name},
                                {"annotations", wire::Object{{api::kPortPoolsAnnotation, "true"},
                                                             {api::kPortsAnnotation, ask}}}}},
      {"spec",
       wire::Object{
           {"containers", wire::Array{wire::Object{
                              {"name", "room"},
                              {"image", "room:1"},
                              {"ports", wire::Array{wire::Object{{"containerPort", 8000}}}}}}}}}};
}

std::string review_of(const wire::Value& pod) {
  return wire::to_json(wire::Object{
      {"apiVersion", "admission.k8s.io/v1"},
      {"kind", "AdmissionReview"},
      {"request",
       wire::Object{
           {"uid", "00000000-0000-4000-8000-000000000001"},
           {"operation", "CREATE"},
           {"namespace", "games"},
           {"name", wire::string_at(pod, "/metadata/name")},
           {"resource", wire::Object{{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
           {"object", pod}}}});
}

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(last * p)];
}

}  // namespace berth::bench
