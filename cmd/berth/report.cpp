// `berth status` and `berth explain`: read-only looks at a cluster.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "app/modules.h"
#include "cluster.h"
#include "edge/knock.h"
#include "report/explain.h"
#include "report/probe.h"
#include "report/status.h"

namespace berth::cmd {
namespace {

constexpr Duration kTimeout = std::chrono::seconds{30};

struct Flags {
  ClusterFlags cluster;
  std::string controller_ns;  // empty: it is looked for
  Output output = Output::text;
  std::vector<std::string> target;  // of explain: "pod/room-0", or "pod" and "room-0"
  std::string ns = "default";       // of the target
  bool probe = false;               // and its addresses are tried
};

template <class Report>
void print(const Report& report, Output output) {
  if (output == Output::json) {
    std::puts(wire::to_pretty_json(to_json(report)).c_str());
  } else {
    std::fputs(to_text(report).c_str(), stdout);
  }
}

Result<> run_status(const Flags& flags) {
  return with_cluster(flags.cluster, [&](const Context& context, kube::Client& client) -> Result<> {
    Result<report::ClusterView> view = report::read_cluster(
        context.within(kTimeout), client, app::all_report_parts(), flags.controller_ns);
    if (!view) return pass(view);
    const report::Status status = report::make_status(*view);
    print(status, flags.output);
    if (!status.well()) set_exit_code(kExitTrouble);
    return {};
  });
}

Result<> run_explain(const Flags& flags) {
  Result<std::pair<std::string, std::string>> target = report::parse_target(
      flags.target.size() == 1 ? flags.target[0] : flags.target[0] + "/" + flags.target[1],
      app::all_report_parts());
  if (!target) return pass(target);
  return with_cluster(flags.cluster, [&](const Context& context, kube::Client& client) -> Result<> {
    Result<report::ExplainView> view =
        report::read_for_explain(context.within(kTimeout), client, app::all_report_parts(),
                                 flags.controller_ns, target->first, {flags.ns, target->second});
    if (!view) return pass(view);
    report::Explanation explanation = report::explain(*view);
    if (flags.probe)
      report::probe(
          *view, [](const model::Target& at) { return edge::knock(at, report::kKnockPatience); },
          explanation);
    print(explanation, flags.output);
    if (!explanation.ready()) set_exit_code(kExitTrouble);
    return {};
  });
}

void add_look_options(CLI::App& command, Flags& flags, Spelling spelling) {
  add_cluster_options(command, flags.cluster);
  add_namespace_option(command, flags.controller_ns, spelling);
  add_output_option(command, flags.output);
}

}  // namespace

void add_status(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand(
      "status",
      "How pools, load balancers, bindings and the controller stand. Exits 0 when all is well, 1 "
      "when something does not converge.");
  const auto flags = std::make_shared<Flags>();
  add_look_options(*command, *flags, Spelling::all);
  set_example(*command, "berth status\n  berth status -o json");
  command->callback([&run, flags] { run = [flags] { return run_status(*flags); }; });
}

void add_explain(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand(
      "explain",
      "Why a Pod has or has not its ports, or why an Ingress or a Listener is not as it should be, "
      "step by step, and what to do. Exits 0 when all of it is, else 1.");
  const auto flags = std::make_shared<Flags>();
  command
      ->add_option("target", flags->target,
                   "pod/NAME, deployment/NAME, statefulset/NAME, replicaset/NAME, "
                   "gamestatefulset/NAME, ingress/NAME or listener/NAME; po, deploy, sts and rs "
                   "for short.")
      ->required()
      ->expected(1, 2)
      ->type_name("");
  command->add_option("-n,--namespace", flags->ns, "Its namespace.")->capture_default_str();
  command->add_flag("--probe", flags->probe,
                    "Try its TCP addresses from here, too: first the Pod's own, then the load "
                    "balancer's. Connections are opened and closed, nothing is sent.");
  add_look_options(*command, *flags, Spelling::long_only);
  set_example(
      *command,
      "berth explain pod/room-0 -n games --probe\n  berth explain deployment/lobby -n games -o "
      "json\n  berth explain ingress/web -n games");
  command->callback([&run, flags] { run = [flags] { return run_explain(*flags); }; });
}

}  // namespace berth::cmd
