// `berth uninstall`

#include "controllers/install/uninstall.h"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "app/modules.h"
#include "cluster.h"
#include "console.h"

namespace berth::cmd {
namespace {

using controllers::install::Survey;
using controllers::install::Uninstaller;
using controllers::install::UninstallOptions;

struct Flags {
  ClusterFlags cluster;
  UninstallOptions options;
  int grace_seconds = 30;
  bool yes = false;
  bool dry_run = false;
  Output output = Output::text;
};

void print_survey(const Survey& survey, Output output) {
  if (output == Output::json) {
    wire::Array objects(survey.objects.begin(), survey.objects.end());
    wire::Array holders(survey.holders.begin(), survey.holders.end());
    wire::Object kinds;
    for (const auto& [kind, count] : survey.of_kind) kinds[kind] = count;
    const wire::Object all{{"wouldRemove", wire::Object{{"objects", std::move(objects)},
                                                        {"ofKind", std::move(kinds)}}},
                           {"podsThatHoldPorts", std::move(holders)}};
    std::puts(wire::to_pretty_json(all).c_str());
    return;
  }
  if (survey.empty()) std::puts("Nothing of Berth is installed.");
  for (const auto& [kind, count] : survey.of_kind)
    std::printf("would remove %zu of kind %s\n", count, kind.c_str());
  for (const std::string& object : survey.objects) std::printf("would remove %s\n", object.c_str());
  for (const std::string& pod : survey.holders) std::printf("holds ports: Pod %s\n", pod.c_str());
}

Result<> preview(Uninstaller& uninstaller, const Context& context, const Flags& flags) {
  const Result<Survey> survey = uninstaller.survey(context);
  if (!survey) return fail(survey.error());
  print_survey(*survey, flags.output);
  if (flags.dry_run || survey->empty()) return {};
  return fail(error_of(Code::precondition, "nothing was removed")
                  .with_hint("run it again with --yes to remove all of this"));
}

Result<> remove_all(const Flags& flags, const Context& context, kube::Client& client) {
  Story story(flags.output);
  Uninstaller uninstaller(client, flags.options,
                          [&story](const std::string& text) { story.step(text); });
  if (flags.dry_run || !flags.yes) return preview(uninstaller, context, flags);
  const Result<> result = uninstaller.run(context);
  wire::Object removed;
  for (const auto& [kind, count] : uninstaller.removed()) removed[kind] = count;
  if (result && removed.empty()) story.step("nothing of Berth is installed");
  story.end(result, {{"removed", std::move(removed)}});
  return result;
}

Result<> run_uninstall(const Flags& flags) {
  return with_cluster(flags.cluster, [&flags](const Context& context, kube::Client& client) {
    return remove_all(flags, context, client);
  });
}

}  // namespace

void add_uninstall(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand(
      "uninstall", "Take Berth off a cluster: nothing of it is left. Can be run again.");
  const auto flags = std::make_shared<Flags>();
  add_cluster_options(*command, flags->cluster);
  add_namespace_option(*command, flags->options.ns);
  command->add_flag("--yes", flags->yes,
                    "Do it. Without this, what would be removed is printed and nothing is done.");
  command->add_flag("--dry-run", flags->dry_run, "Print what would be removed, and succeed.");
  command->add_flag("--force", flags->options.force,
                    "Also while Pods hold ports, which they lose.");
  command->add_flag("--keep-crds", flags->options.keep_crds,
                    "Leave the CustomResourceDefinitions; their objects go.");
  command
      ->add_option("--grace-seconds", flags->grace_seconds,
                   "How long a running controller may take to clean up the load balancers.")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  add_output_option(*command, flags->output);
  set_example(*command, "berth uninstall --dry-run\n  berth uninstall --yes");
  command->callback([&run, flags] {
    flags->options.modules = app::all_declarations();
    flags->options.grace = std::chrono::seconds{flags->grace_seconds};
    run = [flags] { return run_uninstall(*flags); };
  });
}

}  // namespace berth::cmd
