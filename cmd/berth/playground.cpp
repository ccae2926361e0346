// `berth playground`: try it with kubectl on one machine.

#include "playground/playground.h"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <map>
#include <memory>

#include "base/log.h"
#include "base/threads.h"
#include "command.h"
#include "environment.h"

namespace berth::cmd {
namespace {

struct Flags {
  std::string kubeconfig = "berth-playground.kubeconfig";
  std::uint16_t port = 0;
  Output output = Output::text;
};

void greet(const playground::Playground& play, Output output) {
  const std::string& path = play.kubeconfig_path();
  if (output == Output::json) {
    std::puts(wire::to_json(wire::Object{{"kubeconfig", path}}).c_str());
  } else {
    std::printf(
        "The playground is up. In another terminal:\n\n"
        "  export KUBECONFIG=%s\n"
        "  kubectl apply -f examples/first-room.yaml\n"
        "  kubectl -n games get pod room-0 -o yaml   # its address is in the annotations\n\n"
        "Ctrl-C stops it; nothing is left behind.\n",
        path.c_str());
  }
  std::fflush(stdout);
}

// One line for each room that is new or changed.
Result<> watch_rooms(playground::Playground& play, const Context& context, Output output) {
  constexpr Duration kLookAgain = std::chrono::milliseconds{250};
  std::map<std::string, std::string> shown;
  while (sleep_for(context.tasks, kLookAgain, context.stop)) {
    Result<std::vector<playground::Room>> rooms = play.rooms(context);
    if (!rooms && rooms.error().code == Code::stopped) break;
    if (!rooms) return pass(rooms);
    for (const playground::Room& room : *rooms) {
      const std::string line = fmt::format("{:24} {:24} {}", room.pod, room.address, room.status);
      if (shown[room.pod] == line) continue;
      shown[room.pod] = line;
      if (output == Output::json) {
        std::puts(
            wire::to_json(
                wire::Object{{"pod", room.pod}, {"address", room.address}, {"status", room.status}})
                .c_str());
      } else {
        std::puts(line.c_str());
      }
      std::fflush(stdout);
    }
  }
  return {};
}

Result<> run_playground(const Flags& flags) {
  set_log_level(LogLevel::error);  // warnings of the API server are for kubectl
  std::stop_source stop;
  const StopOnSignal on_signal(stop);
  ThreadTasks tasks;
  const Context context{.tasks = tasks, .stop = stop.get_token()};
  Result<std::unique_ptr<playground::Playground>> play = playground::Playground::start(
      context, {.kubeconfig_path = absolute_path(flags.kubeconfig), .api_port = flags.port});
  if (!play) return pass(play);
  greet(**play, flags.output);
  return watch_rooms(**play, context, flags.output);
}

}  // namespace

void add_playground(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand(
      "playground", "API server, controller, load balancer and Pods on loopback.");
  const auto flags = std::make_shared<Flags>();
  command->add_option("--kubeconfig", flags->kubeconfig,
                      "Where to write the kubeconfig for kubectl.");
  command->add_option("--port", flags->port, "Port of the API server; 0 for any.");
  add_output_option(*command, flags->output);
  set_example(*command, "berth playground --kubeconfig /tmp/berth.kubeconfig");
  command->callback([&run, flags] { run = [flags] { return run_playground(*flags); }; });
}

}  // namespace berth::cmd
