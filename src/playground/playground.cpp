#include "playground/playground.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>

#include "api/load_balancer.h"
#include "app/serve.h"
#include "base/log.h"
#include "kube/client/client.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"
#include "net/curl_transport.h"
#include "playground/game_stateful_set.h"
#include "playground/kubeconfig_file.h"
#include "playground/natural_order.h"
#include "playground/node_runtime.h"
#include "playground/refused.h"
#include "playground/revival.h"
#include "playground/room_watch.h"
#include "playground/simulated_tencent.h"
#include "providers/edge.h"
#include "providers/tencent.h"
#include "sim/kube/https_frontend.h"
#include "sim/workloads/any_object.h"
#include "sim/workloads/controllers.h"
#include "sim/workloads/loopback_node.h"
#include "wire/yaml.h"

namespace berth::playground {
namespace {

using wire::Value;

// Generous: a machine may be busy with other things, and a person sees what goes on.
constexpr Duration kStartTimeout = std::chrono::seconds{120};
constexpr Duration kPoll = std::chrono::milliseconds{10};
// Nobody waits for work that a playground leaves undone.
constexpr Duration kDrain = std::chrono::seconds{2};

// "PortPool" of "networkextension.../v1" is served under "portpools": good for the kinds of a
// playground's examples.
kube::ResourceType type_of(const Value& document) {
  const std::string version(wire::string_at(document, "/apiVersion"));
  const std::size_t slash = version.find('/');
  std::string kind(wire::string_at(document, "/kind"));
  std::string plural = kind + (kind.ends_with('s') ? "es" : "s");
  for (char& c : plural) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return {.group = slash == std::string::npos ? "" : version.substr(0, slash),
          .version = slash == std::string::npos ? version : version.substr(slash + 1),
          .plural = std::move(plural),
          .kind = std::move(kind),
          .namespaced = !wire::string_at(document, "/metadata/namespace").empty()};
}

// As kubectl does with a document that names none.
Value in_a_namespace(Value document) {
  const std::string_view kind = wire::string_at(document, "/kind");
  const bool cluster_scoped = kind == "Namespace" || kind == "CustomResourceDefinition";
  wire::Value* const metadata = wire::find(document, "/metadata");
  if (cluster_scoped || !metadata || !metadata->is_object()) return document;
  wire::Object& fields = metadata->get_object();
  if (!fields.contains("namespace")) fields["namespace"] = "default";
  return document;
}

// Of "http://127.0.0.1:41234".
std::uint16_t port_of(const std::string& url) {
  return model::parse_port(url.substr(url.rfind(':') + 1)).value_or(0);
}

// "timeout: the controller did not start: caused by ...".
Result<> saying(std::string_view what, Result<> result) {
  if (result || result.error().code == Code::stopped) return result;
  return fail(error_of(result.error().code, "{}", what).because(result.error()));
}

}  // namespace

class Playground::Impl {
 public:
  Impl(Tasks& tasks, Options options)
      : tasks_(tasks), options_(std::move(options)), node_manager_({.drain = kDrain}) {}

  ~Impl() {
    // All of them are told before one is waited for.
    for (const auto* task : {&workloads_task_, &node_task_, &node_events_task_, &app_task_}) {
      if (*task) (*task)->request_stop();
    }
    watch_.reset();
    workloads_task_.reset();
    node_task_.reset();
    node_events_task_.reset();
    app_task_.reset();
    api_.reset();  // nobody asks for logs any more
    node_runtime_.set_node(nullptr);
  }

