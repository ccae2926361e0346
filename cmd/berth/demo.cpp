// `berth demo`: what the playground invites people to try, unattended.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "api/pod_ports.h"
#include "base/log.h"
#include "command.h"
#include "console.h"
#include "edge/echo_server.h"
#include "environment.h"
#include "examples.h"
#include "playground/playground.h"
#include "playground/table.h"

namespace berth::cmd {
namespace {

using playground::Playground;
using playground::Room;
using Rooms = std::map<std::string, Room>;  // by Pod

// Generous: it ends a demo that hangs, and must not end one on a busy machine.
constexpr Duration kStepTimeout = std::chrono::seconds{120};
constexpr Duration kPollInterval = std::chrono::milliseconds{20};
constexpr int kEchoTimeoutMs = 20'000;
constexpr int kFewRooms = 2;  // as the example has it
constexpr int kManyRooms = 5;
const kube::ObjectKey kRoomSet{"play", "room"};
const kube::ObjectKey kVictim{"play", "room-1"};

// Says something through a public port and checks that the room said it back.
Result<> check_echo(const Room& room, const playground::RoomPort& port) {
  const bool tcp = port.protocol == "TCP";
  const std::string said = "ahoy\n";
  Result<std::string> heard = tcp ? edge::ask_over_tcp(port.open_at, said, kEchoTimeoutMs)
                                  : edge::ask_over_udp(port.open_at, said, kEchoTimeoutMs);
  if (!heard) return pass(heard);
  const std::string wanted = tcp ? fmt::format("this is {}\n{}", room.pod, said) : said;
  if (*heard == wanted) return {};
  return fail(Code::internal, "{} {} answered '{}', not '{}'", port.protocol,
              model::to_string(port.open_at), *heard, wanted);
}

Result<> check_echoes(const Rooms& rooms) {
  for (const auto& [pod, room] : rooms) {
    for (const playground::RoomPort& port : room.ports) {
      if (Result<> echoed = check_echo(room, port); !echoed) return echoed;
    }
  }
  return {};
}

// One telling of it, on a playground of its own.
class Demo {
 public:
  Demo(Playground& play, Story& story, const Context& context)
      : play_(play), story_(story), context_(context) {}

  Result<> play_through() {
    story_.begin(fmt::format("a pool and a StatefulSet: {} rooms get addresses", kFewRooms));
    if (Result<> made = play_.create(context_.within(kStepTimeout), kRooms); !made) return made;
    Result<Rooms> rooms = wait_for_rooms(kFewRooms);
    if (!rooms) return pass(rooms);
    story_.step("a pool of twenty ports and a StatefulSet: two rooms have addresses");
    if (Result<> done = grow(); !done) return done;
    if (Result<> done = replace_one(); !done) return done;
    look();
    return shrink();
  }

  // How it looks now, for people.
  void look() {
    Result<playground::Overview> overview = play_.overview(context_.within(kStepTimeout));
    if (overview) table_ = to_table(*overview);
  }
  // As it was when all rooms were there; after a failure, as it is.
  const std::string& table() const { return table_; }

 private:
  Result<> grow() {
    story_.begin(fmt::format("scale to {}: each room gets an address of its own", kManyRooms));
    if (Result<> scaled = scale(kManyRooms); !scaled) return scaled;
    Result<Rooms> rooms = wait_for_rooms(kManyRooms);
    if (!rooms) return pass(rooms);
    std::set<std::string> addresses;
    for (const auto& [pod, room] : *rooms) addresses.insert(room.address);
    if (addresses.size() != rooms->size()) return fail(Code::internal, "rooms share an address");
    story_.step(fmt::format("scaled to {}: as many rooms, as many addresses", kManyRooms));
    story_.begin("say ahoy to each room over TCP and UDP");
    if (Result<> echoed = check_echoes(*rooms); !echoed) return echoed;
    story_.step("said ahoy to each of them over TCP and UDP, and heard it back");
    rooms_ = std::move(*rooms);
    return {};
  }

  // A room that goes and comes back is found where it was.
  Result<> replace_one() {
    story_.begin(fmt::format("delete {}: it comes back at its address", kVictim.to_string()));
    const Room before = rooms_.at(kVictim.to_string());
    Result<> removed =
        play_.client().remove(context_.within(kStepTimeout), kube::types::kPod, kVictim);
    if (!removed) return removed;
    Result<Rooms> rooms = wait_for_rooms(kManyRooms, before.uid);
    if (!rooms) return pass(rooms);
    const Room& after = rooms->at(kVictim.to_string());
    if (after.address != before.address) {
      return fail(Code::internal, "{} was at {} and came back at {}", after.pod, before.address,
                  after.address);
    }
    if (Result<> echoed = check_echoes({{after.pod, after}}); !echoed) return echoed;
    story_.step(fmt::format("deleted {}: the new one is at the same address, {}", after.pod,
                            after.address));
    return {};
  }

