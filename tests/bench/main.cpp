// Runs benches, prints the table and writes build/bench.json.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "base/file.h"
#include "base/log.h"
#include "bench.h"
#include "wire/value.h"

namespace berth::bench {
namespace {

struct Flags {
  std::string name;
  std::string json = "build/bench.json";
  std::string child;
  std::string resource = "pods";
  std::string kubeconfig;
  int expect = 0;
};

void print_header() {
  std::printf("%-28s %14s %14s %-10s %7s %-7s %s\n", "name", "ours", "other", "unit", "ratio",
              "better", "what");
}

void print_line(const Line& line) {
  std::printf("%-28s %14.3f %14.3f %-10s %7.2f %-7s %s\n", line.name.c_str(), line.ours, line.other,
              line.unit.c_str(), line.ratio(), line.better.c_str(), line.what.c_str());
  std::fflush(stdout);
}

wire::Object to_object(const Line& line) {
  return {{"name", line.name},    {"what", line.what}, {"ours", line.ours},
          {"other", line.other},  {"unit", line.unit}, {"ratio", line.ratio()},
          {"better", line.better}};
}

int run_benches(const Flags& flags, const char* own_program) {
  set_log_level(LogLevel::error);
  Environment environment(std::filesystem::canonical(own_program));
  wire::Array all;
  bool failed = false;
  print_header();
  for (const Bench& bench : all_benches()) {
    if (!flags.name.empty() && std::ranges::count(bench.names, flags.name) == 0) continue;
    const Result<std::vector<Line>> lines = bench.run(environment);
    if (!lines) {
      std::printf("%-28s not measured: %s\n", bench.names.front().c_str(),
                  lines.error().to_string().c_str());
      failed = true;
      continue;
    }
    for (const Line& line : *lines) {
      print_line(line);
      all.push_back(to_object(line));
    }
  }
  if (all.empty() && !failed)
    std::fprintf(stderr, "berth-bench: no bench is called '%s'\n", flags.name.c_str());
  const Result<> written = write_file(flags.json, wire::to_pretty_json(all) + "\n", 0644);
  if (!written) std::fprintf(stderr, "berth-bench: %s\n", written.error().to_string().c_str());
  return failed || all.empty() || !written ? 1 : 0;
}

}  // namespace

std::vector<Bench> all_benches() {
  std::vector<Bench> all = local_benches();
  for (Bench& bench : sync_benches()) all.push_back(std::move(bench));
  for (Bench& bench : kubesim_benches()) all.push_back(std::move(bench));
  for (Bench& bench : admission_benches()) all.push_back(std::move(bench));
  for (Bench& bench : pool_benches()) all.push_back(std::move(bench));
  for (Bench& bench : edge_benches()) all.push_back(std::move(bench));
  for (Bench& bench : stage_benches()) all.push_back(std::move(bench));
  return all;
}

}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth;
  bench::Flags flags;
  CLI::App app{"Measures Berth beside what a user would pick instead.", "berth-bench"};
  app.add_option("name", flags.name, "One line of the table; all when left out.");
  app.add_option("--json", flags.json, "Where the table is written as JSON.");
  app.add_option("--child", flags.child,
                 "Run one part in this process (used by the bench itself).");
  app.add_option("--resource", flags.resource);
  app.add_option("--kubeconfig", flags.kubeconfig);
  app.add_option("--expect", flags.expect);
  app.footer("Example:\n  make bench NAME=sync-pods");
  CLI11_PARSE(app, argc, argv);
  if (flags.child.empty()) return bench::run_benches(flags, argv[0]);
  const Result<> ran = flags.child == "edge"    ? bench::serve_edge(flags.resource, flags.expect)
                       : flags.child == "serve" ? bench::serve_embedded(flags.kubeconfig)
                                                : bench::run_child(flags.child, flags.resource,
                                                                   flags.kubeconfig, flags.expect);
  if (!ran) std::fprintf(stderr, "berth-bench: %s\n", ran.error().to_string().c_str());
  return ran ? 0 : 1;
}