  Result<> start(const Context& context) {
    if (options_.cluster_kubeconfig.empty()) {
      if (Result<> up = saying("the API server did not start", start_api_server()); !up) return up;
    }
    if (Result<> connected = connect(); !connected) return connected;
    if (api_ || options_.bring_workloads) {
      if (Result<> up = saying("the workload controllers did not start",
                               start_workloads(context.within(kStartTimeout)));
          !up)
        return up;
    }
    if (Result<> up = saying("the load balancer did not start", start_drivers()); !up) return up;
    start_controller();
    start_node();
    if (Result<> ready = wait_until_ready(context.within(kStartTimeout)); !ready) return ready;
    watch_ = std::make_unique<RoomWatch>(tasks_, *client_, Random::from_entropy());
    return saying("the table did not start", watch_->start(context.within(kStartTimeout)));
  }

  const std::string& kubeconfig_path() const {
    return kubeconfig_ ? kubeconfig_->path() : options_.kubeconfig_path;
  }
  kube::Client& client() { return *client_; }
  const RoomWatch& watch() const { return *watch_; }
  std::string ops_url() const {
    const MutexLock lock(mu_);
    return ops_url_;
  }
  Result<> standing() const {
    const MutexLock lock(mu_);
    return ended_ ? Result<>(fail(*ended_)) : Result<>();
  }
  std::size_t controller_restarts() const {
    const MutexLock lock(mu_);
    return restarts_;
  }
  const SimulatedTencent* cloud() const { return cloud_.get(); }

 private:
  Result<> start_api_server() {
    Result<KubeconfigFile> file =
        KubeconfigFile::claim(options_.kubeconfig_path, options_.kubeconfig_or_beside);
    if (!file) return pass(file);
    kubeconfig_.emplace(std::move(*file));
    Result<std::unique_ptr<sim::kube::HttpsFrontend>> api =
        sim::kube::HttpsFrontend::start(tasks_, {.port = options_.api_port,
                                                 .server = {.pod_runtime = &node_runtime_},
                                                 .transport = &transport_});
    if (!api) return pass(api);
    api_ = std::move(*api);
    Result<std::string> kubeconfig = api_->kubeconfig("admin", {"system:masters"});
    if (!kubeconfig) return pass(kubeconfig);
    return kubeconfig_->write(*kubeconfig);
  }

  Result<> connect() {
    const bool embedded = options_.cluster_kubeconfig.empty();
    const std::string& file = embedded ? kubeconfig_path() : options_.cluster_kubeconfig;
    Result<std::shared_ptr<const kube::ClusterConfig>> cluster = kube::load_kubeconfig({file}, "");
    if (!cluster) return pass(cluster);
    cluster_ = std::move(*cluster);
    client_ = std::make_unique<kube::Client>(transport_, cluster_);
    return {};
  }

  // Addresses of this process alone: two playgrounds on one machine do not meet.
  static std::string own_address(const std::string& what) {
    return edge::loopback_address(fmt::format("{}/{}", ::getpid(), what));
  }
  static edge::AddressPlan own_addresses() {
    return [](const model::LoadBalancerRef& lb) {
      const std::string name = lb.region.empty() ? lb.id : lb.region + ":" + lb.id;
      return Result<std::vector<std::string>>({own_address(name)});
    };
  }

  Result<> start_drivers() {
    // Whatever a load balancer is called, it is one of ours, unless a cloud has it.
    Result<app::DriverPart> edge = providers::start_edge(
        {.addresses = own_addresses(),
         .low_ports = options_.low_ports,
         .loopback_targets = true,
         .certificates = providers::secret_certificates(transport_, cluster_)},
        {});
    if (!edge) return pass(edge);
    std::vector<app::DriverPart> parts{std::move(*edge)};
    if (options_.cloud == model::Provider::tencent) {
      Result<app::DriverPart> tencent = start_tencent();
      if (!tencent) return pass(tencent);
      parts.push_back(std::move(*tencent));
    }
    drivers_ = app::DriverSet(std::move(parts));
    return {};
  }

