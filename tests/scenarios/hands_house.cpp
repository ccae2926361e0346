#include "hands_house.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <set>

#include "api/decode.h"
#include "api/keys.h"
#include "claims/slot.h"
#include "cluster_chores.h"
#include "kinds.h"
#include "sim/world/gremlin.h"
#include "wire/yaml.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;
using world::World;
using world::WorldOptions;

using std::chrono::milliseconds;
using std::chrono::seconds;

// How long a Pod whose objects were touched may be in disorder: a new leader, a late task of the
// provider and a slow watch, one after the other.
constexpr Duration kGrace = seconds{90};
constexpr Duration kLook = seconds{2};
constexpr Duration kQuietLook = seconds{20};
constexpr Duration kPatience = seconds{900};
constexpr std::size_t kLobbyPorts = 4;
constexpr int kCalmRooms = 3;

constexpr std::string_view kNeighbours = R"(
apiVersion: v1
kind: Namespace
metadata:
  name: calm
  labels:
    bcs-ingress-controller-inject: "true"
---
apiVersion: v1
kind: Namespace
metadata:
  name: lobby
  labels:
    bcs-ingress-controller-inject: "true"
---
apiVersion: v1
kind: Namespace
metadata:
  name: alley
)";

constexpr std::string_view kNeighboursPools = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: quiet
  namespace: calm
spec:
  poolItems:
    - itemName: one
      loadBalancerIDs: ["edge:demo"]
      protocol: TCP
      startPort: 32000
      endPort: 32002
    - itemName: pair
      loadBalancerIDs: ["edge:east", "edge:west"]
      startPort: 42000
      endPort: 42002
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: own
  namespace: lobby
spec:
  poolItems:
    - itemName: one
      loadBalancerIDs: ["edge:demo"]
      protocol: TCP
      startPort: 31000
      endPort: 31004
    - itemName: pair
      loadBalancerIDs: ["edge:east", "edge:west"]
      startPort: 43000
      endPort: 43002
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: back
  namespace: alley
spec:
  poolItems:
    - itemName: one
      loadBalancerIDs: ["edge:west"]
      protocol: UDP
      startPort: 44000
      endPort: 44002
)";

// The calm's leads to its own rooms throughout.
constexpr std::string_view kNeighboursIngresses = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata:
  name: gate
  namespace: calm
  annotations:
    networkextension.bkbcs.tencent.com/lbids: edge:demo
spec:
  rules:
    - port: 35000
      protocol: TCP
      services: [{serviceName: quiet, serviceNamespace: calm, servicePort: 8000, isDirectConnect: true}]
    - port: 35001
      protocol: HTTP
      layer7Routes:
        - domain: calm.example
          services: [{serviceName: quiet, serviceNamespace: calm, servicePort: 8000, isDirectConnect: true}]
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata:
  name: door
  namespace: lobby
  annotations:
    networkextension.bkbcs.tencent.com/lbids: edge:east,edge:west
spec:
  rules:
    - port: 35100
      protocol: UDP
      services: [{serviceName: quiet, serviceNamespace: calm, servicePort: 8000, isDirectConnect: true}]
  portMappings:
    - startPort: 35110
      protocol: TCP
      startIndex: 0
      endIndex: 2
      segmentLength: 2
      workloadKind: StatefulSet
      workloadNamespace: lobby
      workloadName: nobody
)";
constexpr std::string_view kServices = R"(
apiVersion: v1
kind: Service
metadata:
  name: quiet
  namespace: calm
spec:
  selector: {of: calm}
  ports:
    - {name: tcp, protocol: TCP, port: 8000, targetPort: 8000}
    - {name: udp, protocol: UDP, port: 8000, targetPort: 8000}
)";

Object room(std::string_view ns, const std::string& name, std::string_view request,
            std::string_view keep = {}) {
  Object annotations{{api::kPortPoolsAnnotation, "true"},
                     {api::kPortsAnnotation, request},
                     {api::kReadinessGateAnnotation, "true"}};
  if (!keep.empty()) annotations[api::kKeepDurationAnnotation] = keep;
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", Object{{"namespace", ns},
                              {"name", name},
                              {"labels", Object{{"of", ns}}},
                              {"annotations", std::move(annotations)}}},
          {"spec", Object{{"containers",
                           Array{Object{{"name", "room"},
                                        {"image", "room:1"},
                                        {"ports", Array{Object{{"containerPort", 8000}}}}}}}}}};
}

bool has_ingresses(World& world) { return is_served(world, *type_called("ingresses")); }

