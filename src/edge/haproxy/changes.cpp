#include "edge/haproxy/changes.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>

namespace berth::edge::haproxy {
namespace {

using Servers = std::map<std::string, ServerLine>;

std::map<std::string, Servers> servers_by_section(const Config& config) {
  std::map<std::string, Servers> out;
  for (const Section& section : config.sections)
    for (const ServerLine& server : section.servers) out[section.name][server.name] = server;
  return out;
}

bool has_same_structure(const Config& a, const Config& b) {
  return a.lists == b.lists &&
         std::ranges::equal(a.sections, b.sections, {}, &Section::text, &Section::text);
}

void begin(Changes& out, const std::string& path, const ServerLine& server) {
  out.commands.push_back(fmt::format("add server {} {} weight {}{}", path, server.address,
                                     server.weight, server.options));
  if (server.options.contains(" check ")) out.commands.push_back("enable health " + path);
  if (server.weight > 0) out.commands.push_back("enable server " + path);
}

void change(Changes& out, const std::string& path, std::uint32_t from, std::uint32_t to) {
  if (from == to) return;
  if (to == 0) {
    out.commands.push_back(fmt::format("set server {} state maint", path));
    return;
  }
  out.commands.push_back(fmt::format("set server {} weight {}", path, to));
  if (from == 0) out.commands.push_back(fmt::format("set server {} state ready", path));
}

void compare(Changes& out, const std::string& section, const Servers& before,
             const Servers& after) {
  // Those that come first: between two commands somebody should be there.
  for (const auto& [name, server] : after) {
    const std::string path = section + "/" + name;
    const auto was = before.find(name);
    if (was == before.end())
      begin(out, path, server);
    else
      change(out, path, was->second.weight, server.weight);
  }
  for (const auto& [name, server] : before) {
    if (after.contains(name)) continue;
    out.commands.push_back(fmt::format("set server {}/{} state maint", section, name));
    out.gone.push_back(section + "/" + name);
  }
}

}  // namespace

Changes changes_between(const Config& before, const Config& after) {
  Changes out;
  const auto old = servers_by_section(before);
  const auto fresh = servers_by_section(after);
  static const Servers kNone;
  const auto in = [](const auto& all, const std::string& section) -> const Servers& {
    const auto it = all.find(section);
    return it == all.end() ? kNone : it->second;
  };
  for (const auto& [section, servers] : old) compare(out, section, servers, in(fresh, section));
  for (const auto& [section, servers] : fresh)
    if (!old.contains(section)) compare(out, section, kNone, servers);
  out.reload = !has_same_structure(before, after) || out.commands.size() > kMaxCommands;
  if (out.reload) out.commands.clear();
  return out;
}

bool is_fine(std::string_view answers) {
  static constexpr std::array<std::string_view, 3> kFine{"", "New server registered.",
                                                         "Server deleted."};
  for (const auto line : std::views::split(answers, '\n')) {
    const std::string_view text(line.begin(), line.end());
    if (std::ranges::count(kFine, text) == 0) return false;
  }
  return true;
}

}  // namespace berth::edge::haproxy
