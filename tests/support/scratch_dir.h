#pragma once

// A directory that lives as long as its object, in memory when the machine has a roomy /dev/shm.
// What a killed test left behind is removed by the next ScratchDir of the same prefix: a lock file
// says whether the owner is alive.
//
// Owner: whoever holds the object. Threads: immutable after create(), so any.

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

#include "support/subprocess.h"

namespace berth::testing {

class ScratchDir {
 public:
  // The prefix tells our directories from others': "<prefix>.XXXXXX".
  static std::expected<ScratchDir, std::string> create(std::string_view prefix);
  ScratchDir(ScratchDir&&) noexcept = default;
  ScratchDir& operator=(ScratchDir&&) = delete;
  ~ScratchDir();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  ScratchDir(std::filesystem::path path, Fd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  Fd lock_;
};

}  // namespace berth::testing