// Pools and Ingresses that the house begins with.
std::vector<Value> owners_at_first(World& world) {
  const auto pools = wire::parse_yaml_documents(kNeighboursPools);
  const auto ingresses = wire::parse_yaml_documents(kNeighboursIngresses);
  std::vector<Value> out = *pools;
  if (has_ingresses(world)) out.insert(out.end(), ingresses->begin(), ingresses->end());
  return out;
}

bool are_owners_ready(World& world) {
  for (const kube::ResourceType& type : types_of_users()) {
    if (!is_served(world, type)) continue;
    const auto owners = world.cluster().list(type.path(""));
    if (!owners || !std::ranges::all_of(*owners, [](const Value& owner) {
          return wire::string_at(owner, "/status/status") == "Ready";
        }))
      return false;
  }
  return true;
}

WorldOptions with_people(WorldOptions options, const std::vector<world::Person>& people) {
  options.cluster.people = people;
  options.config.audit_period = kAuditPeriod;
  return options;
}

std::vector<Value> all_in(World& world, std::string_view ns, std::string_view plural) {
  const auto found = world.cluster().list(path_in(ns, plural));
  return found ? *found : std::vector<Value>{};
}

bool is_ready(const Value& pod) { return RoomBook::read(pod).ready; }

// Its port was lost by somebody's edit; or it never had one, because our webhooks were deleted when
// it was created, whatever somebody calls it.
bool has_no_port(const Value& pod) {
  const Room room = RoomBook::read(pod);
  return !room.ready || (room.asks && room.bindings.empty());
}

// It would never go by itself.
bool is_tied(const Value& pod) { return wire::array_at(pod, "/metadata/finalizers") != nullptr; }

bool are_all_ready(World& world, std::string_view ns, std::size_t count) {
  const std::vector<Value> pods = all_in(world, ns, "pods");
  return pods.size() >= count && std::ranges::all_of(pods, is_ready);
}

// True also when the run has failed: that is said already.
bool wait_for(World& world, const std::function<bool()>& done) {
  return keep_trying(world, kPatience, done) || world.kernel().failure().has_value();
}

// One of the same name may come in its place.
bool remove_this(World& world, const std::string& path, std::string_view user) {
  const auto found = world.cluster().ask("GET", path);
  if (!found) return true;
  const std::string uid(wire::string_at(*found, "/metadata/uid"));
  return wait_for(world, [&] {
    const auto now = world.cluster().ask("GET", path);
    if (!now && now.error().code == Code::not_found) return true;
    if (now && wire::string_at(*now, "/metadata/uid") != uid) return true;
    if (now && wire::string_at(*now, "/metadata/deletionTimestamp").empty())
      (void)world.cluster().ask(world::signed_by(user, world::request_of("DELETE", path, nullptr)));
    return false;
  });
}

// Tries until it is gone. False: it stays.
bool remove(World& world, const std::string& path) {
  return wait_for(world, [&] {
    const auto removed = world.cluster().ask("DELETE", path);
    return !removed && removed.error().code == Code::not_found;
  });
}

// What goes wrong on the way is no complaint: only that it never worked.
bool create(World& world, const std::string& path, const Object& object, std::string& complaint) {
  std::string refusal;
  const bool there = keep_trying(world, kPatience, [&] {
    const auto made = world.cluster().ask("POST", path, object);
    if (!made) refusal = made.error().to_string();
    return made || made.error().code == Code::already_exists;
  });
  if (!there) complaint = refusal;
  return there;
}

void remove_pods(World& world, std::string_view ns, std::string& complaint,
                 const std::function<bool(const Value&)>& which) {
  for (const Value& pod : all_in(world, ns, "pods")) {
    if (!which(pod)) continue;
    const std::string path = path_in(ns, "pods", name_of(pod));
    (void)world.cluster().ask("PATCH", path, Object{{"metadata", Object{{"finalizers", nullptr}}}});
    if (!remove(world, path)) complaint = path + " stays";
  }
}

// What one cannot know from its marks to be ours is for those to remove who made it.
bool remove_forged(World& world, const std::string& path, std::string_view user) {
  const auto found = world.cluster().ask("GET", path);
  const auto listener = found ? api::decode_listener(*found) : Result<api::Listener>{};
  if (found && (!listener || claims::is_foreign(*listener)))
    (void)world.cluster().ask("PATCH", path, Object{{"metadata", Object{{"finalizers", nullptr}}}});
  return remove_this(world, path, user);
}

