// `berth playground`: try it with kubectl on one machine.

#include "playground/playground.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <map>
#include <memory>

#include "base/log.h"
#include "command.h"
#include "environment.h"
#include "examples.h"
#include "playground/natural_order.h"
#include "playground/table.h"

namespace berth::cmd {
namespace {

constexpr const char* kKubeconfig = "berth-playground.kubeconfig";

struct Flags {
  std::string kubeconfig;  // none: a free one here
  std::uint16_t port = 0;
  bool empty = false;
  std::string cloud = "edge";
  Output output = Output::text;
};

// What a newcomer types next, in the order in which it teaches something.
constexpr std::string_view kWithRooms =
    "  kubectl -n play get pods                                # two rooms, each with an address "
    "below\n"
    "  nc ADDRESS PORT                                         # talk to one; nc -u for UDP\n"
    "  kubectl -n play scale statefulset/room --replicas=4     # two more rooms, two more "
    "addresses\n"
    "  kubectl -n play delete pod room-1                       # it comes back at the same "
    "address\n"
    "  kubectl -n play describe portpool room-ports\n";
constexpr std::string_view kWithRoomsOnTencent =
    "  kubectl -n cloud get pods                               # two rooms, each with an address "
    "below\n"
    "  nc ADDRESS PORT                                         # talk to one, through the cloud\n"
    "  kubectl -n cloud scale statefulset/room --replicas=4    # two more rooms, two more "
    "addresses\n"
    "  kubectl -n cloud describe portpool room-ports\n";
constexpr std::string_view kEmpty =
    "  kubectl apply -f examples/rooms.yaml       # a pool of ports, and rooms that use it\n"
    "  kubectl apply -f examples/first-room.yaml  # one room\n";

// Where the remarks above begin, behind two blanks.
constexpr std::size_t kRemarkColumn = 56;

std::string metrics_url(const playground::Playground& play) { return play.ops_url() + "/metrics"; }

std::string_view next_steps(const playground::Playground& play, bool empty) {
  if (empty) return kEmpty;
  return play.cloud_url().empty() ? kWithRooms : kWithRoomsOnTencent;
}

// The command, and a remark below the others.
std::string line_of(std::string_view command, std::string_view remark, bool empty) {
  const std::size_t width = empty ? command.size() + 1 : kRemarkColumn;
  return fmt::format("  {:<{}}# {}\n", command, std::max(width, command.size() + 1), remark);
}

std::string greeting(const playground::Playground& play, bool empty) {
  std::string out = fmt::format(
      "The playground is up. In another terminal:\n\n"
      "  export KUBECONFIG={}\n"
      "{}",
      play.kubeconfig_path(), next_steps(play, empty));
  out += line_of("curl -s " + metrics_url(play), "what Prometheus would see", empty);
  if (!play.cloud_url().empty())
    out += line_of("curl -sk " + play.cloud_url(), "the cloud; a browser shows a page", empty);
  return out +
         "\ndocs/playground.md goes on from there. Ctrl-C stops it; nothing is left behind.\n\n";
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

playground::Space terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 && size.ws_col != 0)
    return {.lines = size.ws_row, .width = size.ws_col};
  return {.lines = 24, .width = 80};
}

// The whole screen anew whenever something has changed, the terminal's size too.
class Screen {
 public:
  explicit Screen(std::string head) : head_(std::move(head)) { draw(head_); }
  void show(const playground::Overview& overview) {
    constexpr std::size_t kCursor = 1;
    playground::Space space = terminal_size();
    const std::size_t above = playground::lines_of(head_, space.width) + kCursor;
    space.lines -= std::min(space.lines, above);
    std::string text = head_ + to_table(overview, space);
    if (text != shown_) draw(std::move(text));
  }

 private:
  void draw(std::string text) {
    constexpr const char* kClear = "\x1b[H\x1b[2J";
    print(kClear + text);
    shown_ = std::move(text);
  }

  const std::string head_;
  std::string shown_;
};

// What programs read first.
std::string first_line(const playground::Playground& play) {
  wire::Object out{{"kubeconfig", play.kubeconfig_path()}, {"metrics", metrics_url(play)}};
  if (!play.cloud_url().empty()) out["cloud"] = play.cloud_url();
  return wire::to_json(out) + "\n";
}

// One line for each Pod or Service that is new, changed or gone, for logs and programs.
class Lines {
 public:
  Lines(const playground::Playground& play, bool empty, Output output) : output_(output) {
    print(output == Output::json ? first_line(play) : greeting(play, empty));
  }
  void show(const playground::Overview& overview) {
    std::map<std::string, std::string, playground::NaturalOrder> now;
    for (const playground::PodRow& pod : overview.pods) now["pod " + pod.pod] = line_of(pod);
    for (const playground::ServiceRow& service : overview.services)
      now["service " + service.service] = line_of(service);
    for (const playground::RefusedRow& row : overview.refused)
      now[fmt::format("refusal of {} {}", row.kind, row.workload)] = line_of(row);
    for (const auto& [name, line] : now) {
      const auto known = shown_.find(name);
      if (known == shown_.end() || known->second != line) print(line + "\n");
    }
    for (const auto& [name, line] : shown_) {
      if (!now.contains(name)) print(gone(name) + "\n");
    }
    shown_ = std::move(now);
  }