  Result<app::DriverPart> start_tencent() {
    Result<std::unique_ptr<SimulatedTencent>> cloud =
        SimulatedTencent::start(tasks_, Random::from_entropy(),
                                {.low_ports = options_.low_ports,
                                 .load_balancers = options_.cloud_load_balancers,
                                 .policy = options_.cloud_policy});
    if (!cloud) return pass(cloud);
    cloud_ = std::move(*cloud);
    cloud::tencent::Settings settings = cloud_->settings();
    config_.load_balancers = {.provider = model::Provider::tencent,
                              .region = settings.options.region};
    app::DriverPart out = providers::start_tencent(tasks_, to_cloud_, std::move(settings));
    out.avoid = [this](const app::OwnServers& servers) {
      cloud_->avoid(edge::own_endpoints({.api_server = servers.api_server,
                                         .webhooks = servers.webhooks,
                                         .ops = servers.ops,
                                         .others = servers.others}));
    };
    return out;
  }

  void start_controller() {
    config_.identity = "playground";
    config_.version = options_.version;
    config_.cluster_id = "playground";
    config_.user.user = "admin";
    config_.quarantine = options_.quarantine;
    app_task_ = spawn("controller", [this](const Context& own) {
      return keep_running(
          own, {}, [this](const Context& now) { return run_controller(now); },
          [this](const Error& error) {
            log_error("the controller ended and is started again", {{"error", error.to_string()}});
            const MutexLock lock(mu_);
            ++restarts_;
          });
    });
  }

  // One life of it. Its servers are found at the same ports in the next.
  Result<> run_controller(const Context& context) {
    app::App app(tasks_, transport_, cluster_, config_, drivers_.seams(), Random::from_entropy());
    const app::DriverSet::Attached attached = drivers_.attach(app, std::nullopt);
    const app::Config config = config_;
    config_.webhook_port = 0;  // another one, should somebody have taken it meanwhile
    config_.ops_port = 0;
    return app::serve(app, config, context, [this](const app::Endpoints& endpoints) {
      config_.webhook_port = port_of(endpoints.webhooks);
      config_.ops_port = port_of(endpoints.ops);
      drivers_.avoid(app::own_servers(cluster_->server, endpoints));
      const MutexLock lock(mu_);
      ops_url_ = endpoints.ops;
    });
  }

  Result<> start_workloads(const Context& context) {
    Result<Value> definition = wire::parse_yaml(kGameStatefulSetDefinition);
    if (!definition) return pass(definition);
    Result<Value> made =
        client_->create(context, kube::types::kCustomResourceDefinition, *definition);
    if (!made && made.error().code != Code::already_exists) return pass(made);
    workloads_ = std::make_unique<workloads::Controllers>(
        tasks_, *client_, Random::from_entropy(),
        workloads::ControllersOptions{.game_stateful_sets = true});
    workloads_task_ =
        spawn("workloads", [this](const Context& own) { return workloads_->run(own); });
    return {};
  }

  void start_node() {
    node_ = std::make_shared<workloads::LoopbackNode>(
        tasks_, *client_, Random::from_entropy(),
        workloads::NodeOptions{.address = own_address("the node")});
    node_->add_to(node_manager_);
    node_runtime_.set_node(node_);
    node_events_ = std::make_unique<kube::EventRecorder>(tasks_, *client_, "loopback", registry_);
    node_->report_to(*node_events_);
    node_events_task_ = spawn("node events", [this](const Context& own) {
      node_events_->write_all(own);
      return Result<>{};
    });
    node_task_ = spawn("node", [this](const Context& own) { return node_manager_.run(own); });
  }

  // A part that runs until it is stopped; one that ends sooner is for the log and for `standing`.
  std::unique_ptr<Task> spawn(std::string name, std::function<Result<>(const Context&)> run) {
    return tasks_.spawn(name, [this, name, run = std::move(run)](std::stop_token stop) {
      const Context context{.tasks = tasks_, .stop = std::move(stop)};
      const Result<> ran = run(context);
      if (context.stop.stop_requested()) return;
      Error why = error_of(ran ? Code::internal : ran.error().code,
                           "a part of the playground ended: {}", name);
      if (!ran) why.cause = std::make_shared<const Error>(ran.error());
      log_error("a part of the playground ended",
                {{"part", name}, {"error", why.cause ? why.cause->to_string() : ""}});
      const MutexLock lock(mu_);
      if (!ended_) ended_ = std::move(why);
    });
  }

