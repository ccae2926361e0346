// Runs benches, prints the table and writes build/bench.json and build/bench.md.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdio>

#include "base/file.h"
#include "base/log.h"
#include "bench.h"
#include "clb.h"
#include "wire/value.h"

namespace berth::bench {
namespace {

struct Flags {
  std::string name;
  std::string json = "build/bench.json";
  std::string markdown = "build/bench.md";
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

// "1,234" or "1.234": as many digits as a reader wants.
std::string shown(double value) {
  if (value < 1000)
    return fmt::format("{:.{}f}", value, value == std::floor(value) ? 0 : value < 100 ? 3 : 0);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size() - 3; at < digits.size() && at > 0;
       at -= std::min<std::size_t>(at, 3))
    digits.insert(at, ",");
  return digits;
}

// As docs/performance.md has it.
std::string to_markdown(const std::vector<Line>& lines) {
  std::string out =
      "| Line | Ours | Other | Unit | Ratio | Better | What |\n|---|---|---|---|---|---|---|\n";
  for (const Line& line : lines) {
    out += fmt::format("| {} | {} | {} | {} | {:.2f} | {} | {} |\n", line.name, shown(line.ours),
                       shown(line.other), line.unit, line.ratio(), line.better, line.what);
  }
  return out;
}

int run_benches(const Flags& flags, const char* own_program) {
  set_log_level(LogLevel::error);
  Environment environment(std::filesystem::canonical(own_program));
  wire::Array all;
  std::vector<Line> measured;
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
      measured.push_back(line);
    }
  }
  if (all.empty() && !failed)
    std::fprintf(stderr, "berth-bench: no bench is called '%s'\n", flags.name.c_str());
  Result<> written = write_file(flags.json, wire::to_pretty_json(all) + "\n", 0644);
  if (written) written = write_file(flags.markdown, to_markdown(measured), 0644);
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
  for (Bench& bench : engine_benches()) all.push_back(std::move(bench));
  for (Bench& bench : clb_benches()) all.push_back(std::move(bench));
  for (Bench& bench : grant_benches()) all.push_back(std::move(bench));
  for (Bench& bench : edge_benches()) all.push_back(std::move(bench));
  all.push_back(outage_bench());
  all.push_back(idle_bench());
  all.push_back(node_bench());
  all.push_back(lives_bench());
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
  app.add_option("--markdown", flags.markdown,
                 "Where it is written as docs/performance.md has it.");
  app.add_option("--child", flags.child,
                 "Run one part in this process (used by the bench itself).");
  app.add_option("--resource", flags.resource);
  app.add_option("--kubeconfig", flags.kubeconfig);
  app.add_option("--expect", flags.expect);
  app.footer("Example:\n  make bench NAME=sync-pods");
  CLI11_PARSE(app, argc, argv);
  if (flags.child.empty()) return bench::run_benches(flags, argv[0]);
  const Result<> ran = flags.child == "edge"    ? bench::serve_edge(flags.resource, flags.expect)
                       : flags.child == "node"  ? bench::run_node_child()
                       : flags.child == "serve" ? bench::serve_embedded(flags.kubeconfig)
                                                : bench::run_child(flags.child, flags.resource,
                                                                   flags.kubeconfig, flags.expect);
  if (!ran) std::fprintf(stderr, "berth-bench: %s\n", ran.error().to_string().c_str());
  return ran ? 0 : 1;
}
