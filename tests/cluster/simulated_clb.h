// `berth sim tencent` beside a cluster: load balancers that it has, and what it shows of itself.
//
// Owned by a test suite; for the suite's own thread, which must outlive it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/scratch_dir.h"
#include "support/subprocess.h"
#include "wire/value.h"

namespace berth {

class SimulatedClb {
 public:
  // With these load balancers, and a key that has the permissions of the users' guide. `traffic`:
  // it carries what they lead to.
  static Result<SimulatedClb> start(const std::filesystem::path& program,
                                    const std::vector<std::string>& load_balancers, bool traffic);

  // What `berth controller` is given to have them.
  std::vector<std::string> controller_args() const;
  wire::Value dump() const;

 private:
  SimulatedClb(testing::ScratchDir folder, testing::Process process)
      : folder_(std::move(folder)), process_(std::move(process)) {}
  std::string file(const char* name) const { return (folder_.path() / name).string(); }

  testing::ScratchDir folder_;
  testing::Process process_;
  std::string url_;
  std::string endpoint_;
};

}  // namespace berth
