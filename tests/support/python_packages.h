#pragma once

// A Python with packages of its registry (tests/clients/python/build), for tests that let others'
// clients judge us.

#include <chrono>
#include <cstdlib>
#include <expected>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/subprocess.h"

namespace berth::testing {

inline std::vector<std::string> environment_of(std::initializer_list<const char*> names) {
  std::vector<std::string> out;
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  }
  return out;
}

inline std::filesystem::path tests_folder() {
  return std::filesystem::path(std::getenv("BERTH_SOURCE_DIR")) / "tests";
}

struct NoPython {
  std::string why{};
  bool may_be = false;  // a test may pass over what it proves with it
};

// A CI that has lost its registry fails instead. One that is meant to have none tells pip so.
inline bool may_lack_packages() {
  return std::getenv("CI") == nullptr || std::getenv("PIP_NO_INDEX") != nullptr;
}

// The interpreter that has what the file lists. Installing goes over the network, so it may need
// what the user has set up for that.
inline std::expected<std::string, NoPython> python_with(const std::filesystem::path& requirements) {
  constexpr int kCannotBeMade = 77;
  const CommandResult made =
      run({tests_folder() / "clients/python/build",
           {requirements.string()},
           environment_of({"HOME", "PATH", "BERTH_CACHE", "PIP_CONFIG_FILE", "PIP_INDEX_URL",
                           "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CERT", "PIP_DEFAULT_TIMEOUT",
                           "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE"})},
          "", std::chrono::minutes{5});
  if (!made.ok()) {
    return std::unexpected(
        NoPython{made.err, made.exit_code == kCannotBeMade && may_lack_packages()});
  }
  return made.out.substr(0, made.out.find('\n')) + "/bin/python";
}

}  // namespace berth::testing
