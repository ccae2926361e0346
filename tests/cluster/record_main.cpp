// berth-record: lets another version of Berth furnish a cluster and writes down what it leaves
// (recording.h). `tests/cluster/record` calls it.

#include <iostream>

#include "former_house.h"
#include "recording.h"

namespace {

using namespace berth;

constexpr int kExitUsage = 2;

Result<> run(const std::string& program, const std::string& folder) {
  auto started = BerthCluster::start({.program = program});
  if (!started) return fail(started.error());
  BerthCluster& cluster = **started;
  if (Result<> done = furnish(cluster); !done) return done;
  // Each gives its lease up, and nobody follows.
  for (const std::size_t replica : {0u, 1u}) cluster.stop_replica(replica);
  if (Result<> done = leave_unseen(cluster); !done) return done;
  const auto version = testing::run({program, {"version"}, {}}, "", std::chrono::seconds{30});
  return record(cluster, kHouse, folder, version.out.substr(0, version.out.find('\n')));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: berth-record PROGRAM FOLDER\n";
    return kExitUsage;
  }
  const Result<> done = run(argv[1], argv[2]);
  if (done) return 0;
  std::cerr << done.error().to_string() << '\n';
  return 1;
}