  // The webhook configuration comes last of the controller: once it is there, Pods are admitted.
  Result<> wait_until_ready(const Context& context) {
    for (;;) {
      const auto found =
          client_->get(context, kube::types::kMutatingWebhookConfiguration, {"", "berth"});
      const bool others = node_manager_.leading() && (!workloads_ || workloads_->ready());
      if (found && others) return {};
      if (Result<> sound = standing(); !sound) return sound;
      if (sleep_for(tasks_, kPoll, context.stop) && !context.expired()) continue;
      const char* const late = !found ? "the controller did not start"
                               : !node_manager_.leading()
                                   ? "the node did not start"
                                   : "the workload controllers did not start";
      return saying(
          late, fail(found || context.stop.stop_requested() ? context.end_error() : found.error()));
    }
  }

  Tasks& tasks_;
  const Options options_;
  std::optional<KubeconfigFile> kubeconfig_;  // removed last
  mutable Mutex mu_;
  std::string ops_url_ GUARDED_BY(mu_);
  std::size_t restarts_ GUARDED_BY(mu_) = 0;
  std::optional<Error> ended_ GUARDED_BY(mu_);
  net::CurlTransport transport_;
  net::CurlTransport to_cloud_;
  std::unique_ptr<SimulatedTencent> cloud_;
  NodeRuntime node_runtime_;
  std::unique_ptr<sim::kube::HttpsFrontend> api_;
  std::shared_ptr<const kube::ClusterConfig> cluster_;
  std::unique_ptr<kube::Client> client_;
  app::DriverSet drivers_;
  app::Config config_;  // the controller's task has it from its start on
  metrics::Registry registry_;
  std::unique_ptr<workloads::Controllers> workloads_;
  std::unique_ptr<kube::EventRecorder> node_events_;
  kube::Manager node_manager_;
  std::shared_ptr<workloads::LoopbackNode> node_;
  std::unique_ptr<Task> app_task_;
  std::unique_ptr<Task> workloads_task_;
  std::unique_ptr<Task> node_events_task_;
  std::unique_ptr<Task> node_task_;
  std::unique_ptr<RoomWatch> watch_;
};

Playground::Playground(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Playground::~Playground() = default;

Result<std::unique_ptr<Playground>> Playground::start(const Context& context, Options options) {
  auto impl = std::make_unique<Impl>(context.tasks, std::move(options));
  if (Result<> started = impl->start(context); !started) return pass(started);
  return std::unique_ptr<Playground>(new Playground(std::move(impl)));
}

const std::string& Playground::kubeconfig_path() const { return impl_->kubeconfig_path(); }
std::string Playground::ops_url() const { return impl_->ops_url(); }
Result<> Playground::standing() const { return impl_->standing(); }
std::size_t Playground::controller_restarts() const { return impl_->controller_restarts(); }
std::string Playground::cloud_url() const { return impl_->cloud() ? impl_->cloud()->url() : ""; }
kube::Client& Playground::client() { return impl_->client(); }

Result<> Playground::create(const Context& context, std::string_view yaml) {
  Result<std::vector<Value>> documents = wire::parse_yaml_documents(yaml);
  if (!documents) return pass(documents);
  for (Value& one : *documents) {
    const Value document = in_a_namespace(std::move(one));
    const Result<Value> created = impl_->client().create(context, type_of(document), document);
    if (!created && created.error().code != Code::already_exists) return fail(created.error());
  }
  return {};
}

Result<LowPortsByVip> Playground::low_ports(const Context& context) {
  Result<kube::ListPage> balancers =
      impl_->client().list_all(context, api::load_balancer_kind().type);
  if (!balancers) return pass(balancers);
  LowPortsByVip low;
  for (const Value& balancer : balancers->items) add_low_ports(balancer, low);
  if (impl_->cloud()) impl_->cloud()->add_low_ports(low);
  return low;
}

Result<std::vector<Room>> Playground::rooms(const Context& context) {
  Result<kube::ListPage> pods = impl_->client().list_all(context, kube::types::kPod);
  if (!pods) return pass(pods);
  Result<LowPortsByVip> low = low_ports(context);
  if (!low) return pass(low);
  std::vector<Room> rooms;
  for (const Value& pod : pods->items) {
    if (wants_room(pod)) rooms.push_back(room_of(pod, *low));
  }
  return rooms;
}

namespace {

// Those whose Pods Berth may have refused. A cluster need not have them all.
Result<std::vector<Value>> list_workloads(const Context& context, kube::Client& client) {
  std::vector<Value> out;
  for (const kube::ResourceType& type :
       {kube::types::kStatefulSet, kube::types::kReplicaSet, workloads::types::kGameStatefulSet}) {
    Result<kube::ListPage> page = client.list_all(context, type);
    if (!page && page.error().code == Code::not_found) continue;
    if (!page) return pass(page);
    std::ranges::move(page->items, std::back_inserter(out));
  }
  return out;
}

Result<std::vector<RefusedRow>> list_refused(const Context& context, kube::Client& client,
                                             const std::vector<Value>& pods) {
  Result<std::vector<Value>> workloads = list_workloads(context, client);
  if (!workloads) return pass(workloads);
  const PodCounts counts = count_pods(pods);
  // Most of the time there is none, and nobody need look through the events.
  if (std::ranges::none_of(
          *workloads, [&](const Value& workload) { return is_short_of_pods(workload, counts); }))
    return std::vector<RefusedRow>{};
  Result<kube::ListPage> events = client.list_all(context, kube::types::kEvent);
  if (!events) return pass(events);
  return refused_rows(*workloads, counts, events->items);
}

}  // namespace

Result<Overview> Playground::overview(const Context& context) {
  Overview out;
  Result<kube::ListPage> pods = impl_->client().list_all(context, kube::types::kPod);
  if (!pods) return pass(pods);
  Result<LowPortsByVip> low = low_ports(context);
  if (!low) return pass(low);
  for (const Value& pod : pods->items) {
    const std::string uid(wire::string_at(pod, "/metadata/uid"));
    out.pods.push_back(pod_row(pod, impl_->watch().took(uid), *low));
  }
  Result<kube::ListPage> services = impl_->client().list_all(context, kube::types::kService);
  if (!services) return pass(services);
  for (const Value& service : services->items) out.services.push_back(service_row(service));
  Result<std::vector<RefusedRow>> refused = list_refused(context, impl_->client(), pods->items);
  if (!refused) return pass(refused);
  out.refused = std::move(*refused);
  out.pools = impl_->watch().pools();
  out.controller_restarts = impl_->controller_restarts();
  std::ranges::sort(out.pods, NaturalOrder(), &PodRow::pod);
  std::ranges::sort(out.services, NaturalOrder(), &ServiceRow::service);
  std::ranges::sort(out.refused, NaturalOrder(), &RefusedRow::workload);
  return out;
}

Result<Room> Playground::wait_for_room(const Context& context, const std::string& pod) {
  for (;;) {
    Result<std::vector<Room>> all = rooms(context);
    if (!all) return pass(all);
    for (const Room& room : *all) {
      if (room.pod == pod && room.status == "Ready") return room;
    }
    if (Result<> sound = standing(); !sound) return pass(sound);
    if (!sleep_for(context.tasks, kPoll, context.stop) || context.expired())
      return fail(context.end_error());
  }
}

}  // namespace berth::playground
