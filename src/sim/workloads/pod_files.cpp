#include "sim/workloads/pod_files.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <set>

#include "sim/workloads/any_object.h"

namespace berth::workloads {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

const Value* container_of(const Value& pod, std::string_view name) {
  for (const char* list : {"/spec/containers", "/spec/initContainers"}) {
    for (const Value& container : array_or_empty(pod, list)) {
      if (wire::string_at(container, "/name") == name) return &container;
    }
  }
  return nullptr;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  return out + '"';
}

// One `key="value"` a line, sorted, as the kubelet writes maps.
std::string lines_of(const Object& map) {
  std::map<std::string, std::string> sorted;
  for (const auto& entry : map) {
    if (const auto* text = entry.value().if_string())
      sorted[entry.key()] = quoted(std::string_view(*text));
  }
  std::string out;
  for (const auto& [key, value] : sorted) {
    if (!out.empty()) out += '\n';
    out += key + "=" + value;
  }
  return out;
}

// "metadata.annotations['key']" as the pointer to that entry.
std::string pointer_of(std::string_view path) {
  const std::size_t bracket = path.find("['");
  std::string pointer = "/" + std::string(path.substr(0, bracket));
  std::ranges::replace(pointer, '.', '/');
  if (bracket == std::string_view::npos || !path.ends_with("']")) return pointer;
  return pointer + "/" +
         wire::escape_pointer_step(path.substr(bracket + 2, path.size() - bracket - 4));
}

// `$(NAME)` by what was set before, `$$` by a dollar; what is not known stays.
std::string expanded(std::string_view text, const Environment& known) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == '$') {
      out += text[i++];
    } else if (const std::size_t end = text.find(')', i);
               text[i + 1] == '(' && end != std::string_view::npos) {
      const std::string_view name = text.substr(i + 2, end - i - 2);
      const auto found = std::ranges::find(known, name, &Environment::value_type::first);
      out += found == known.end() ? std::string(text.substr(i, end - i + 1)) : found->second;
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

void set(Environment& environment, std::string name, std::string value) {
  const auto found = std::ranges::find(environment, name, &Environment::value_type::first);
  if (found == environment.end()) {
    environment.emplace_back(std::move(name), std::move(value));
  } else {
    found->second = std::move(value);
  }
}

void add_items(const Value& pod, const Value& source, const std::string& mount, Files& files) {
  for (const Value& item : array_or_empty(source, "/items")) {
    const std::string_view field = wire::string_at(item, "/fieldRef/fieldPath");
    if (field.empty()) continue;
    files[fmt::format("{}/{}", mount, wire::string_at(item, "/path"))] = field_of(pod, field);
  }
}

CommandOutput failed(std::string_view program, std::string_view what, std::string_view why) {
  return {.exit_code = 1, .err = fmt::format("{}: {}: {}\n", program, what, why)};
}

CommandOutput cat(const std::vector<std::string>& args, const Files& files) {
  CommandOutput output;
  for (const std::string& path : args) {
    const auto file = files.find(path);
    if (file == files.end()) return failed("cat", path, "No such file or directory");
    output.out += file->second;
  }
  return output;
}

CommandOutput list(const std::vector<std::string>& args, const Files& files) {
  std::string folder = args.empty() ? "/" : args.back();
  if (files.contains(folder)) return {.out = folder + "\n"};
  if (!folder.ends_with('/')) folder += '/';
  std::set<std::string> names;
  for (const auto& [path, content] : files) {
    if (path.starts_with(folder))
      names.insert(path.substr(folder.size(), path.find('/', folder.size()) - folder.size()));
  }
  if (names.empty())
    return failed("ls", args.empty() ? "/" : args.back(), "No such file or directory");
  CommandOutput output;
  for (const std::string& name : names) output.out += name + "\n";
  return output;
}

CommandOutput print_environment(const std::vector<std::string>& names,
                                const Environment& environment) {
  CommandOutput output;
  for (const auto& [name, value] : environment) {
    if (names.empty()) output.out += fmt::format("{}={}\n", name, value);
  }
  for (const std::string& wanted : names) {
    const auto found = std::ranges::find(environment, wanted, &Environment::value_type::first);
    if (found == environment.end()) {
      output.exit_code = 1;
    } else {
      output.out += found->second + "\n";
    }
  }
  return output;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Words of a shell line: quotes hold them together, variables are put in.
std::vector<std::string> words_of(std::string_view line, const Environment& environment) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
      continue;
    }
    inside = true;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '$' && quote != '\'') {
      std::size_t end = i + 1;
      const bool braces = end < line.size() && line[end] == '{';
      if (braces) ++end;
      const std::size_t begin = end;
      while (end < line.size() &&
             (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_')) {
        ++end;
      }
      const auto found = std::ranges::find(environment, line.substr(begin, end - begin),
                                           &Environment::value_type::first);
      if (found != environment.end()) word += found->second;
      i = braces ? end : end - 1;
    } else {
      word += c;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

}  // namespace

std::string field_of(const Value& pod, std::string_view path) {
  if (path == "spec.serviceAccountName") {
    const std::string_view name = wire::string_at(pod, "/spec/serviceAccountName");
    return std::string(name.empty() ? "default" : name);
  }
  if (path == "status.podIPs") return std::string(wire::string_at(pod, "/status/podIP"));
  if (path == "status.hostIPs") return std::string(wire::string_at(pod, "/status/hostIP"));
  const Value* found = wire::find(pod, pointer_of(path));
  if (found == nullptr) return {};
  if (const Object* map = found->if_object()) return lines_of(*map);
  if (const auto* text = found->if_string()) return std::string(*text);
  return {};
}

Environment environment_of(const Value& pod, std::string_view container) {
  const Value* found = container_of(pod, container);
  if (found == nullptr) return {};
  const std::string_view hostname = wire::string_at(pod, "/spec/hostname");
  Environment environment{
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOSTNAME",
       std::string(hostname.empty() ? wire::string_at(pod, "/metadata/name") : hostname)}};
  for (const Value& variable : array_or_empty(*found, "/env")) {
    const std::string name(wire::string_at(variable, "/name"));
    const std::string_view field = wire::string_at(variable, "/valueFrom/fieldRef/fieldPath");
    if (!field.empty()) {
      set(environment, name, field_of(pod, field));
    } else if (wire::find(variable, "/valueFrom") == nullptr) {
      set(environment, name, expanded(wire::string_at(variable, "/value"), environment));
    }
  }
  return environment;
}

