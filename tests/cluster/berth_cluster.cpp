#include "berth_cluster.h"

#include <fmt/format.h>
#include <signal.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "api/pod_ports.h"
#include "rooms.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;
const std::string kProbeNamespace = "probe";

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const kube::ResourceType* find_type(const Value& object) {
  const std::string_view kind = wire::string_at(object, "/kind");
  for (const kube::ResourceType* type : known_types())
    if (type->kind == kind) return type;
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<BerthCluster>> BerthCluster::start(BerthClusterOptions options) {
  std::unique_ptr<BerthCluster> out(new BerthCluster);
  out->options_ = std::move(options);
  auto port = testing::ReservedPort::take();
  if (!port) return fail(Code::unavailable, "{}", port.error());
  out->webhook_port_.emplace(std::move(*port));
  if (out->options_.before_api_server)
    out->options_.before_api_server(out->webhook_port_->number());
  const bool now = out->options_.with_workloads;
  auto plane = testing::ControlPlane::start({.with_workloads = true,
                                             .workloads_later = !now,
                                             .nodes = 3,
                                             .pod_cidr = now ? "10.64.0.0/12" : "10.72.0.0/13",
                                             .api_server_args = out->options_.api_server_args});
  if (!plane) return fail(Code::unavailable, "{}", plane.error());
  out->plane_ = std::move(*plane);
  auto config = kube::load_config({.explicit_file = out->plane_->kubeconfig_path().string()});
  if (!config) return pass(config);
  out->client_ = std::make_unique<kube::Client>(out->transport_, *config);

  if (out->options_.as_plain_user) {
    const auto bound = out->plane_->kubectl(
        {"create", "clusterrolebinding", "plain", "--clusterrole=cluster-admin",
         fmt::format("--user={}", testing::ControlPlane::kUserName)});
    if (!bound.ok()) return fail(Code::unavailable, "{}", bound.err);
  }
  if (out->options_.with_workloads) out->make_namespace(kProbeNamespace);
  for (std::size_t i = 0; i < out->options_.replicas; ++i) out->start_replica();
  if (out->options_.replicas == 0) return out;
  if (!eventually(kPatience, [&] { return out->serves(); }))
    return fail(Code::timeout, "no leader, or its webhooks are not called: {}", out->logs());
  return out;
}

BerthCluster::~BerthCluster() {
  for (Replica& replica : replicas_) {
    if (!replica.process.running()) continue;
    ::kill(replica.process.pid(), SIGCONT);
    replica.process.terminate();
  }
  for (Replica& replica : replicas_) replica.process.stop(10s);
}

// A Pod that asks for nonsense is refused only by us.
bool BerthCluster::serves() {
  if (!leader()) return false;
  const Result<Value> made =
      create(bare_room(kProbeNamespace, "probe", "none of these words is a pool"), true);
  return !made && made.error().to_string().find("none of these") != std::string::npos;
}

std::size_t BerthCluster::start_replica() {
  const auto log = plane_->directory() / fmt::format("berth-{}.log", replicas_.size());
  const bool plain = options_.as_plain_user;
  const auto kubeconfig = options_.kubeconfig ? options_.kubeconfig(*plane_)
                          : plain             ? plane_->user_kubeconfig_path()
                                              : plane_->kubeconfig_path();
  std::vector<std::string> args{"controller",
                                "--kubeconfig",
                                kubeconfig.string(),
                                "--user",
                                plain ? std::string(testing::ControlPlane::kUserName) : "admin",
                                "--share-webhook-port",
                                fmt::format("--webhook-port={}", webhook_port_->number())};
  args.insert(args.end(), options_.edge_args.begin(), options_.edge_args.end());
  args.insert(args.end(), options_.controller_args.begin(), options_.controller_args.end());
  const std::filesystem::path program =
      options_.program.empty() ? std::filesystem::path(BERTH_PROGRAM) : options_.program;
  auto started = testing::Process::spawn({program, std::move(args), {}}, log);
  if (!started) {
    fmt::print(stderr, "{}\n", started.error());
    std::abort();
  }
  replicas_.push_back({std::move(*started), log});
  return replicas_.size() - 1;
}

bool BerthCluster::wait_until_ready(std::size_t number) {
  return eventually(kPatience, [&] {
    return read_all(replicas_[number].log).find("listening") != std::string::npos;
  });
}

void BerthCluster::kill_replica(std::size_t number) {
  testing::Process& process = replicas_[number].process;
  replicas_[number].given_up = true;
  ::kill(process.pid(), SIGKILL);
  (void)process.wait(10s);
}

void BerthCluster::stop_replica(std::size_t number) {
  replicas_[number].given_up = true;
  replicas_[number].process.stop(kPatience);
}

void BerthCluster::hold_replica(std::size_t number) {
  ::kill(replicas_[number].process.pid(), SIGSTOP);
}

void BerthCluster::resume_replica(std::size_t number) {
  ::kill(replicas_[number].process.pid(), SIGCONT);
}

std::optional<std::size_t> BerthCluster::leader() {
  const Result<Value> lease = get(kube::types::kLease, "default", "berth");
  if (!lease) return std::nullopt;
  const std::string_view holder = wire::string_at(*lease, "/spec/holderIdentity");
  for (std::size_t i = 0; i < replicas_.size() && !holder.empty(); ++i) {
    if (replicas_[i].process.running() &&
        read_all(replicas_[i].log).find(holder) != std::string::npos)
      return i;
  }
  return std::nullopt;
}

std::size_t BerthCluster::wait_for_leader() {
  std::optional<std::size_t> found;
  (void)eventually(kPatience, [&] {
    tend();
    return (found = leader()).has_value();
  });
  return found.value_or(0);
}

void BerthCluster::replace_leader() {
  kill_replica(wait_for_leader());
  start_replica();
}

void BerthCluster::replace_all() {
  const std::size_t before = replicas_.size();
  for (std::size_t i = 0; i < before; ++i)
    if (runs(i)) kill_replica(i);
  for (std::size_t i = 0; i < options_.replicas; ++i) start_replica();
  (void)wait_for_leader();
}

void BerthCluster::tend() {
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i].given_up || replicas_[i].process.running()) continue;
    replicas_[i].given_up = true;
    fmt::print("replica {} ended and is replaced\n", i);
    start_replica();
  }
}

