#include "pool_house.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <deque>

#include "lb_texts.h"
#include "settled_house.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

const std::string kWebhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr std::string_view kOurGroup = "networkextension.bkbcs.tencent.com";
constexpr std::string_view kQuotaUrl = "https://quota.world";
// Longer than an unbound claim lives, than ports are kept, and than any pause of a reflector.
constexpr Duration kQuiet = std::chrono::seconds{100};
// Whoever still writes by then does so for ever. Audits come every ten minutes, and may find
// something to do.
constexpr Duration kRestless = std::chrono::hours{2};
constexpr std::size_t kShownWrites = 6;
constexpr Duration kUserRetry = std::chrono::seconds{1};
constexpr Duration kLongestRetry = std::chrono::seconds{8};
// How soon a StatefulSet sees that its Pod is gone.
constexpr Duration kLook = std::chrono::milliseconds{100};
constexpr int kLooks = 1200;

constexpr std::array<RoomKind, kRoomKinds> kKinds{
    RoomKind{.request = "rooms TCP 8000"},
    RoomKind{.request = "rooms TCP 8000;rooms TCP 8001"},
    RoomKind{.request = "halls TCP_UDP 8000", .gate = true},
    RoomKind{.request = "halls/wide UDP 8000"},
    RoomKind{.request = "rooms TCP 8000", .keep = "40s"},
    RoomKind{.request = "halls/pair TCP_UDP 8000;rooms TCP 8001", .keep = "40s", .gate = true}};

constexpr std::string_view kHouse = R"(
apiVersion: v1
kind: Namespace
metadata:
  name: games
  labels:
    bcs-ingress-controller-inject: "true"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: quota
webhooks:
  - name: quota.world.example
    admissionReviewVersions: ["v1"]
    sideEffects: None
    clientConfig:
      url: https://quota.world/pods
    rules:
      - apiGroups: [""]
        apiVersions: ["v1"]
        operations: ["CREATE"]
        resources: ["pods"]
)";

constexpr std::string_view kPoolsOfHouse = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: rooms
  namespace: games
spec:
  poolItems:
    - itemName: item1
      loadBalancerIDs: ["edge:demo"]
      protocol: TCP
      startPort: 30000
      endPort: 30006
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: halls
  namespace: games
spec:
  poolItems:
    - itemName: pair
      loadBalancerIDs: ["edge:east", "edge:west"]
      startPort: 40000
      endPort: 40003
    - itemName: wide
      loadBalancerIDs: ["edge:east"]
      protocol: UDP
      startPort: 41000
      endPort: 41009
      segmentLength: 4
)";

std::optional<net::Reply> answer_quota(Quota& quota, const std::string& url,
                                       const std::string& body) {
  if (!url.starts_with(kQuotaUrl)) return std::nullopt;
  const Result<Value> review = wire::parse_json(body);
  const std::string_view uid = review ? wire::string_at(*review, "/request/uid") : "";
  Object response{{"uid", uid}, {"allowed", true}};
  if (quota.refuses > 0 && quota.random.chance(quota.refuses)) {
    response["allowed"] = false;
    response["status"] = Object{{"code", 403}, {"message", "exceeded quota: pods"}};
  }
  net::Reply reply{.status = 200,
                   .body = wire::to_json(Object{{"apiVersion", "admission.k8s.io/v1"},
                                                {"kind", "AdmissionReview"},
                                                {"response", response}})};
  reply.headers.set("Content-Type", "application/json");
  return reply;
}

Object pod_for(const RoomKind& kind) {
  Object annotations{{api::kPortPoolsAnnotation, "true"}, {api::kPortsAnnotation, kind.request}};
  if (!kind.keep.empty()) annotations[api::kKeepDurationAnnotation] = kind.keep;
  if (kind.gate) annotations[api::kReadinessGateAnnotation] = "true";
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", Object{{"namespace", "games"}, {"annotations", annotations}}},
          {"spec", Object{{"containers",
                           Array{Object{{"name", "room"},
                                        {"image", "room:1"},
                                        {"ports", Array{Object{{"containerPort", 8000}},
                                                        Object{{"containerPort", 8001}}}}}}}}}};
}

