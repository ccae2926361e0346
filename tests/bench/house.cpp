#include "house.h"

#include <algorithm>
#include <boost/json.hpp>
#include <thread>

#include "api/listener.h"
#include "api/pod_ports.h"
#include "api/port_pool.h"

namespace berth::bench {
namespace {

constexpr int kItemPorts = 4000;
constexpr int kFirstPort = 1000;
constexpr Duration kPollInterval = std::chrono::milliseconds{20};
constexpr Duration kQuiet = std::chrono::seconds{4};

bool is_counted_write(const net::Request& request) {
  return request.method != "GET" && request.url.find("/leases") == std::string::npos &&
         request.url.find("/events") == std::string::npos;
}

std::uint16_t port_of(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

}  // namespace

Result<net::Response> CountingTransport::call(const Context& context, const net::Request& request) {
  if (is_counted_write(request)) ++writes_;
  return inner_.call(context, request);
}

Result<std::unique_ptr<House>> House::open(const std::string& kubeconfig, lb::Drivers drivers,
                                           std::uint16_t webhook_port) {
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
  house->config_.webhook_port = webhook_port;
  house->app_ =
      std::make_unique<app::App>(house->tasks(), *house->counter_, *cluster, house->config_,
                                 std::move(drivers), Random::from_entropy());
  const Instant begin = house->tasks().now();
  house->main_ = house->tasks().spawn("controller", [raw = house.get()](std::stop_token stop) {
    const Context context{.tasks = raw->tasks(), .stop = std::move(stop)};
    (void)app::serve(*raw->app_, raw->config_, context, [raw](const app::Endpoints& endpoints) {
      raw->webhook_port_ = port_of(endpoints.webhooks);
    });
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
  const wire::Object pool{{"apiVersion", type.api_version()},
                          {"kind", type.kind},
                          {"metadata", wire::Object{{"namespace", "games"}, {"name", name}}},
                          {"spec", wire::Object{{"poolItems", items}}}};
  const Context context = patiently();
  for (;;) {
    const auto made = client().create(context, type, pool);
    if (made) return {};
    // The server still calls the webhooks of the house before us, or does not know the kind yet.
    const bool installing =
        made.error().code == Code::unavailable || made.error().code == Code::not_found;
    if (!installing || !sleep_for(tasks(), kPollInterval, {}) || context.expired())
      return fail(made.error());
  }
}

Result<> House::wait_for_pool(const std::string& name) {
  const Context context = patiently();
  for (;;) {
    const auto pool = client().get(context, api::port_pool_kind().type, {"games", name});
    if (!pool) return fail(pool.error());
    if (wire::string_at(*pool, "/status/status") == api::kReady) return {};
    if (!sleep_for(tasks(), kPollInterval, {}) || context.expired())
      return fail(Code::timeout, "pool {} was not filled: {}", name,
                  wire::to_json(*pool).substr(0, 2000));
  }
}

void House::wait_until_quiet() {
  const Context context = patiently();
  std::uint64_t before = writes() + 1;
  while (writes() != before && !context.expired()) {
    before = writes();
    if (!sleep_for(tasks(), kQuiet, {})) return;
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

double milliseconds(Duration span) { return to_seconds(span) * 1e3; }

void on_threads(int threads, int count, const std::function<void(int)>& work) {
  std::atomic<int> next{0};
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int i = next++; i < count; i = next++) work(i);
    });
  }
}

Result<BarePatches> bare_patches(House& house, const std::string& pool, int clients, int count) {
  const kube::ResourceType& type = api::listener_kind().type;
  const auto page =
      house.client().list(house.patiently(), type,
                          {.ns = "games", .label_selector = "owner-name=" + pool, .limit = 64});
  if (!page) return fail(page.error());
  if (page->items.empty()) return fail(Code::not_found, "pool {} has no Listeners", pool);
  std::vector<double> times(static_cast<std::size_t>(count));
  std::atomic<int> failures{0};
  const Instant begin = house.tasks().now();
  on_threads(clients, count, [&](int i) {
    const wire::Value& object = page->items[static_cast<std::size_t>(i) % page->items.size()];
    const kube::ObjectKey key{"games", std::string(wire::string_at(object, "/metadata/name"))};
    const wire::Array patch{
        wire::Object{{"op", "test"}, {"path", "/metadata/deletionTimestamp"}, {"value", nullptr}},
        wire::Object{{"op", "add"},
                     {"path", "/metadata/annotations/bench"},
                     {"value", std::string(200, 'a' + static_cast<char>(i % 26))}}};
    const Instant sent = house.tasks().now();
    if (!house.client().patch(house.patiently(), type, key, kube::PatchType::json, patch))
      ++failures;
    times[static_cast<std::size_t>(i)] = milliseconds(house.tasks().now() - sent);
  });
  if (failures > 0) return fail(Code::internal, "{} patches failed", failures.load());
  const double took = to_seconds(house.tasks().now() - begin);
  return BarePatches{std::move(times), count / took};
}

Result<std::unique_ptr<House>> embedded_house(Environment& environment, lb::Drivers drivers) {
  Result<std::string> kubeconfig = environment.fresh_embedded_server();
  if (!kubeconfig) return pass(kubeconfig);
  Result<std::unique_ptr<House>> house = House::open(*kubeconfig, std::move(drivers));
  if (!house) return house;
  if (Result<> leads = (*house)->wait_until_leading(); !leads) return pass(leads);
  if (Result<> made = (*house)->need_namespace(); !made) return pass(made);
  return house;
}

}  // namespace berth::bench
