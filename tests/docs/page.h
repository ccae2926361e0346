// Pages of docs/ as tests read them: the commands that they print, in their order, with what they
// show, and the files that they give.
//
// Plain values; threads: any.
#pragma once

#include <string>
#include <vector>

namespace berth::docs {

struct Step {
  std::string command;
  std::vector<std::string> output{};  // lines; "..." stands for anything
  int line = 0;

  // A command that is shown to be refused must fail, all others must not.
  bool is_refused() const;
};

// A ```yaml block that begins with `# NAME.yaml` is a file of that name.
struct Sheet {
  std::string name;
  std::string text{};
  int line = 0;
};

struct Page {
  std::vector<Step> steps{};
  std::vector<Sheet> sheets{};
};

// Lines after `$ ` in ```console blocks are commands; those that follow are their output.
Page read_page(const std::string& page);

// The first expected line that is not there, in order; empty when all are.
std::string missing_line(const Step& step, const std::string& printed);

}  // namespace berth::docs