world::WorldOptions with_quota(world::WorldOptions options, std::shared_ptr<Quota> quota) {
  options.answer_webhook = [quota = std::move(quota), planted = std::move(options.answer_webhook)](
                               const std::string& url,
                               const std::string& body) -> std::optional<net::Reply> {
    if (auto reply = answer_quota(*quota, url, body)) return reply;
    return planted ? planted(url, body) : std::nullopt;
  };
  return options;
}

}  // namespace

const RoomKind& kind_of(std::size_t index) { return kKinds.at(index); }

PoolHouse::PoolHouse(std::uint64_t seed, world::WorldOptions options)
    : quota_(std::make_shared<Quota>(Quota{.random = Random(seed)})) {
  const Duration quarantine = options.config.quarantine;
  world_ = std::make_unique<world::World>(seed, with_quota(std::move(options), quota_));
  book_ = std::make_unique<RoomBook>(*world_, quarantine);
}

PoolHouse::~PoolHouse() { cluster().end_players(); }

Result<> PoolHouse::run_until(const std::function<bool()>& done) {
  return cluster().run_until([&] {
    book_->check_leaders();
    return done();
  });
}

Result<> PoolHouse::open() { return open_with(lb_texts(*world_, std::string(kPoolsOfHouse))); }

Result<> PoolHouse::open_with(std::string pools) {
  const auto open = cluster().play(
      "installation", [world = world_.get(), pools = std::move(pools)](std::stop_token stop) {
        const auto installed = [world] {
          const auto hooks = world->cluster().list(kWebhooks);
          return hooks && !hooks->empty() && world->listening() > 0;
        };
        while (!installed() && world->cluster().pause(kUserRetry, stop)) {
        }
        (void)User(*world).create_pool(std::string(kHouse) + "---" + pools);
      });
  return run_until([&] { return *open; });
}

Result<> PoolHouse::rest() {
  std::deque<std::string> writes;
  const auto observing =
      cluster().gateway().observe([&](const net::Request& request, const world::SeenReply& reply) {
        if (request.method == "GET" || request.url.find("/leases") != std::string::npos) return;
        writes.push_back(fmt::format("{} {} {}", request.method, request.url, reply.status()));
        if (writes.size() > kShownWrites) writes.pop_front();
      });
  cluster().gateway().note_activity();
  const Instant patience = world_->kernel().now() + kRestless;
  const Result<> ran = run_until([&] {
    const Instant now = world_->kernel().now();
    return now - cluster().gateway().last_activity() >= kQuiet || now >= patience;
  });
  if (!ran || world_->kernel().now() < patience) return ran;
  return fail(Code::internal, "nobody rests; the last writes were {}", fmt::join(writes, ", "));
}

Result<> PoolHouse::settle() {
  if (Result<> quiet = rest(); !quiet) return quiet;
  if (book_->is_closed()) book_->take_stock();
  return check_settled(*world_, *book_);
}

Result<> PoolHouse::close() {
  const auto closed = cluster().play("end", [world = world_.get()](std::stop_token) {
    User user(*world);
    const auto pods = world->cluster().list(kPods);
    for (const Value& pod : pods ? *pods : std::vector<Value>{})
      user.remove(std::string(wire::string_at(pod, "/metadata/name")));
    const auto pools = world->cluster().list(kPools);
    for (const Value& pool : pools ? *pools : std::vector<Value>{})
      user.remove_pool(std::string(wire::string_at(pool, "/metadata/name")));
  });
  if (Result<> ran = run_until([&] { return *closed; }); !ran) return ran;
  return settle();
}

Result<sim::RunReport> PoolHouse::report() {
  if (world_->kernel().failure()) return fail(*world_->kernel().failure());
  return world_->kernel().report();
}