Files files_of(const Value& pod, std::string_view container) {
  Files files;
  const Value* found = container_of(pod, container);
  if (found == nullptr) return files;
  files["/etc/hostname"] = std::string(wire::string_at(pod, "/metadata/name")) + "\n";
  for (const Value& mount : array_or_empty(*found, "/volumeMounts")) {
    std::string path(wire::string_at(mount, "/mountPath"));
    while (path.ends_with('/')) path.pop_back();
    for (const Value& volume : array_or_empty(pod, "/spec/volumes")) {
      if (wire::string_at(volume, "/name") != wire::string_at(mount, "/name")) continue;
      if (const Value* source = wire::find(volume, "/downwardAPI"))
        add_items(pod, *source, path, files);
      for (const Value& source : array_or_empty(volume, "/projected/sources")) {
        if (const Value* downward = wire::find(source, "/downwardAPI"))
          add_items(pod, *downward, path, files);
      }
    }
  }
  return files;
}

CommandOutput run_in_container(const std::vector<std::string>& command,
                               const Environment& environment, const Files& files) {
  const std::string path = command.empty() ? "" : command.front();
  const std::string program = path.substr(path.rfind('/') + 1);
  const std::vector<std::string> args(command.empty() ? command.end() : command.begin() + 1,
                                      command.end());
  if (program == "cat") return cat(args, files);
  if (program == "ls") return list(args, files);
  if (program == "env") return print_environment({}, environment);
  if (program == "printenv") return print_environment(args, environment);
  if (program == "true") return {};
  if (program == "false") return {.exit_code = 1};
  if (program == "hostname") return print_environment({"HOSTNAME"}, environment);
  if (program == "echo") return {.out = joined(args) + "\n"};
  const bool shell = program == "sh" || program == "bash";
  if (shell && args.size() == 2 && args.front() == "-c")
    return run_in_container(words_of(args.back(), environment), environment, files);
  return {.exit_code = 127, .err = fmt::format("{}: not found\n", path)};
}

}  // namespace berth::workloads