std::string stays(World& world, const std::string& path) {
  const auto found = world.cluster().ask("GET", path);
  if (!found) return path + " stays";
  Value shown = *found;
  shown.as_object()["metadata"].as_object().erase("managedFields");
  return fmt::format("{} stays: {}", path, wire::to_json(shown));
}

// True once it is there, as the house began with it.
bool make_namespace(World& world, const std::string& ns) {
  const auto documents = wire::parse_yaml_documents(kNeighbours);
  const auto wanted = std::ranges::find(*documents, ns, name_of);
  const auto now = world.cluster().ask("GET", "/api/v1/namespaces/" + ns);
  if (!now) (void)world.cluster().ask("POST", "/api/v1/namespaces", *wanted);
  return now && wire::string_at(*now, "/metadata/deletionTimestamp").empty();
}

// All that is written in the one is in the other.
bool says_the_same(const Value& object, const Value& wanted) {
  for (const std::string& pointer :
       {std::string("/spec/poolItems"), std::string("/spec/rules"),
        std::string("/spec/portMappings"),
        "/metadata/annotations/" + wire::escape_pointer_step(api::kLoadBalancerIdsAnnotation)}) {
    const Value* const there = wire::find(object, pointer);
    const Value* const written = wire::find(wanted, pointer);
    if (written && (!there || *there != *written)) return false;
  }
  return true;
}

// Those that the house began with, as they were.
void put_owners_back(World& world, std::string& complaint) {
  for (const Value& owner : owners_at_first(world)) {
    const std::string path = path_of(owner);
    const bool back = wait_for(world, [&] {
      Result<Value> now = world.cluster().ask("GET", path);
      if (!now) {
        (void)world.cluster().ask("POST", path.substr(0, path.rfind('/')), owner);
        return false;
      }
      if (!wire::string_at(*now, "/metadata/deletionTimestamp").empty()) return false;
      if (says_the_same(*now, owner)) return true;
      // Load balancers of an item cannot be changed: then the pool is made anew.
      now->as_object()["spec"] = *wire::find(owner, "/spec");
      if (const Value* const written = wire::find(owner, "/metadata/annotations"))
        now->as_object()["metadata"].as_object()["annotations"] = *written;
      if (!world.cluster().ask("PUT", path, *now)) (void)world.cluster().ask("DELETE", path);
      return false;
    });
    if (!back) complaint = path + " cannot be put back";
  }
}

// What people made beside them.
void remove_owners(World& world, std::string& complaint) {
  std::set<std::string> ours;
  for (const Value& owner : owners_at_first(world)) ours.insert(path_of(owner));
  for (const kube::ResourceType& type : types_of_users()) {
    for (const std::string& ns : {kLobby, kAlley}) {
      for (const Value& owner : all_in(world, ns, type.plural)) {
        const std::string path = type.path(ns, name_of(owner));
        if (!ours.contains(path) && !remove(world, path)) complaint = path + " stays";
      }
    }
  }
}

}  // namespace

std::vector<world::Person> people_for(world::Role role) {
  std::vector<world::Person> people{
      {.name = "mallory", .role = world::Role::tenant, .namespaces = {kLobby, kAlley}}};
  if (role == world::Role::tenant)
    people.push_back({.name = "trudy", .role = world::Role::tenant, .namespaces = {kLobby}});
  if (role == world::Role::operator_of_ours) people.push_back({.name = "oscar", .role = role});
  if (role == world::Role::administrator) people.push_back({.name = "alice", .role = role});
  return people;
}

HandsHouse::HandsHouse(std::uint64_t seed, WorldOptions options, world::Role role)
    : role_(role),
      people_(people_for(role)),
      house_(seed, with_people(std::move(options), people_)),
      trust_(house_.world(), kGrace),
      written_(house_.world(), trust_),
      ingresses_(house_.world(), trust_),
      diary_(house_.world().kernel()) {
  house_.book().look_only_at({kGames, kCalm});
  house_.book().also_tell([this](const sim::lb::Change& change) {
    trust_.see_change(change);
    ingresses_.see_change(change);
  });
  trust_.guard(kCalm);
  for (const world::Person& person : people_)
    if (person.role == world::Role::tenant) trust_.know_tenant(person.name);
  written_.never_asks(kAlley);
}

HandsHouse::~HandsHouse() { house_.cluster().end_players(); }

Result<> HandsHouse::play_out(const std::string& name,
                              std::function<void(User& user, std::string& complaint)> deed) {
  const auto complaint = std::make_shared<std::string>();
  const auto done = house_.cluster().play(
      name, [world = &house_.world(), complaint, deed = std::move(deed)](std::stop_token) {
        User user(*world);
        deed(user, *complaint);
      });
  if (Result<> ran = house_.run_until([&] { return *done; }); !ran) return ran;
  if (!complaint->empty()) return fail(Code::internal, "{}", *complaint);
  return {};
}

