// A subcommand of `berth` that a module brings. Plain values.
//
// `cmd/berth` adds what every command has (--kubeconfig, --context, -o json) and prints the reply;
// the module says what else may be given and what is done with it. It runs once, on the main task
// of a process of its own, with the rights of whoever called it. No module has one yet but the
// example of the tests; allocators of addresses will.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "kube/client/client.h"
#include "wire/value.h"

namespace berth::module {

struct CommandOption {
  // "--node", "-n,--namespace"; without dashes ("pool") an argument, in its place.
  std::string name{};
  std::string help{};
  std::string value{};      // what is given: "NAME"; nothing: it is a switch
  std::string otherwise{};  // counts as given when nothing is
  bool required = false;
  bool many = false;
};
// By which a call knows it: "node", "namespace", "pool".
std::string key_of(const CommandOption& option);

struct CommandCall {
  const Context& context;
  kube::Client& client;
  // By the keys of options; of a switch that is set, "true".
  std::map<std::string, std::vector<std::string>, std::less<>> given{};

  bool has(std::string_view key) const { return given.contains(key); }
  // The first that was given; empty: none was.
  std::string one(std::string_view key) const {
    const auto found = given.find(key);
    return found == given.end() || found->second.empty() ? std::string() : found->second.front();
  }
};

struct CommandReply {
  std::string text{};  // for people
  wire::Value json{};  // the same for programs
  bool well = true;    // otherwise the command ends with the code for trouble
};

struct Command {
  std::string name{};  // "stages", or two words: "stages list"
  std::string about{};
  std::string example{};  // "berth stages list -n games"
  std::vector<CommandOption> options{};
  std::function<Result<CommandReply>(const CommandCall& call)> run{};
};

}  // namespace berth::module
