#include "command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

namespace berth::cmd {
namespace {

int exit_code_of_success = 0;

}  // namespace

void set_exit_code(int code) { exit_code_of_success = code; }

void add_output_option(CLI::App& command, Output& output) {
  static const std::map<std::string, Output> kNames{{"text", Output::text}, {"json", Output::json}};
  command.add_option("-o,--output", output, "text or json")
      ->transform(CLI::CheckedTransformer(kNames));
}

void add_namespace_option(CLI::App& command, std::string& ns) {
  const CLI::Validator is_label(
      [](const std::string& text) {
        const auto fits = [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        };
        const bool sound = !text.empty() && text.size() <= 63 && std::ranges::all_of(text, fits) &&
                           text.front() != '-' && text.back() != '-';
        return sound ? std::string() : "'" + text + "' cannot be the name of a namespace";
      },
      "NAME");
  command.add_option("-n,--namespace", ns, "Namespace of the controller.")
      ->check(is_label)
      ->capture_default_str();
}

void set_example(CLI::App& command, const std::string& example) {
  command.footer("Example:\n  " + example);
}

int report(const Result<>& result) {
  if (result) return exit_code_of_success;
  const Error& error = result.error();
  std::fprintf(stderr, "berth: %s\n", error.to_string().c_str());
  const int code = traits_of(error.code).exit_code;
  return code == 0 ? 1 : code;
}

}  // namespace berth::cmd
