// `berth plan`: what applying a file would cost.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>

#include "base/file.h"
#include "cluster.h"
#include "environment.h"
#include "preview/text.h"

namespace berth::cmd {
namespace {

constexpr Duration kTimeout = std::chrono::seconds{30};
// Objects of an API server are at most a megabyte or so each.
constexpr std::size_t kMostBytes = 8u << 20;

struct Flags {
  ClusterFlags cluster;
  std::string file;
  std::string ns = "default";
  std::string cloud = "edge";
  std::string region;
  bool no_cluster = false;
  bool names_have_protocol = false;
  Output output = Output::text;
};

Result<std::string> read_input(const std::string& path) {
  if (path != "-") return read_file(path, kMostBytes);
  std::string text;
  char byte = 0;
  while (text.size() <= kMostBytes && std::cin.get(byte)) text.push_back(byte);
  if (text.size() > kMostBytes)
    return fail(Code::invalid, "standard input has more than {} bytes", kMostBytes);
  return text;
}

preview::Options options_of(const Flags& flags, WallTime now) {
  preview::Options out{.now = now};
  out.defaults.provider = flags.cloud == "edge" ? model::Provider::edge : model::Provider::tencent;
  out.defaults.region = flags.region.empty() ? environment("TENCENTCLOUD_REGION") : flags.region;
  if (flags.names_have_protocol) out.names = api::ListenerNames::with_protocol;
  return out;
}

void print(const preview::Preview& preview, Output output) {
  if (output == Output::json) {
    std::puts(wire::to_pretty_json(to_json(preview)).c_str());
  } else {
    std::fputs(to_text(preview).c_str(), stdout);
  }
  if (preview.is_refused()) set_exit_code(kExitTrouble);
}

Result<> run_plan(const Flags& flags) {
  Result<std::string> text = read_input(flags.file);
  if (!text) return fail(std::move(text.error()).about(flags.file));
  Result<preview::Documents> documents = preview::parse_documents(*text, flags.ns);
  if (!documents) {
    Error error = std::move(documents.error());
    error.object = error.object.empty() ? flags.file : flags.file + ": " + error.object;
    return fail(std::move(error));
  }
  const auto look = [&](const Context& context, kube::Client* client) -> Result<> {
    const preview::Options options = options_of(flags, context.tasks.wall_time());
    preview::House house(options.defaults);
    if (client) {
      Result<> read = preview::read_house(context.within(kTimeout), *client, *documents, house);
      if (!read)
        return fail(std::move(read.error())
                        .with_hint("with --no-cluster everything counts as new, and no cluster is "
                                   "asked"));
    }
    print(preview::preview(*documents, house, options), flags.output);
    return {};
  };
  if (!flags.no_cluster && load_cluster(flags.cluster))
    return with_cluster(flags.cluster, [&](const Context& context, kube::Client& client) {
      return look(context, &client);
    });
  if (!flags.no_cluster && !(flags.cluster.kubeconfig.empty() && flags.cluster.context.empty()))
    return fail(load_cluster(flags.cluster).error());
  if (!flags.no_cluster)
    std::fprintf(stderr, "berth: no cluster is configured: everything counts as new\n");
  Foreground foreground;
  return look(foreground.context(), nullptr);
}

}  // namespace

void add_plan(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand("plan",
                                          "What applying a file would cost: listeners, calls to "
                                          "the provider, and seconds at the least; "
                                          "and whether it would be refused. Nothing is written. "
                                          "Exits 0, or 1 when it would be refused.");
  const auto flags = std::make_shared<Flags>();
  command
      ->add_option(
          "-f,--filename", flags->file,
          "YAML or JSON with PortPools and Ingresses, several documents too; - for standard "
          "input. Other kinds cost nothing and are named.")
      ->required()
      ->type_name("FILE");
  command->add_option("-n,--namespace", flags->ns, "Namespace of objects that name none.")
      ->capture_default_str();
  command
      ->add_option(
          "--cloud", flags->cloud,
          "As the controller has it: whose load balancers are those that are written without "
          "a provider.")
      ->check(CLI::IsMember({"edge", "tencent", "tencentcloud"}))
      ->capture_default_str();
  command->add_option("--region", flags->region,
                      "As the controller has it: region of load balancers that are written without "
                      "one; TENCENTCLOUD_REGION by default.");
  command->add_flag("--protocol-in-names", flags->names_have_protocol, "As the controller has it.");
  command->add_flag("--no-cluster", flags->no_cluster, "Ask no cluster: everything counts as new.");
  add_cluster_options(*command, flags->cluster);
  add_output_option(*command, flags->output);
  set_example(
      *command,
      "berth plan -f pool.yaml --cloud tencent --region ap-nanjing\n  cat *.yaml | berth plan "
      "-f - --no-cluster -o json");
  command->callback([&run, flags] { run = [flags] { return run_plan(*flags); }; });
}

}  // namespace berth::cmd
