#include "stage.h"

#include <unistd.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "support/promise.h"

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;
constexpr auto kCommandTimeout = 60s;
// Who else may use the victim's pool: somebody who is not here.
constexpr std::string_view kAllowedNamespaces = "berth.dev/allowed-namespaces";
constexpr int kVictimFirst = 30000;
constexpr int kVictimPorts = 6;
constexpr std::size_t kVictimRooms = 3;
constexpr int kHonestPorts = 40;
constexpr int kFirstPlace = 10000;
constexpr int kPlaceSize = 20;
constexpr int kPlaces = 900;
// As many as may be harmed before nobody looks any more.
constexpr int kMaxVictims = 40;

// One replica, which nothing here kills: it must not lose its lease because the machine is busy.
// Claims whose Pod never comes are given back soon enough to be waited for.
const std::vector<std::string> kControllerArgs{
    "--without-guard",         "--quarantine-seconds=0.5",
    "--lease-seconds=40",      "--renew-deadline-seconds=30",
    "--lease-retry-seconds=2", "--claim-lifetime-seconds=10"};

std::string victim_name(int number) { return fmt::format("victim-{}", number); }
std::string bare_id(const std::string& name) { return load_balancer_id(name).substr(5); }

// On loopback, where no target may be: so no `--edge-loopback`. Others on this machine use others.
std::vector<std::string> edge_addresses() {
  const int us = ::getpid();
  std::vector<std::string> names{"honest", "spare"};
  for (int i = 0; i < kMaxVictims; ++i) names.push_back(victim_name(i));
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.push_back(fmt::format("--edge-address={}=127.{}.{}.{}", bare_id(names[i]), 128 + us % 64,
                              us / 64 % 254 + 1, i + 1));
  return out;
}

// The controller has few files, so that a crowd can take them all: a node gives it a hundred times
// as many, and an attacker has a hundred times as many addresses.
Result<std::filesystem::path> with_few_files(const std::filesystem::path& folder) {
  const std::filesystem::path script = folder / "berth";
  const std::string text =
      fmt::format("#!/bin/sh\nulimit -Hn 4096\nulimit -Sn 1024\nexec '{}' \"$@\"\n", BERTH_PROGRAM);
  if (Result<> written = write_file(script.string(), text, 0700); !written) return pass(written);
  return script;
}

std::string ready_since(const Value& pod) {
  const Array* conditions = wire::array_at(pod, "/status/conditions");
  for (const Value& one : conditions ? *conditions : Array{})
    if (wire::string_at(one, "/type") == "Ready")
      return std::string(wire::string_at(one, "/lastTransitionTime"));
  return {};
}

std::map<std::string, std::string> ready_times(BerthCluster& cluster, const std::string& ns) {
  std::map<std::string, std::string> out;
  for (const Value& pod : cluster.list(kube::types::kPod, ns))
    out[std::string(wire::string_at(pod, "/metadata/name"))] = ready_since(pod);
  return out;
}

kube::ResourceType policy_type(const Value& object) {
  const std::string kind(wire::string_at(object, "/kind"));
  const bool binding = kind.ends_with("Binding");
  return {"admissionregistration.k8s.io", "v1",
          binding ? "validatingadmissionpolicybindings" : "validatingadmissionpolicies", kind,
          false};
}

Result<Array> printed_policies() {
  const auto printed =
      testing::run({BERTH_PROGRAM, {"manifests", "-o", "json"}, {}}, "", kCommandTimeout);
  const Result<Value> list = wire::parse_json(printed.out);
  if (!list) return fail(list.error());
  Array out;
  const Array* items = wire::array_at(*list, "/items");
  for (const Value& item : items ? *items : Array{})
    if (wire::string_at(item, "/kind").starts_with("ValidatingAdmissionPolicy"))
      out.push_back(item);
  return out;
}

}  // namespace

