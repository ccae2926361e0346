#include "sim/workloads/loopback_node.h"

#include <algorithm>
#include <boost/json.hpp>
#include <deque>

namespace berth::workloads {
namespace {

using kube::ObjectKey;
using kube::Requeue;
using wire::Array;
using wire::Object;
using wire::Value;

// Addresses that are tried for a Pod: another playground on this machine may have the first ones.
constexpr int kMaxAddressTries = 256;
constexpr Duration kTryAgain = std::chrono::seconds{1};
constexpr std::uint32_t kAddresses = 16u * 256 * 254;

ObjectKey key_of(const Value& pod) {
  return {std::string(wire::string_at(pod, "/metadata/namespace")),
          std::string(wire::string_at(pod, "/metadata/name"))};
}

// Names of container ports say what is spoken there, by custom.
bool speaks_http(std::string_view name) { return name == "http" || name.starts_with("http-"); }

}  // namespace

// What a container has written; the station's thread writes too.
class LoopbackNode::Journal {
 public:
  void add(std::string line) {
    const MutexLock lock(mu_);
    if (lines_.size() == kMaxLogLines) lines_.pop_front();
    lines_.push_back(std::move(line));
  }
  std::string text() const {
    const MutexLock lock(mu_);
    std::string out;
    for (const std::string& line : lines_) out += line + "\n";
    return out;
  }

