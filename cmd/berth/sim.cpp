// `berth sim`: simulated clouds to point programs at.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/log.h"
#include "command.h"
#include "environment.h"
#include "sim/cloud/tencent/https_frontend.h"
#include "sim/cloud/tencent/setup.h"
#include "sim/cloud/traffic/carrier.h"
#include "wire/yaml.h"

namespace berth::cmd {
namespace {

using sim::tencent::Cloud;
using sim::tencent::HttpsFrontend;
using sim::tencent::Setup;
using sim::traffic::Carrier;

constexpr std::size_t kMaxSetup = 1u << 20;
constexpr unsigned kReadable = 0644;

struct TencentFlags {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::string setup;
  std::string ca_file = "berth-sim-tencent.pem";
  int round_trip_ms = 0;
  bool traffic = false;
  Output output = Output::text;
};

Result<Setup> setup_of(const TencentFlags& flags) {
  if (flags.setup.empty()) return sim::tencent::example_setup();
  Result<std::string> content = read_file(flags.setup, kMaxSetup);
  if (!content) return pass(content);
  Result<wire::Value> document = wire::parse_yaml(*content);
  if (!document) return fail(std::move(document.error()).about(flags.setup));
  Result<Setup> setup = sim::tencent::read_setup(*document);
  if (!setup) return fail(std::move(setup.error()).about(flags.setup));
  return setup;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string greeting(const TencentFlags& flags, const HttpsFrontend& frontend) {
  const std::string ca = absolute_path(flags.ca_file);
  if (flags.output == Output::json) {
    return wire::to_json(
               wire::Object{{"url", frontend.url()}, {"endpoint", frontend.host()}, {"ca", ca}}) +
           "\n";
  }
  std::string out = fmt::format(
      "A simulated Tencent Cloud is up at {}\n\n"
      "  endpoint     {}\n"
      "  authority    {}\n",
      frontend.url(), frontend.host(), ca);
  if (flags.traffic)
    out += "  traffic      TCP and UDP, on loopback; its state says where each listener is open\n";
  if (flags.setup.empty()) {
    out += fmt::format(
        "  secret id    {}\n"
        "  secret key   {}\n"
        "  one load balancer: {} in {}\n",
        sim::tencent::kExampleSecretId, sim::tencent::kExampleSecretKey,
        sim::tencent::kExampleLoadBalancer, sim::tencent::kExampleRegion);
  }
  return out + fmt::format(
                   "\n  curl --cacert {} {}   # its state; a browser shows a page\n\n"
                   "docs/tencent.md goes on from there. Ctrl-C stops it.\n",
                   ca, frontend.url());
}

std::string farewell(const TencentFlags& flags, const Cloud& cloud) {
  if (flags.output == Output::json) return wire::to_json(cloud.dump()) + "\n";
  std::string out = "\ncalls:\n";
  for (const auto& [action, count] : cloud.calls())
    out +=
        fmt::format("  {:32} {:6} answered {:6} refused\n", action, count.answered, count.refused);
  return out;
}

// Nothing, unless it is asked for.
Result<std::unique_ptr<Carrier>> carrier_of(const TencentFlags& flags, const Context& context,
                                            Cloud& cloud) {
  if (!flags.traffic) return nullptr;
  raise_file_limit();  // each listener is a socket, and each connection two
  return Carrier::start(context.tasks, cloud);
}

Result<> run_tencent(const TencentFlags& flags) {
  set_log_level(LogLevel::error);
  Result<Setup> setup = setup_of(flags);
  if (!setup) return pass(setup);
  Foreground foreground;
  const Context context = foreground.context();
  const std::unique_ptr<Cloud> cloud =
      sim::tencent::make_cloud(std::move(*setup), context.tasks.wall_time());
  Result<std::unique_ptr<Carrier>> carrier = carrier_of(flags, context, *cloud);
  if (!carrier) return pass(carrier);
  Result<std::unique_ptr<HttpsFrontend>> frontend =
      HttpsFrontend::start(context.tasks, *cloud,
                           {.address = flags.address,
                            .port = flags.port,
                            .round_trip = std::chrono::milliseconds{flags.round_trip_ms},
                            .before_answer = [&](const std::stop_token& stop) {
                              if (*carrier) (*carrier)->follow(stop);
                            }});
  if (!frontend) return pass(frontend);
  if (Result<> written = write_file(flags.ca_file, (*frontend)->ca_pem(), kReadable); !written)
    return written;
  print(greeting(flags, **frontend));
  constexpr Duration kAnyTime = std::chrono::hours{1};  // it ends when it is told to
  while (sleep_for(context.tasks, kAnyTime, context.stop)) {
  }
  frontend->reset();
  ::unlink(flags.ca_file.c_str());
  print(farewell(flags, *cloud));
  return {};
}

void add_tencent(CLI::App& sim, Run& run) {
  CLI::App* command = sim.add_subcommand(
      "tencent",
      "Tencent CLB, simulated: verifies signatures and parameters, runs tasks, enforces limits. "
      "GET / shows its state. See docs/tencent.md.");
  const auto flags = std::make_shared<TencentFlags>();
  command->add_option("--address", flags->address, "Address to listen on.")->capture_default_str();
  add_port_option(*command, "--port", flags->port, "Port to listen on; 0 for any.");
  command->add_option("--setup", flags->setup,
                      "YAML file with accounts, keys, load balancers, settings and faults; "
                      "without it, one of each for trying.");
  command
      ->add_option("--ca-file", flags->ca_file,
                   "Where to write the certificate of its authority; removed at the end.")
      ->capture_default_str();
  command->add_option("--round-trip-ms", flags->round_trip_ms, "Each answer comes so much later.")
      ->check(CLI::Range(0, 60'000))
      ->capture_default_str();
  command->add_flag("--traffic", flags->traffic,
                    "Carry what TCP and UDP listeners lead to, on loopback: a VIP of 127.0.0.0/8 "
                    "is used as it is, others have an address there that the state shows.");
  add_output_option(*command, flags->output);
  set_example(*command, "berth sim tencent --port 8443 --ca-file /tmp/sim.pem");
  command->callback([&run, flags] { run = [flags] { return run_tencent(*flags); }; });
}

}  // namespace

void add_sim(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand("sim", "Simulated clouds to point programs at.");
  command->require_subcommand(1);
  set_example(*command, "berth sim tencent");
  add_tencent(*command, run);
}

}  // namespace berth::cmd
