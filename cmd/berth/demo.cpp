// `berth demo`: the first room, unattended.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>

#include "base/log.h"
#include "base/threads.h"
#include "command.h"
#include "console.h"
#include "edge/echo_server.h"
#include "environment.h"
#include "examples.h"
#include "playground/playground.h"

namespace berth::cmd {
namespace {

constexpr Duration kStepTimeout = std::chrono::seconds{20};
constexpr int kEchoTimeoutMs = 5000;
constexpr const char* kRoom = "games/room-0";

// Says something through the public port and checks that the room said it back.
Result<> check_echo(const playground::Room& room) {
  const std::size_t colon = room.address.rfind(':');
  Result<model::Port> port = model::parse_port(room.address.substr(colon + 1));
  if (!port) return pass(port);
  const std::string said = "ahoy\n";
  Result<std::string> heard =
      edge::ask_over_tcp({room.address.substr(0, colon), *port}, said, kEchoTimeoutMs);
  if (!heard) return pass(heard);
  const std::string wanted = fmt::format("this is {}\n{}", room.pod, said);
  if (*heard != wanted)
    return fail(Code::internal, "{} answered '{}', not '{}'", room.address, *heard, wanted);
  return {};
}

Result<> tell(Story& story, const Context& context, wire::Object& facts) {
  Result<std::unique_ptr<playground::Playground>> play = playground::Playground::start(
      context, {.kubeconfig_path =
                    fmt::format("{}/berth-demo-{}.kubeconfig", temporary_folder(), ::getpid())});
  if (!play) return pass(play);
  story.step("API server, controller, load balancer and node are up");
  if (Result<> made = (*play)->create(context.within(kStepTimeout), kFirstRoom); !made) return made;
  story.step("namespace, pool of ten ports and Pod created: the Pod has a port in its annotations");
  Result<playground::Room> room = (*play)->wait_for_room(context.within(kStepTimeout), kRoom);
  if (!room) return pass(room);
  story.step(fmt::format("{} is {} at {}", room->pod, room->status, room->address));
  if (Result<> echoed = check_echo(*room); !echoed) return echoed;
  story.step(fmt::format("said ahoy to {}, and the room said it back", room->address));
  facts["pod"] = room->pod;
  facts["address"] = room->address;
  play->reset();
  story.step("everything stopped, nothing left behind");
  return {};
}

Result<> run_demo(Output output) {
  set_log_level(LogLevel::error);  // warnings of the API server are for kubectl
  std::stop_source stop;
  const StopOnSignal on_signal(stop);
  ThreadTasks tasks;
  Story story(output);
  wire::Object facts;
  const Result<> result = tell(story, {.tasks = tasks, .stop = stop.get_token()}, facts);
  story.end(result, facts);
  return result;
}

}  // namespace

void add_demo(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand(
      "demo", "A Pod gets an address, and an echo goes through it. Exits 0 or 1.");
  const auto output = std::make_shared<Output>(Output::text);
  add_output_option(*command, *output);
  set_example(*command, "berth demo -o json");
  command->callback([&run, output] { run = [output] { return run_demo(*output); }; });
}

}  // namespace berth::cmd