bool keep_trying(world::World& world, Duration patience, const std::function<bool()>& works) {
  const Instant end = world.kernel().now() + patience;
  Duration wait = kUserRetry;
  do {
    if (works()) return true;
    (void)world.cluster().pause(wait, {});
    wait = std::min(2 * wait, kLongestRetry);
  } while (world.kernel().now() < end && !world.kernel().failure());
  return false;
}

bool User::try_until(int patience, const std::function<Result<Value>()>& deed) {
  return keep_trying(world_, patience * kUserRetry, [&] {
    const Result<Value> done = deed();
    if (!done) last_refusal_ = done.error().to_string();
    return done || done.error().code == Code::already_exists;
  });
}

bool User::create(const std::string& name, const RoomKind& kind, int patience) {
  Object pod = pod_for(kind);
  pod["metadata"].as_object()["name"] = name;
  return try_until(patience, [&] { return world_.cluster().ask("POST", kPods, pod); });
}

std::string User::spawn(const std::string& prefix, const RoomKind& kind, int patience) {
  Object pod = pod_for(kind);
  Object& metadata = pod["metadata"].as_object();
  metadata["generateName"] = prefix + "-";
  metadata["ownerReferences"] = Array{Object{{"apiVersion", "apps/v1"},
                                             {"kind", "ReplicaSet"},
                                             {"name", prefix},
                                             {"uid", "uid-of-" + prefix},
                                             {"controller", true}}};
  std::string name;
  (void)try_until(patience, [&] {
    Result<Value> made = world_.cluster().ask("POST", kPods, pod);
    if (made) name = wire::string_at(*made, "/metadata/name");
    return made;
  });
  return name;
}

void User::remove(const std::string& name) {
  bool asked = false;
  for (int i = 0; i < kLooks && !gives_up(); ++i) {
    if (asked && !is_there("", "pods", name)) return;
    if (!asked) {
      const Result<Value> removed = world_.cluster().ask("DELETE", kPods + "/" + name);
      if (!removed && removed.error().code == Code::not_found) return;
      asked = removed.has_value();
    }
    (void)world_.cluster().pause(kLook, {});
  }
}

void User::finish(const std::string& name) {
  const Result<Value> pod = world_.cluster().ask("GET", kPods + "/" + name);
  if (!pod || wire::string_at(*pod, "/status/phase") != "Running") return;
  (void)world_.cluster().ask("PATCH", kPods + "/" + name + "/status",
                             Object{{"status", Object{{"phase", "Succeeded"}}}});
}

bool User::create_pool(std::string_view yaml, int patience) {
  return try_until(patience, [&]() -> Result<Value> {
    if (Result<> made = world_.cluster().create_missing(yaml); !made) return pass(made);
    return Value();
  });
}

bool User::change_pool(const std::string& name, const std::function<bool(Value& pool)>& change,
                       int patience) {
  return try_until(patience, [&]() -> Result<Value> {
    Result<Value> pool = world_.cluster().ask("GET", kPools + "/" + name);
    if (!pool || !change(*pool)) return pool;
    return world_.cluster().ask("PUT", kPools + "/" + name, *pool);
  });
}

void User::remove_pool(const std::string& name) {
  bool asked = false;
  (void)keep_trying(world_, 5 * kPatience * kUserRetry, [&] {
    if (asked) return !is_there(kOurGroup, "portpools", name);
    const Result<Value> removed = world_.cluster().ask("DELETE", kPools + "/" + name);
    asked = removed.has_value();
    if (!removed) last_refusal_ = removed.error().to_string();
    return !removed && removed.error().code == Code::not_found;
  });
}

bool User::is_there(std::string_view group, std::string_view plural, std::string_view name) const {
  const auto all = world_.cluster().server().objects(group, plural);
  return all && std::ranges::any_of(*all, [&](const auto& object) {
           return wire::string_at(*object, "/metadata/name") == name &&
                  wire::string_at(*object, "/metadata/namespace") == "games";
         });
}

}  // namespace berth::scenario