Result<std::unique_ptr<Stage>> Stage::open() {
  std::unique_ptr<Stage> out(new Stage);
  auto folder = testing::ScratchDir::create("berth-adversary");
  if (!folder) return fail(Code::unavailable, "{}", folder.error());
  out->scripts_.emplace(std::move(*folder));
  const Result<std::filesystem::path> program = with_few_files(out->scripts_->path());
  if (!program) return fail(program.error());
  auto cluster = BerthCluster::start({.replicas = 1,
                                      .program = *program,
                                      .edge_args = edge_addresses(),
                                      .controller_args = kControllerArgs});
  if (!cluster) return pass(cluster);
  out->cluster_ = std::move(*cluster);
  out->trap_ = std::make_unique<Trap>();
  auto honest = Tenant::make(
      *out->cluster_, out->transport_, "honest",
      {.load_balancer = load_balancer_id("honest"), .first = 30000, .ports = kHonestPorts});
  if (!honest) return pass(honest);
  out->honest_ = std::move(*honest);
  if (Result<> made = out->honest_->ask_for_pool(); !made) return fail(made.error());
  if (Result<> made = out->make_victim(); !made) return fail(made.error());
  if (const std::string why = out->honest_->wait_for_pool(); !why.empty())
    return fail(Code::timeout, "{}", why);
  return out;
}

Result<> Stage::make_victim() {
  const std::string ns = cluster_->make_namespace(victim_name(victims_++));
  victim_ = {.ns = ns, .load_balancer = load_balancer_id(ns)};
  Value wanted = pool(ns, "rooms",
                      {{.load_balancers = {victim_.load_balancer},
                        .start = kVictimFirst,
                        .end = kVictimFirst + kVictimPorts}});
  wanted.as_object()["metadata"].as_object()["annotations"] =
      Object{{kAllowedNamespaces, "friends"}};
  if (Result<> made = make_pool(*cluster_, wanted); !made) return made;
  const RoomsSpec rooms_spec{.ns = ns, .name = "room", .replicas = static_cast<int>(kVictimRooms)};
  if (Result<Value> made = cluster_->create(workload(rooms_spec)); !made) return fail(made.error());
  if (const std::string why = settle(*cluster_, ns, kVictimRooms); !why.empty())
    return fail(Code::timeout, "the victim is not settled: {}", why);
  victim_.rooms = rooms(*cluster_, ns);
  victim_.ready_since = ready_times(*cluster_, ns);
  victim_.pod = cluster_->get(kube::types::kPod, ns, "room-0").value_or(Value());
  victim_.pool = cluster_->get(api::port_pool_kind().type, ns, "rooms").value_or(Value());
  for (const Value& listener : cluster_->list(api::listener_kind().type, ns)) {
    const std::string_view claim = annotation(listener, ledger::kClaimAnnotation);
    if (claim.empty()) victim_.free_listener = listener;
    if (claim.find("\"room-0\"") != std::string::npos) victim_.listener = listener;
  }
  return {};
}

Result<> Stage::replace_victim() {
  (void)cluster_->remove(kube::types::kNamespace, "", victim_.ns);
  return make_victim();
}

Result<> Stage::set_guard(bool up) {
  if (guarded_ == up) return {};
  const Result<Array> policies = printed_policies();
  if (!policies) return fail(policies.error());
  for (const Value& policy : *policies) {
    const kube::ResourceType type = policy_type(policy);
    const auto name = std::string(wire::string_at(policy, "/metadata/name"));
    const Result<Value> made =
        up ? cluster_->client().create(cluster_->context(), type, policy) : Result<Value>(policy);
    if (!made) return fail(made.error());
    if (!up) (void)cluster_->remove(type, "", name);
  }
  // The server takes a moment to learn of it.
  const Value forged = copy_of(victim_.listener, honest_->ns());
  const bool learned = eventually(kPatience, [&] {
    const Result<Value> tried = honest_->client().create(
        cluster_->context(), api::listener_kind().type, forged, {.dry_run = true});
    return up ? !tried && tried.error().to_string().find("by Berth alone") != std::string::npos
              : tried.has_value();
  });
  if (!learned) return fail(Code::timeout, "the guard is not {}", up ? "up" : "down");
  guarded_ = up;
  return {};
}

