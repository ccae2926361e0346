#include <atomic>
#include <boost/json.hpp>
#include <cstdlib>
#include <thread>

#include "bench.h"
#include "session.h"
#include "support/control_plane.h"
#include "wire/value.h"

namespace berth::bench {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// As many as the measured rate of the server needs to be busy.
constexpr int kCreators = 32;
constexpr auto kProgramTimeout = std::chrono::minutes{5};
constexpr auto kServedTimeout = std::chrono::seconds{30};
constexpr auto kPollInterval = std::chrono::milliseconds{20};

// A Pod as a game server's template makes it: about 1.1 KB without what the server adds.
Value bench_pod(int n) {
  return Object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       Object{{"name", fmt::format("room-{:06}", n)},
              {"namespace", "default"},
              {"labels", Object{{"app", "game-room"},
                                {"app.kubernetes.io/part-of", "game"},
                                {"pod-template-hash", fmt::format("{:x}", n / 50)}}},
              {"annotations",
               Object{{"portpools.networkextension.bkbcs.tencent.com", "true"},
                      {"ports.portpools.networkextension.bkbcs.tencent.com", "rooms TCP 8000"},
                      {"example.com/notes", std::string(200, 'x')}}},
              {"ownerReferences",
               Array{Object{{"apiVersion", "apps/v1"},
                            {"kind", "ReplicaSet"},
                            {"name", fmt::format("game-{:x}", n / 50)},
                            {"uid", fmt::format("00000000-0000-4000-8000-{:012x}", n / 50)},
                            {"controller", true}}}}}},
      {"spec",
       Object{
           {"containers",
            Array{Object{{"name", "room"},
                         {"image", "registry.example/game/room:1.2.3"},
                         {"env", Array{Object{{"name", "ROOM"}, {"value", fmt::format("{}", n)}}}},
                         {"ports", Array{Object{{"name", "game"}, {"containerPort", 8000}}}}}}}}}};
}

Value bench_room(int n) {
  return Object{
      {"apiVersion", room_type().api_version()},
      {"kind", room_type().kind},
      {"metadata", Object{{"name", room_name(n)},
                          {"namespace", "default"},
                          {"labels", Object{{"app", "game-room"}}}}},
      {"spec",
       Object{{"port", n % 60000 + 1}, {"protocol", "TCP"}, {"notes", std::string(900, 'x')}}}};
}

Value room_definition() {
  const Object schema{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  return Object{{"apiVersion", "apiextensions.k8s.io/v1"},
                {"kind", "CustomResourceDefinition"},
                {"metadata", Object{{"name", "rooms.bench.berth.dev"}}},
                {"spec", Object{{"group", room_type().group},
                                {"scope", "Namespaced"},
                                {"names", Object{{"plural", "rooms"}, {"kind", "Room"}}},
                                {"versions",
                                 Array{Object{{"name", "v1"},
                                              {"served", true},
                                              {"storage", true},
                                              {"schema", Object{{"openAPIV3Schema", schema}}}}}}}}};
}

Result<> create_many(const std::string& kubeconfig, const kube::ResourceType& type, int count,
                     Value (*make)(int)) {
  Session session;
  if (Result<> opened = session.open(kubeconfig); !opened) return opened;
  std::atomic<int> next{0};
  std::atomic<int> failures{0};
  const auto work = [&] {
    const Context context{.tasks = session.tasks};
    for (int n = next++; n < count; n = next++) {
      const auto created = session.client->create(context, type, make(n));
      if (!created && created.error().code != Code::already_exists) ++failures;
      if (n % 5000 == 0) std::fprintf(stderr, "  %d of %d %s\n", n, count, type.plural.c_str());
    }
  };
  std::vector<std::jthread> creators;
  for (int i = 0; i < kCreators; ++i) creators.emplace_back(work);
  creators.clear();
  if (failures > 0)
    return fail(Code::internal, "{} of {} {} could not be created", failures.load(), count,
                type.plural);
  return {};
}

// The definition, and the rooms as soon as they are served.
Result<> create_rooms(const std::string& kubeconfig, int count) {
  Session session;
  if (Result<> opened = session.open(kubeconfig); !opened) return opened;
  const Context context = Context{.tasks = session.tasks}.within(kServedTimeout);
  auto defined =
      session.client->create(context, kube::types::kCustomResourceDefinition, room_definition());
  if (!defined) return pass(defined);
  while (!session.client->list(context, room_type(), {.ns = "default", .limit = 1})) {
    if (!sleep_for(session.tasks, kPollInterval, {}) || context.expired())
      return fail(context.end_error());
  }
  return create_many(kubeconfig, room_type(), count, bench_room);
}

}  // namespace