Result<> HandsHouse::open() {
  if (Result<> open = house_.open(); !open) return open;
  if (Result<> made = play_out(
          "neighbours",
          [world = &world()](User& user, std::string& complaint) {
            (void)user.create_pool(kNeighbours);
            (void)user.create_pool(kNeighboursPools);
            if (!wait_for(*world, [&] { return are_owners_ready(*world); }))
              complaint = "the pools do not become Ready";
            const std::string pods = path_in(kCalm, "pods");
            (void)create(*world, pods, room(kCalm, "calm-0", "quiet/one TCP 8000"), complaint);
            (void)create(*world, pods, room(kCalm, "calm-1", "quiet/pair TCP_UDP 8000"), complaint);
            (void)create(*world, pods, room(kCalm, "calm-2", "quiet/one TCP 8000", "40s"),
                         complaint);
            if (!wait_for(*world, [&] { return are_all_ready(*world, kCalm, kCalmRooms); }))
              complaint = "the calm rooms do not become Ready";
            if (!has_ingresses(*world)) return;
            (void)user.create_pool(kServices);
            (void)user.create_pool(kNeighboursIngresses);
            if (!wait_for(*world, [&] { return are_owners_ready(*world); }))
              complaint = "the Ingresses do not become Ready";
          });
      !made)
    return made;
  ingresses_.guard(kCalm);
  if (role_ != world::Role::tenant) house_.book().close();
  (void)house_.cluster().play("watch", [this](std::stop_token stop) {
    Instant looked{};
    while (world().cluster().pause(kLook, stop)) {
      // When nobody writes, only time can bring something to light.
      const Instant now = world().kernel().now();
      const bool quiet = world().cluster().gateway().last_activity() < looked;
      if (quiet && now - looked < kQuietLook) continue;
      looked = now;
      trust_.check_all();
      ingresses_.check_all();
      if (quiet) continue;
      collect_garbage(world());
      // It takes with it what lies in it, of whoever uses that.
      for (const std::string& ns : end_namespaces(world())) trust_.note_namespace(ns);
    }
  });
  return {};
}

Result<> HandsHouse::tidy_up() {
  const auto foreign = trust_.foreign();
  trust_.forget_foreign();
  for (const auto& [id, lb] : foreign) world().provider().remove_listener(lb, id);
  // What had its port taken gets it back at an audit.
  if (!foreign.empty()) trust_.note_place({}, kAudited);
  const Result<> audited =
      house_.run_until([this] { return world().kernel().now() >= trust_.disorder_over(); });
  if (!audited) return audited;
  const std::string& user =
      role_ == world::Role::tenant ? people_.front().name : people_.back().name;
  const auto tidied = play_out("tidying", [this, user](User&, std::string& complaint) {
    for (const std::string& ns : {kLobby, kAlley})
      remove_pods(world(), ns, complaint, [](const Value&) { return true; });
    remove_pods(world(), kGames, complaint, [this](const Value& pod) {
      return is_tied(pod) || trust_.guests().contains(path_in(kGames, "pods", name_of(pod)));
    });
    for (const auto& made : {trust_.forged(), trust_.edited_listeners()})
      for (const std::string& path : made)
        if (!remove_forged(world(), path, user)) complaint = stays(world(), path);
    for (const std::string& ns : {kLobby, kAlley}) {
      const bool there = wait_for(world(), [&] { return make_namespace(world(), ns); });
      if (!there) complaint = "namespace " + ns + " does not come back";
    }
    // Ports that are kept for Pods that are gone are given up with the PortBinding.
    for (const std::string& ns : {kLobby, kAlley})
      for (const Value& binding : all_in(world(), ns, "portbindings"))
        if (!remove(world(), path_in(ns, "portbindings", name_of(binding))))
          complaint = "PortBinding " + name_of(binding) + " stays";
    remove_owners(world(), complaint);
    put_owners_back(world(), complaint);
  });
  if (!tidied) return tidied;
  // What was tidied up may have left something at the load balancers: of a Listener that was
  // written over while its part left, nothing says any more what it had there. An audit finds that.
  if (!trust_.edited_listeners().empty()) trust_.note_place({}, kAudited);
  const Result<> swept =
      house_.run_until([this] { return world().kernel().now() >= trust_.disorder_over(); });
  if (!swept || role_ == world::Role::tenant) return swept;
  // Whoever has no port because of somebody's edit is started anew.
  if (Result<> quiet = house_.rest(); !quiet) return quiet;
  const auto restarted = play_out("restarts", [this](User&, std::string& complaint) {
    remove_pods(world(), kGames, complaint, has_no_port);
  });
  if (!restarted) return restarted;
  return {};
}