std::string Stage::prepare(const std::vector<Cast>& cast) {
  for (const Cast& one : cast) {
    auto made = Tenant::make(*cluster_, transport_, one.name,
                             {.load_balancer = victim_.load_balancer,
                              .first = kFirstPlace + kPlaceSize * (places_++ % kPlaces)});
    if (!made) return one.name + ": " + made.error().to_string();
    if (one.pool) {
      if (Result<> asked = (*made)->ask_for_pool(); !asked)
        return one.name + ": " + asked.error().to_string();
    }
    tenants_[one.name] = std::move(*made);
  }
  for (const Cast& one : cast) {
    if (!one.pool) continue;
    if (std::string why = tenants_[one.name]->wait_for_pool(); !why.empty()) return why;
    if (!one.room) continue;
    if (Result<> asked = tenants_[one.name]->ask_for_room("own"); !asked)
      return one.name + ": " + asked.error().to_string();
  }
  for (const Cast& one : cast) {
    if (!one.room) continue;
    if (std::string why = tenants_[one.name]->wait_for_room("own"); !why.empty()) return why;
  }
  return {};
}

Tenant* Stage::tenant(const std::string& name) {
  const auto it = tenants_.find(name);
  return it == tenants_.end() ? nullptr : it->second.get();
}

std::string Stage::harm() {
  cluster_->tend();
  if (std::string why = unsettled(*cluster_, victim_.ns, kVictimRooms); !why.empty()) return why;
  if (std::string why = room_harm(); !why.empty()) return why;
  const Result<Value> pool = cluster_->get(api::port_pool_kind().type, victim_.ns, "rooms");
  if (!pool || wire::string_at(*pool, "/status/status") != api::kReady)
    return "its pool is not Ready";
  return neighbour_harm();
}

std::string Stage::room_harm() {
  if (ready_times(*cluster_, victim_.ns) != victim_.ready_since)
    return "a room was not Ready for a while";
  const std::vector<Room> now = rooms(*cluster_, victim_.ns);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Room& before = victim_.rooms[i];
    if (now[i].uid != before.uid) return before.name + " is another Pod";
    if (address_of(now[i]) != address_of(before))
      return testing::broken_promise(
          fmt::format("{} moved to {}", before.name, address_of(now[i])));
    if (!answers(api::public_address(now[i].ports.front())))
      return fmt::format("nobody answers at {}", address_of(now[i]));
  }
  return {};
}

std::string Stage::neighbour_harm() {
  for (const Value& pod : cluster_->list(kube::types::kPod, "")) {
    if (wire::string_at(pod, "/metadata/namespace") == victim_.ns) continue;
    const Room other = room_of(pod);
    if (other.told != api::kReady && !other.gate_open) continue;
    for (const api::PortBindingItem& port : other.ports)
      if (port.load_balancer_ids.front() == victim_.load_balancer &&
          port.start_port >= kVictimFirst && port.start_port < kVictimFirst + kVictimPorts)
        return testing::broken_promise(
            fmt::format("{} is Ready on port {} of the victim", other.name, port.start_port));
  }
  return {};
}

std::string Stage::fence() {
  const std::string name = fmt::format("fence-{}", fences_++);
  if (Result<> made = honest_->ask_for_room(name); !made)
    return "somebody honest is refused: " + made.error().to_string();
  if (std::string why = honest_->wait_for_room(name); !why.empty()) return why;
  (void)honest_->remove(kube::types::kPod, honest_->ns(), name);
  return {};
}

std::string Stage::spare_load_balancer() const { return load_balancer_id("spare"); }

Stage::OpenRoom Stage::open_room(const Room& room) {
  if (!programs_) {
    auto started = edge::EchoStation::start();
    if (started) programs_ = std::move(*started);
  }
  const auto port = static_cast<model::Port>(room.ports.front().rs_start_port);
  auto opened = programs_ ? programs_->open({.at = {room.ip, port}})
                          : Result<std::unique_ptr<edge::EchoStation::Place>>(
                                fail(Code::unavailable, "no sockets"));
  if (opened) return {std::move(*opened)};
  fmt::print("nobody is in {}: {}\n", room.name, opened.error().to_string());
  return {};
}

bool Stage::answers(const std::string& address) { return connect_to(address).valid(); }

bool Stage::leads_to_trap(const std::string& address) {
  const int before = trap_->visits();
  const Fd connection = connect_to(address);
  const std::string words = connection.valid() ? first_words(connection) : std::string();
  return !words.empty() || trap_->visits() != before;
}

}  // namespace berth::adversary