 private:
  std::string line_of(const playground::PodRow& pod) const {
    if (output_ == Output::json) {
      return wire::to_json(wire::Object{{"pod", pod.pod},
                                        {"ready", pod.ready},
                                        {"status", pod.status},
                                        {"ip", pod.ip},
                                        {"room", pod.room},
                                        {"readyAfter", pod.took}});
    }
    return fmt::format("pod {:32} {:5} {:12} {:15} {}{}{}", pod.pod, pod.ready, pod.status, pod.ip,
                       pod.room, pod.took.empty() ? "" : " after ", pod.took);
  }
  std::string line_of(const playground::ServiceRow& service) const {
    if (output_ == Output::json) {
      return wire::to_json(wire::Object{{"service", service.service},
                                        {"type", service.type},
                                        {"clusterIP", service.cluster_ip},
                                        {"externalIP", service.external_ip},
                                        {"ports", service.ports}});
    }
    return fmt::format("service {:28} {:12} {:15} {:15} {}", service.service, service.type,
                       service.cluster_ip, service.external_ip, service.ports);
  }
  std::string line_of(const playground::RefusedRow& row) const {
    if (output_ == Output::json) {
      return wire::to_json(wire::Object{{"refused", row.workload},
                                        {"kind", row.kind},
                                        {"missing", row.missing},
                                        {"wanted", row.wanted},
                                        {"why", row.why}});
    }
    return to_string(row);
  }
  std::string gone(const std::string& name) const {
    return output_ == Output::json ? wire::to_json(wire::Object{{"gone", name}})
                                   : name + " is gone";
  }

  const Output output_;
  std::map<std::string, std::string, playground::NaturalOrder> shown_;
};

template <class Display>
Result<> watch(playground::Playground& play, const Context& context, Display display) {
  constexpr Duration kPollInterval = std::chrono::milliseconds{250};
  // A look that fails after a pause of the process is no reason to end.
  constexpr int kMaxFailedLooks = 20;
  int failed_looks = 0;
  do {
    if (Result<> sound = play.standing(); !sound) return sound;
    Result<playground::Overview> overview = play.overview(context);
    if (!overview && overview.error().code == Code::stopped) break;
    if (!overview && ++failed_looks == kMaxFailedLooks) return pass(overview);
    if (!overview) continue;
    failed_looks = 0;
    display.show(*overview);
  } while (sleep_for(context.tasks, kPollInterval, context.stop));
  return {};
}

Result<> run_playground(const Flags& flags) {
  set_log_level(LogLevel::error);  // warnings of the API server are for kubectl
  raise_file_limit();              // each port of a Pod is a socket
  Foreground foreground;
  const Context context = foreground.context();
  const bool any_name = flags.kubeconfig.empty();
  const bool on_tencent = flags.cloud == "tencent";
  Result<std::unique_ptr<playground::Playground>> play = playground::Playground::start(
      context, {.version = BERTH_VERSION,
                .kubeconfig_path = absolute_path(any_name ? kKubeconfig : flags.kubeconfig),
                .kubeconfig_or_beside = any_name,
                .api_port = flags.port,
                .cloud = on_tencent ? model::Provider::tencent : model::Provider::edge});
  if (!play) return pass(play);
  if (!flags.empty) {
    if (Result<> made = (*play)->create(context, on_tencent ? kRoomsOnTencent : kRooms); !made)
      return made;
  }
  const bool terminal = flags.output == Output::text && ::isatty(STDOUT_FILENO) == 1;
  Result<> watched = terminal ? watch(**play, context, Screen(greeting(**play, flags.empty)))
                              : watch(**play, context, Lines(**play, flags.empty, flags.output));
  play->reset();
  if (watched && flags.output == Output::text) print("\nstopped, nothing left behind\n");
  return watched;
}

}  // namespace

void add_playground(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand(
      "playground",
      "A cluster to try things on: API server, workload controllers, Berth, its load balancer and "
      "Pods that answer, all in this process and on loopback. See docs/playground.md.");
  const auto flags = std::make_shared<Flags>();
  command->add_option(
      "--kubeconfig", flags->kubeconfig,
      "Where to write the kubeconfig for kubectl; by default to "
      "berth-playground.kubeconfig in this folder, or to berth-playground-2.kubeconfig "
      "while another playground has that.");
  add_port_option(*command, "--port", flags->port, "Port of the API server; 0 for any.");
  command->add_flag("--empty", flags->empty, "Start with nothing, not with examples/rooms.yaml.");
  command
      ->add_option("--cloud", flags->cloud,
                   "edge, our own load balancer, or tencent: a simulated cloud with load balancers "
                   "in two regions that carry traffic, and with examples/rooms-on-tencent.yaml.")
      ->check(CLI::IsMember({"edge", "tencent"}))
      ->capture_default_str();
  add_output_option(*command, flags->output);
  set_example(*command, "berth playground --kubeconfig /tmp/berth.kubeconfig");
  command->callback([&run, flags] { run = [flags] { return run_playground(*flags); }; });
}

}  // namespace berth::cmd
