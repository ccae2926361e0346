// The page that users have, where it lies beside the sources; its fenced blocks, with the heading
// that each is under.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace berth {

inline constexpr std::size_t kMaxPage = 1u << 20;

// Empty where it is not there.
inline std::string find_seed() {
  const char* folder = std::getenv("BERTH_SEEDS_DIR");
  const char* source = std::getenv("BERTH_SOURCE_DIR");
  const std::filesystem::path path =
      folder ? std::filesystem::path(folder)
             : std::filesystem::path(source ? source : ".") / "../shared/seeds";
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(path, error)) {
    if (file.path().filename().string().starts_with("001")) return file.path();
  }
  return {};
}

struct SeedBlock {
  int line = 0;         // of its fence
  std::string fence{};  // "yaml", "bash", or nothing
  std::string heading{};
  std::string text{};
};

inline std::vector<SeedBlock> blocks_of(const std::string& page) {
  std::vector<SeedBlock> blocks;
  std::istringstream in(page);
  std::string line;
  std::string heading;
  bool inside = false;
  std::size_t indent = 0;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::size_t begin = line.find_first_not_of(' ');
    const std::string bare = begin == std::string::npos ? "" : line.substr(begin);
    // A fence that ends on its own line is a word in a sentence.
    const bool fence = bare.starts_with("```") && bare.find("```", 3) == std::string::npos;
    if (fence && !inside) {
      blocks.push_back({.line = number, .fence = bare.substr(3), .heading = heading});
      indent = begin;
      inside = true;
    } else if (fence) {
      inside = false;
    } else if (inside) {
      blocks.back().text += (line.size() >= indent ? line.substr(indent) : bare) + "\n";
    } else if (bare.starts_with("#")) {
      heading = bare.substr(bare.find_first_not_of("# "));
    }
  }
  return blocks;
}

}  // namespace berth
