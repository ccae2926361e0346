// Steps of a story, told to a person or to a program.
#pragma once

#include <chrono>
#include <string>

#include "command.h"
#include "wire/value.h"

namespace berth::cmd {

// Prints "  ok  0.012 s  text" lines as steps end, or collects them for `-o json`.
class Story {
 public:
  explicit Story(Output output);

  // A step has ended; its time is the time since the one before.
  void step(const std::string& text);
  // Ends the story: with `-o json` this prints it.
  void end(const Result<>& result, const wire::Object& facts = {});

 private:
  const Output output_;
  std::chrono::steady_clock::time_point last_;
  wire::Array steps_;
};

}  // namespace berth::cmd
