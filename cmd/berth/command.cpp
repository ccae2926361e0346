#include "command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/spelling.h"

namespace berth::cmd {
namespace {

int exit_code_of_success = 0;

}  // namespace

void set_exit_code(int code) { exit_code_of_success = code; }

void add_output_option(CLI::App& command, Output& output) {
  command
      .add_option_function<std::string>(
          "-o,--output",
          [&output](const std::string& text) {
            if (text != "json" && text != "text")
              throw CLI::ValidationError("-o", "'" + text + "' is not one of json, text");
            output = text == "json" ? Output::json : Output::text;
          },
          "For programs, or for people.")
      ->type_name("json|text");
}

void add_port_option(CLI::App& command, const std::string& name, std::uint16_t& port,
                     const std::string& help) {
  const CLI::Validator is_port(
      [](const std::string& text) {
        const bool sound = !text.empty() && text.size() <= 5 &&
                           text.find_first_not_of("0123456789") == std::string::npos &&
                           std::stoi(text) <= 65535;
        return sound ? std::string() : "'" + text + "' is not a port: 0-65535";
      },
      "");
  command.add_option(name, port, help)->type_name("PORT")->check(is_port);
}

void add_namespace_option(CLI::App& command, std::string& ns, Spelling spelling) {
  const CLI::Validator is_label(
      [](const std::string& text) {
        const auto fits = [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        };
        const bool sound = !text.empty() && text.size() <= 63 && std::ranges::all_of(text, fits) &&
                           text.front() != '-' && text.back() != '-';
        return sound ? std::string() : "'" + text + "' cannot be the name of a namespace";
      },
      "");
  const std::string all = "-n,--controller-namespace,--namespace";
  command
      .add_option(spelling == Spelling::all ? all : "--controller-namespace", ns,
                  ns.empty() ? "Namespace of the controller; by default it is looked for."
                             : "Namespace of the controller.")
      ->type_name("NAME")
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
  switch (error.code) {
    case Code::invalid: return kExitUsage;
    case Code::internal:
    case Code::stopped: return kExitTrouble;
    default: return kExitCannot;
  }
}

std::optional<std::string> unknown_command(const CLI::App& root, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return std::nullopt;
  const std::string word = argv[1];
  std::string all;
  std::vector<std::string_view> names;
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& name = command->get_name();
    if (name == word) return std::nullopt;
    all += (all.empty() ? "" : ", ") + name;
    names.push_back(name);
  }
  const std::string nearest(nearest_word(word, names));
  return "there is no command '" + word + "'" +
         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") + "\nCommands: " + all;
}

}  // namespace berth::cmd