std::string BerthCluster::logs(std::size_t first) const {
  std::string out;
  for (std::size_t i = first; i < replicas_.size(); ++i)
    out +=
        fmt::format("--- {}\n{}", replicas_[i].log.filename().string(), read_all(replicas_[i].log));
  return out;
}

std::string BerthCluster::make_namespace(const std::string& name) {
  (void)create(Object{
      {"apiVersion", "v1"},
      {"kind", "Namespace"},
      {"metadata", Object{{"name", name}, {"labels", Object{{api::kInjectLabel, "true"}}}}}});
  // Made by a controller; Pods need it.
  (void)eventually(kPatience,
                   [&] { return get(kube::types::kServiceAccount, name, "default").has_value(); });
  return name;
}

Result<Value> BerthCluster::create(const Value& object, bool dry_run) {
  const kube::ResourceType* const type = find_type(object);
  if (!type) return fail(Code::invalid, "unknown kind in {}", wire::to_json(object));
  return client_->create(context(), *type, object, {.dry_run = dry_run});
}

Result<Value> BerthCluster::get(const kube::ResourceType& type, const std::string& ns,
                                const std::string& name) {
  return client_->get(context(), type, {ns, name});
}

std::vector<Value> BerthCluster::list(const kube::ResourceType& type, const std::string& ns,
                                      const std::string& labels) {
  Result<kube::ListPage> page =
      client_->list_all(context(), type, {.ns = ns, .label_selector = labels});
  return page ? std::move(page->items) : std::vector<Value>{};
}

Result<Value> BerthCluster::merge(const kube::ResourceType& type, const std::string& ns,
                                  const std::string& name, const Value& patch) {
  return client_->patch(context(), type, {ns, name}, kube::PatchType::merge, patch);
}

Result<> BerthCluster::remove(const kube::ResourceType& type, const std::string& ns,
                              const std::string& name) {
  return client_->remove(context(), type, {ns, name});
}

}  // namespace berth
