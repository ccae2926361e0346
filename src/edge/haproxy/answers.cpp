#include "edge/haproxy/answers.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <ranges>

namespace berth::edge::haproxy {
namespace {

std::vector<std::string_view> cut(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (const auto part : std::views::split(text, at)) out.emplace_back(part.begin(), part.end());
  return out;
}

template <class Number>
Number number(std::string_view text) {
  Number out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out = cut(line, ' ');
  std::erase(out, "");
  return out;
}

}  // namespace

Result<Processes> parse_processes(std::string_view text) {
  Processes out;
  bool has_master = false;
  for (const std::string_view line : cut(text, '\n')) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() < 3 || line.starts_with('#')) continue;
    if (words[1] == "master") {
      has_master = true;
      out.reloads = number<std::uint64_t>(words[2]);
      if (words.size() > 4 && words[3] == "[failed:") out.failed = number<std::uint64_t>(words[4]);
    }
    if (words[1] != "worker") continue;
    // Of the one that serves, no reload has passed; unless they failed.
    const bool serves = number<std::uint64_t>(words[2]) == out.failed && out.worker == 0;
    if (serves)
      out.worker = number<int>(words[0]);
    else
      out.old_workers.push_back(number<int>(words[0]));
  }
  if (!has_master) return fail(Code::invalid, "HAProxy names no master among its processes");
  return out;
}

std::vector<Stat> parse_stats(std::string_view csv) {
  std::vector<Stat> out;
  std::map<std::string_view, std::size_t> columns;
  for (std::string_view line : cut(csv, '\n')) {
    if (line.starts_with("# ")) {
      const std::vector<std::string_view> names = cut(line.substr(2), ',');
      for (std::size_t i = 0; i < names.size(); ++i) columns.emplace(names[i], i);
      continue;
    }
    const std::vector<std::string_view> fields = cut(line, ',');
    const auto field = [&](std::string_view name) -> std::string_view {
      const auto it = columns.find(name);
      return it == columns.end() || it->second >= fields.size() ? "" : fields[it->second];
    };
    const std::string_view server = field("svname");
    if (server.empty() || server == "BACKEND") continue;
    const std::string_view checked = field("check_status");
    // Neither: it is in maintenance, and nobody asks it.
    const bool up = field("status").starts_with("UP");
    const bool down = field("status").starts_with("DOWN");
    out.push_back(
        {.proxy = std::string(field("pxname")),
         .server = server == "FRONTEND" ? "" : std::string(server),
         .active = number<std::uint64_t>(field("scur")),
         .connections = number<std::uint64_t>(field(server == "FRONTEND" ? "conn_tot" : "stot")),
         .bytes_in = number<std::uint64_t>(field("bin")),
         .bytes_out = number<std::uint64_t>(field("bout")),
         .requests = number<std::uint64_t>(field("req_tot")),
         .judged = !checked.empty() && !checked.contains("INI") && (up || down),
         .up = up});
  }
  return out;
}

std::vector<std::string> parse_sessions(std::string_view text,
                                        const std::vector<std::string>& servers) {
  std::vector<std::string> out;
  for (const std::string_view line : cut(text, '\n')) {
    std::string backend;
    std::string server;
    const std::vector<std::string_view> words = words_of(line);
    for (const std::string_view one : words) {
      if (one.starts_with("be=")) backend = one.substr(3);
      if (one.starts_with("srv=")) server = one.substr(4);
    }
    if (words.empty() || !words[0].starts_with("0x") || !words[0].ends_with(':')) continue;
    if (std::ranges::count(servers, backend + "/" + server) > 0)
      out.emplace_back(words[0].substr(0, words[0].size() - 1));
  }
  return out;
}

}  // namespace berth::edge::haproxy