Result<> HandsHouse::fill_lobby() {
  return play_out("guests", [world = &world()](User&, std::string& complaint) {
    std::string refusal;
    for (std::size_t i = 0; i < kLobbyPorts; ++i) {
      const std::string name = fmt::format("last-{}", i);
      if (!create(*world, path_in(kLobby, "pods"), room(kLobby, name, "own/one TCP 8000"), refusal))
        complaint = "a port of the lobby cannot be had: " + refusal;
    }
    if (complaint.empty() &&
        !wait_for(*world, [&] { return are_all_ready(*world, kLobby, kLobbyPorts); }))
      complaint = "rooms of the lobby do not become Ready";
  });
}

Result<> HandsHouse::close() {
  ingresses_.close();
  const auto left = play_out("end of the neighbours", [this](User&, std::string& complaint) {
    for (const std::string& ns : {kLobby, kAlley, kCalm}) {
      remove_pods(world(), ns, complaint, [](const Value&) { return true; });
      for (const kube::ResourceType& type : types_of_users()) {
        for (const Value& owner : all_in(world(), ns, type.plural)) {
          const std::string path = type.path(ns, name_of(owner));
          if (!remove(world(), path)) complaint = path + " stays";
        }
      }
    }
  });
  if (!left) return left;
  return house_.close();
}

namespace {

struct Lives {
  HandsHouse& house;
  Random& random;
  HandsCount* count;
};

std::shared_ptr<const bool> start_hand(HandsHouse& house, const world::Person& person,
                                       Random random, HandsCount* count) {
  return house.house().cluster().play(
      person.name, [&house, person, random, count](std::stop_token stop) mutable {
        Random mine = random.fork();
        Hand hand(house.world(), house.trust(), house.diary(), person, random);
        const std::uint64_t moves = 12 + mine.below(24);
        for (std::uint64_t i = 0; i < moves; ++i) {
          if (!house.world().cluster().pause(up_to(mine, seconds{6}), stop)) return;
          hand.act();
          if (count) ++count->moves;
        }
      });
}

Result<> live_through(const Lives& lives) {
  HandsHouse& house = lives.house;
  World& world = house.world();
  if (Result<> open = house.open(); !open) return open;
  const bool troubled = lives.random.chance(0.5);
  std::optional<world::Gremlin> gremlin;
  if (troubled) {
    gremlin.emplace(world.cluster(),
                    world::GremlinOptions{.pause = seconds{1} + up_to(lives.random, seconds{4}),
                                          .max_repeats = 2});
    world.provider().set_faults(provider_faults(lives.random));
    world.kernel().set_crash_plan(sim::CrashRandomly{.probability = 0.02, .max_crashes = 3});
  }
  auto all = start_lives(house.house(), lives.random);
  for (const world::Person& person : house.people())
    all.push_back(start_hand(house, person, lives.random.fork(), lives.count));
  const Result<> ran = house.house().run_until([&] { return all_through(all); });
  if (gremlin) gremlin->stop();
  if (!ran) return ran;
  mend(house.house());
  house.diary().write("all hands rest");
  if (Result<> tidied = house.tidy_up(); !tidied) return tidied;
  if (Result<> settled = house.house().settle(); !settled) return settled;
  if (Result<> filled = house.fill_lobby(); !filled) return filled;
  return house.close();
}

}  // namespace

Plant in_a_wide_house() {
  return [](WorldOptions& options) {
    options.config.without.clear();
    options.config.grants = {.long_list = 2, .block_ports = 8};
  };
}

Result<sim::RunReport> live_with_hands(std::uint64_t seed, world::Role role, const Plant& plant,
                                       HandsCount* count) {
  Random random(seed);
  WorldOptions options = troubled_world(random);
  options.cluster.kernel.crash = sim::NoCrash{};  // until the house stands
  // A Pod whose claim somebody takes off gets it back by the time in its token.
  options.clocks_ahead.clear();
  if (plant) plant(options);
  HandsHouse house(seed, std::move(options), role);
  if (Result<> lived = live_through({house, random, count}); !lived) {
    fmt::print("{}\n", house.diary().recent());
    return pass(lived);
  }
  if (count) count->words += house.trust().words_given();
  return house.house().report();
}

}  // namespace berth::scenario