 private:
  mutable Mutex mu_;
  std::deque<std::string> lines_ GUARDED_BY(mu_);
};

// A Pod that runs here. Everything but the journals is the worker's, or does not change.
struct LoopbackNode::Room {
  std::string uid{};
  RunningPod running{};
  std::map<std::string, Environment> environments{};  // by container, as it was when it began
  std::map<std::string, std::shared_ptr<Journal>> journals{};
  Duration stop_time{};
  std::optional<Instant> ends_at{};
  std::int64_t reported_generation = -1;
  std::vector<std::unique_ptr<edge::EchoStation::Place>> places{};
};

LoopbackNode::LoopbackNode(Tasks& tasks, kube::Client& client, Random random, NodeOptions options)
    : client_(client),
      options_(std::move(options)),
      given_addresses_(static_cast<std::uint32_t>(random.below(kAddresses))),
      pods_(tasks, client, kube::pod_projection({.owners = false}), random.fork()),
      node_ports_(tasks, client, pods_.store(), random.fork(), options_.address),
      controller_(tasks, {.name = "loopback-node"},
                  [this](const Context& context, const ObjectKey& key) {
                    return reconcile(context, key);
                  }) {
  controller_.watch(pods_.store(),
                    [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
}

LoopbackNode::~LoopbackNode() {
  controller_.stop({});
  std::map<ObjectKey, std::shared_ptr<Room>> rooms;
  const MutexLock lock(mu_);
  rooms.swap(rooms_);
}

void LoopbackNode::add_to(kube::Manager& manager) {
  manager.add(pods_.core());
  manager.on_lead([this](const Context& context) { return join_cluster(context); });
  manager.add(controller_);
  node_ports_.add_to(manager);
}

Result<> LoopbackNode::join_cluster(const Context& context) {
  Result<std::unique_ptr<edge::EchoStation>> station =
      edge::EchoStation::start(options_.max_sockets);
  if (!station) return pass(station);
  station_ = std::move(*station);
  const Value node = node_object(options_.name, options_.address, context.tasks.wall_time());
  Result<Value> made = client_.create(context, kube::types::kNode, node);
  if (!made && made.error().code != Code::already_exists) return pass(made);
  // The status of a new object is not taken from its creation.
  const Object status{{"status", *wire::find(node, "/status")}};
  Result<Value> told = client_.patch(context, kube::types::kNode, {"", options_.name},
                                     kube::PatchType::merge, status, {.subresource = "status"});
  return told ? Result<>{} : pass(told);
}

Result<Requeue> LoopbackNode::reconcile(const Context& context, const ObjectKey& key) {
  const auto pod = pods_.store().get(key);
  const auto room = room_of(key);
  if (room && (!pod || room->uid != pod->meta.uid)) close(key);
  if (!pod) {
    host_ports_.erase(key);
    waiting_.erase(key);
    return Requeue{};
  }
  if (!pod->node.empty() && !(pod->node == options_.name)) return Requeue{};
  if (pod->meta.deleting) return end(context, *pod);
  if (pod->finished()) {
    close(key);
    return Requeue{};
  }
  return pod->node.empty() ? place(context, *pod) : run(context, *pod);
}

Result<Requeue> LoopbackNode::place(const Context& context, const kube::Pod& pod) {
  const ObjectKey key = pod.meta.key();
  Result<Value> whole = client_.get(context, kube::types::kPod, key);
  if (!whole && whole.error().code == Code::not_found) return Requeue{};
  if (!whole) return pass(whole);
  std::vector<HostPort> wanted = host_ports(*whole);
  for (const auto& [other, taken] : host_ports_) {
    if (other == key || !conflict(wanted, taken)) continue;
    waiting_.insert(key);
    if (Result<bool> said = say_unschedulable(context, *whole); !said) return pass(said);
    return Requeue{};
  }
  const Object binding{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", Object{{"namespace", key.ns}, {"name", key.name}}},
      {"target", Object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", options_.name}}}};
  Result<Value> bound =
      client_.create(context, kube::types::kPod, binding, {.subresource = "binding"});
  if (!bound && bound.error().code != Code::not_found && bound.error().code != Code::conflict)
    return pass(bound);
  if (bound && !wanted.empty()) host_ports_[key] = std::move(wanted);
  waiting_.erase(key);
  return Requeue{};
}

Result<bool> LoopbackNode::say_unschedulable(const Context& context, const Value& pod) {
  const Value status = unschedulable_status(pod, context.tasks.wall_time());
  if (object_or_empty(pod, "/status") == status.get_object()) return true;
  if (recorder_ != nullptr) {
    const Value* why = find_condition(array_or_empty(status, "/conditions"), "PodScheduled");
    recorder_->record({.target = {.api_version = "v1",
                                  .kind = "Pod",
                                  .ns = key_of(pod).ns,
                                  .name = key_of(pod).name,
                                  .uid = std::string(wire::string_at(pod, "/metadata/uid"))},
                       .type = "Warning",
                       .reason = "FailedScheduling",
                       .message = std::string(wire::string_at(*why, "/message"))});
  }
  return write_status(context, pod, status.get_object());
}

bool LoopbackNode::is_settled(const kube::Pod& pod, const Room& room) const {
  return pod.ready() && room.reported_generation == pod.meta.generation &&
         std::ranges::all_of(pod.readiness_gates, [&](const kube::Interned& gate) {
           return pod.condition(gate.view()) == kube::ConditionStatus::yes;
         });
}

Result<Requeue> LoopbackNode::run(const Context& context, const kube::Pod& pod) {
  const ObjectKey key = pod.meta.key();
  std::shared_ptr<Room> room = room_of(key);
  if (room && is_settled(pod, *room)) return Requeue{};
  Result<Value> whole = client_.get(context, kube::types::kPod, key);
  if (!whole && whole.error().code == Code::not_found) return Requeue{};
  if (!whole) return pass(whole);
  if (wire::string_at(*whole, "/metadata/uid") != pod.meta.uid) return Requeue{};
  if (!room) {
    Result<std::shared_ptr<Room>> opened = open(context, *whole);
    if (!opened) return say_trouble(context, *whole, opened.error());
    room = *opened;
  }
  const WallTime now = context.tasks.wall_time();
  Result<bool> told = write_status(context, *whole, running_status(*whole, room->running, now));
  if (!told) return pass(told);
  if (*told) room->reported_generation = int_or(*whole, "/metadata/generation", 0);
  const WallTime ready = ready_at(*whole, room->running.started);
  return ready > now ? Requeue{.after = ready - now} : Requeue{};
}

// It is tried again when something here has ended, and now and then: a port may be somebody else's.
Result<Requeue> LoopbackNode::say_trouble(const Context& context, const Value& pod,
                                          const Error& error) {
  const WallTime now = context.tasks.wall_time();
  const auto since = parse_rfc3339(wire::string_at(pod, "/status/startTime"));
  const RunningPod trouble{
      .host_address = options_.address, .started = since ? *since : now, .trouble = error.message};
  waiting_.insert(key_of(pod));
  Result<bool> told = write_status(context, pod, running_status(pod, trouble, now));
  if (!told) return pass(told);
  return Requeue{.after = kTryAgain};
}

Result<Requeue> LoopbackNode::end(const Context& context, const kube::Pod& pod) {
  const ObjectKey key = pod.meta.key();
  if (const auto room = room_of(key)) {
    const Instant now = context.tasks.now();
    if (!room->ends_at) room->ends_at = now + room->stop_time;
    if (now < *room->ends_at) return Requeue{.after = *room->ends_at - now};
    close(key);
  }
  const Result<> removed =
      client_.remove(context, kube::types::kPod, key, {.uid = pod.meta.uid, .grace_seconds = 0});
  const bool gone = removed || removed.error().code == Code::not_found ||
                    removed.error().code == Code::precondition;
  if (!gone) return fail(removed.error());
  return Requeue{};
}

Result<bool> LoopbackNode::write_status(const Context& context, const Value& pod, Object status) {
  if (object_or_empty(pod, "/status") == status) return true;
  // Readiness gates are written by others: on another version than the one that was looked at, this
  // status would take their word away.
  const Array patch{Object{{"op", "test"},
                           {"path", "/metadata/resourceVersion"},
                           {"value", wire::string_at(pod, "/metadata/resourceVersion")}},
                    Object{{"op", "add"}, {"path", "/status"}, {"value", std::move(status)}}};
  Result<Value> written = client_.patch(context, kube::types::kPod, key_of(pod),
                                        kube::PatchType::json, patch, {.subresource = "status"});
  if (written) return true;
  // Their change brings the Pod back here.
  const Code code = written.error().code;
  if (code == Code::not_found || code == Code::precondition) return false;
  return pass(written);
}

Result<std::shared_ptr<LoopbackNode::Room>> LoopbackNode::open(const Context& context,
                                                               const Value& pod) {
  const auto room = std::make_shared<Room>();
  room->uid = wire::string_at(pod, "/metadata/uid");
  room->stop_time = stop_time(pod);
  room->running = {.host_address = options_.address, .started = context.tasks.wall_time()};
  for (const Value& container : array_or_empty(pod, "/spec/containers")) {
    room->journals[std::string(wire::string_at(container, "/name"))] = std::make_shared<Journal>();
  }
  if (Result<> opened = open_ports(*room, pod); !opened)
    return fail(std::move(opened.error()).about("Pod " + key_of(pod).to_string()));
  Value placed = pod;
  (void)wire::set_at(placed, "/status/podIP", Value(room->running.address));
  (void)wire::set_at(placed, "/status/hostIP", Value(options_.address));
  for (const auto& [name, journal] : room->journals) {
    room->environments[name] = environment_of(placed, name);
  }
  if (std::vector<HostPort> ports = host_ports(pod); !ports.empty())
    host_ports_[key_of(pod)] = std::move(ports);
  waiting_.erase(key_of(pod));
  const MutexLock lock(mu_);
  rooms_[key_of(pod)] = room;
  return room;
}

Result<> LoopbackNode::open_ports(Room& room, const Value& pod) {
  const bool on_host = wire::bool_at(pod, "/spec/hostNetwork").value_or(false);
  const std::string known(wire::string_at(pod, "/status/podIP"));
  const std::string name = key_of(pod).to_string();
  for (int attempt = 0; attempt < kMaxAddressTries; ++attempt) {
    const bool fixed = on_host || (!known.empty() && known != options_.address);
    room.running.address = on_host ? options_.address : fixed ? known : next_address();
    Result<> opened{};
    for (const Value& container : array_or_empty(pod, "/spec/containers")) {
      const std::string container_name(wire::string_at(container, "/name"));
      for (const Value& port : array_or_empty(container, "/ports")) {
        const auto protocol = model::parse_transport(wire::string_at(port, "/protocol"));
        if (!protocol || !opened) continue;
        const auto inside = static_cast<model::Port>(int_or(port, "/containerPort", 0));
        const bool http = speaks_http(wire::string_at(port, "/name"));
        opened = open_port(room, {*protocol, {room.running.address, inside}, http}, container_name,
                           name);
        const auto outside = static_cast<model::Port>(int_or(port, "/hostPort", 0));
        if (!opened || on_host || outside == 0) continue;
        const std::string_view ip = wire::string_at(port, "/hostIP");
        const bool everywhere = ip.empty() || ip == "0.0.0.0";
        opened = open_port(
            room, {*protocol, {everywhere ? options_.address : std::string(ip), outside}, http},
            container_name, name);
      }
    }
    if (opened) return {};
    room.places.clear();
    if (opened.error().code != Code::conflict || fixed) return opened;
  }
  return fail(Code::exhausted, "no free address in 127.16.0.0/12 after {} tries", kMaxAddressTries);
}

Result<> LoopbackNode::open_port(Room& room, const Door& door, const std::string& container,
                                 const std::string& pod) {
  const std::shared_ptr<Journal> journal = room.journals.at(container);
  const bool tcp = door.protocol == model::Transport::tcp;
  const char* const word = tcp ? "tcp" : "udp";
  Result<std::unique_ptr<edge::EchoStation::Place>> place =
      station_->open({.protocol = door.protocol,
                      .at = door.at,
                      .greeting = fmt::format("this is {}\n", pod),
                      .http = tcp && door.http,
                      .on_talk = [journal, word, port = door.at.port](const std::string& peer) {
                        journal->add(fmt::format("{} {}: {}", word, port, peer));
                      }});
  if (!place) return pass(place);
  room.places.push_back(std::move(*place));
  journal->add(fmt::format("echo server on {} {}", word, door.at.port));
  return {};
}

void LoopbackNode::close(const ObjectKey& key) {
  std::shared_ptr<Room> closed;
  {
    const MutexLock lock(mu_);
    const auto found = rooms_.find(key);
    if (found == rooms_.end()) return;
    closed = std::move(found->second);
    rooms_.erase(found);
  }
  closed->places.clear();
  host_ports_.erase(key);
  // What those that wait need may be free now.
  for (const ObjectKey& waiting : waiting_) controller_.queue().add(waiting);
}

std::shared_ptr<LoopbackNode::Room> LoopbackNode::room_of(const ObjectKey& key) const {
  const MutexLock lock(mu_);
  const auto found = rooms_.find(key);
  return found == rooms_.end() ? nullptr : found->second;
}

// 127.16.0.0/12: apart from 127.0.0.1 and from the load balancers' addresses.
std::string LoopbackNode::next_address() {
  const std::uint32_t n = given_addresses_++ % kAddresses;
  return fmt::format("127.{}.{}.{}", 16 + n / (256 * 254), (n / 254) % 256, 1 + n % 254);
}

Result<std::shared_ptr<LoopbackNode::Room>> LoopbackNode::running(
    const Value& pod, const std::string& container) const {
  const ObjectKey key = key_of(pod);
  std::shared_ptr<Room> room = room_of(key);
  if (!room || room->uid != wire::string_at(pod, "/metadata/uid"))
    return fail(Code::not_found, "pod {} does not run on {}", key.to_string(), options_.name);
  if (!room->journals.contains(container))
    return fail(Code::invalid, "container {} is not valid for pod {}", container, key.name);
  return room;
}

Result<CommandOutput> LoopbackNode::exec(const Value& pod, const std::string& container,
                                         const std::vector<std::string>& command) const {
  Result<std::shared_ptr<Room>> room = running(pod, container);
  if (!room) return pass(room);
  return run_in_container(command, (*room)->environments.at(container), files_of(pod, container));
}

Result<std::string> LoopbackNode::log(const Value& pod, const std::string& container) const {
  Result<std::shared_ptr<Room>> room = running(pod, container);
  if (!room) return pass(room);
  return (*room)->journals.at(container)->text();
}

}  // namespace berth::workloads
