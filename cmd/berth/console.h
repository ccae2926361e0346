// Steps of a story, told to a person or to a program.
#pragma once

#include <chrono>
#include <string>

#include "command.h"
#include "wire/value.h"

namespace berth::cmd {

// Prints "  ok   0.012 s  text" lines as steps end, or collects them for `-o json`.
class Story {
 public:
  explicit Story(Output output);

  // What is tried from now on: a story that fails says where.
  void begin(std::string what) { trying_ = std::move(what); }
  const std::string& trying() const { return trying_; }
  // A step has ended; its time is the time since the one before.
  void step(const std::string& text);
  // Ends the story: names the step that failed, and with `-o json` prints all of it.
  void end(const Result<>& result, const wire::Object& facts = {});

 private:
  double seconds_since_last();

  const Output output_;
  std::chrono::steady_clock::time_point last_;
  std::string trying_;
  wire::Array steps_;
};

}  // namespace berth::cmd