const kube::ResourceType& room_type() {
  static const kube::ResourceType kRoom{"bench.berth.dev", "v1", "rooms", "Room", true};
  return kRoom;
}

std::string room_name(int n) { return fmt::format("room-{:06}", n); }

struct Environment::Embedded {
  testing::ScratchDir folder;
  std::string kubeconfig;
  testing::Process process;
  bool rooms = false;
};

Environment::Environment(std::filesystem::path own_program)
    : own_program_(std::move(own_program)) {}
Environment::~Environment() = default;

Result<testing::ControlPlane*> Environment::fresh_control_plane() {
  control_plane_.reset();
  pods_ = false;
  rooms_ = false;
  return control_plane();
}

Result<testing::ControlPlane*> Environment::control_plane() {
  if (control_plane_) return control_plane_.get();
  if (const auto why = testing::ControlPlane::unavailable())
    return fail(Code::unsupported, "{}", *why);
  auto started = testing::ControlPlane::start();
  if (!started) return fail(Code::unavailable, "{}", started.error());
  control_plane_ = std::move(*started);
  return control_plane_.get();
}

Result<std::filesystem::path> Environment::peers() const {
  const char* folder = std::getenv("BERTH_PEERS_DIR");
  if (!folder || !*folder)
    return fail(Code::unsupported, "BERTH_PEERS_DIR is not set: the Go peers were not built");
  return std::filesystem::path(folder);
}

Result<> Environment::need_pods(int count) {
  if (pods_) return {};
  Result<testing::ControlPlane*> cluster = control_plane();
  if (!cluster) return pass(cluster);
  if (Result<> made =
          create_many((*cluster)->kubeconfig_path(), kube::types::kPod, count, bench_pod);
      !made)
    return made;
  pods_ = true;
  return {};
}

Result<> Environment::need_rooms(int count) {
  if (rooms_) return {};
  Result<testing::ControlPlane*> cluster = control_plane();
  if (!cluster) return pass(cluster);
  if (Result<> made = create_rooms((*cluster)->kubeconfig_path(), count); !made) return made;
  rooms_ = true;
  return {};
}

Result<std::string> Environment::embedded_server() {
  if (embedded_) return embedded_->kubeconfig;
  auto folder = testing::ScratchDir::create("berth-bench");
  if (!folder) return fail(Code::internal, "{}", folder.error());
  const std::string kubeconfig = folder->path() / "kubeconfig";
  auto process = testing::Process::spawn({.program = own_program_,
                                          .args = {"--child", "serve", "--kubeconfig", kubeconfig},
                                          .env = {}},
                                         folder->path() / "log");
  if (!process) return fail(Code::internal, "{}", process.error());
  const auto until = std::chrono::steady_clock::now() + kServedTimeout;
  while (!std::filesystem::exists(kubeconfig)) {
    if (std::chrono::steady_clock::now() > until || !process->running())
      return fail(Code::unavailable, "the embedded API server did not start");
    std::this_thread::sleep_for(kPollInterval);
  }
  embedded_ =
      std::make_unique<Embedded>(Embedded{std::move(*folder), kubeconfig, std::move(*process)});
  return kubeconfig;
}

Result<std::string> Environment::fresh_embedded_server() {
  embedded_.reset();
  return embedded_server();
}

Result<> Environment::need_embedded_rooms(int count) {
  if (embedded_->rooms) return {};
  if (Result<> made = create_rooms(embedded_->kubeconfig, count); !made) return made;
  embedded_->rooms = true;
  return {};
}

Result<std::map<std::string, double>> numbers_from(const std::filesystem::path& program,
                                                   std::vector<std::string> args) {
  const auto result =
      testing::run({.program = program, .args = std::move(args), .env = {}}, "", kProgramTimeout);
  if (!result.ok()) return fail(Code::internal, "{}: {}", program.filename().string(), result.err);
  const std::size_t line = result.out.rfind('{');
  const Result<Value> json =
      wire::parse_json(line == std::string::npos ? "" : result.out.substr(line));
  if (!json || !json->is_object())
    return fail(Code::internal, "{} printed no JSON", program.filename().string());
  std::map<std::string, double> numbers;
  for (const auto& member : json->get_object()) {
    if (member.value().is_number())
      numbers[std::string(member.key())] = member.value().to_number<double>();
  }
  return numbers;
}

}  // namespace berth::bench