  // Rooms that need not come back give their ports to others.
  Result<> shrink() {
    story_.begin("scale to 1: the ports of the other rooms become free");
    for (int i = 1; i < kManyRooms; ++i) {
      const wire::Value forget = wire::Object{
          {"metadata",
           wire::Object{{"annotations", wire::Object{{api::kKeepDurationAnnotation, "0s"}}}}}};
      Result<wire::Value> told = play_.client().patch(
          context_.within(kStepTimeout), kube::types::kPod,
          {kRoomSet.ns, fmt::format("{}-{}", kRoomSet.name, i)}, kube::PatchType::merge, forget);
      if (!told) return pass(told);
    }
    if (Result<> scaled = scale(1); !scaled) return scaled;
    if (Result<Rooms> rooms = wait_for_rooms(1); !rooms) return pass(rooms);
    Result<> freed = wait_until([this]() -> Result<bool> {
      Result<playground::Overview> overview = play_.overview(context_.within(kStepTimeout));
      if (!overview) return pass(overview);
      const playground::PortCounts one_room{{"TCP", 1}, {"UDP", 1}};
      return overview->pools.size() == 1 && overview->pools.front().used == one_room;
    });
    if (!freed) return freed;
    story_.step("scaled to 1, addresses no longer kept: their ports are free again");
    return {};
  }

  Result<> scale(int replicas) {
    Result<wire::Value> scaled = play_.client().patch(
        context_.within(kStepTimeout), kube::types::kStatefulSet, kRoomSet, kube::PatchType::merge,
        wire::Object{{"spec", wire::Object{{"replicas", replicas}}}});
    if (!scaled) return pass(scaled);
    return {};
  }

  // Just so many, all of them Ready; the Pod of that uid has gone.
  Result<Rooms> wait_for_rooms(std::size_t count, const std::string& without = {}) {
    Rooms found;
    Result<> waited = wait_until([&]() -> Result<bool> {
      found.clear();
      Result<std::vector<Room>> rooms = play_.rooms(context_.within(kStepTimeout));
      if (!rooms) return pass(rooms);
      for (const Room& room : *rooms) {
        if (room.status == "Ready" && room.uid != without) found[room.pod] = room;
      }
      return found.size() == count && rooms->size() == count;
    });
    if (!waited) return pass(waited);
    return found;
  }

  Result<> wait_until(const std::function<Result<bool>()>& done) {
    const Context context = context_.within(kStepTimeout);
    for (;;) {
      Result<bool> now = done();
      if (!now) return pass(now);
      if (*now) return {};
      if (Result<> sound = play_.standing(); !sound) return sound;
      if (!sleep_for(context.tasks, kPollInterval, context.stop) || context.expired())
        return fail(context.end_error());
    }
  }

  Playground& play_;
  Story& story_;
  const Context context_;
  Rooms rooms_;
  std::string table_;
};

Result<> tell(Story& story, const Context& context, wire::Object& facts, std::string& table) {
  story.begin("start API server, controller, load balancer and node");
  Result<std::unique_ptr<Playground>> play =
      Playground::start(context, {.version = BERTH_VERSION,
                                  .kubeconfig_path = fmt::format("{}/berth-demo-{}.kubeconfig",
                                                                 temporary_folder(), ::getpid())});
  if (!play) return pass(play);
  story.step("API server, controller, load balancer and node are up");
  Demo demo(**play, story, context);
  const Result<> played = demo.play_through();
  if (!played) demo.look();
  table = demo.table();
  if (!played) return played;
  Result<Room> room = (*play)->wait_for_room(context.within(kStepTimeout), "play/room-0");
  if (!room) return pass(room);
  facts["pod"] = room->pod;
  facts["address"] = room->address;
  story.begin("stop everything");
  play->reset();
  story.step("everything stopped, nothing left behind");
  return {};
}

Result<> run_demo(Output output) {
  set_log_level(LogLevel::error);  // warnings of the API server are for kubectl
  Foreground foreground;
  Story story(output);
  wire::Object facts;
  std::string table;
  Result<> result = tell(story, foreground.context(), facts, table);
  if (output == Output::text) std::printf("\n%s", table.c_str());
  story.end(result, facts);
  if (result) return result;
  return fail(error_of(result.error().code, "the demo failed at: {}", story.trying())
                  .because(result.error()));
}

}  // namespace

void add_demo(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand(
      "demo",
      "Rooms get addresses, echoes go through them, a room comes back at its address, and ports "
      "are freed. Exits 0 or 1.");
  const auto output = std::make_shared<Output>(Output::text);
  add_output_option(*command, *output);
  set_example(*command, "berth demo -o json");
  command->callback([&run, output] { run = [output] { return run_demo(*output); }; });
}

}  // namespace berth::cmd
