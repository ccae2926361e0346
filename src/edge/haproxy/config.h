// HAProxy's configuration for a set of sites. Pure: the same sites have the same text, byte by
// byte.
//
// It is kept in sections, with the servers of each apart: those can be changed while HAProxy runs
// (changes.h), all else is structure and needs a reload.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "edge/haproxy/sites.h"

namespace berth::edge::haproxy {

// HAProxy knows no larger ones; others of the route shrink with it.
inline constexpr std::uint32_t kMaxWeight = 256;

struct ServerLine {
  std::string name{};
  std::string address{};
  std::string options{};
  std::uint32_t weight = 0;  // 0: it gets nothing new

  friend bool operator==(const ServerLine&, const ServerLine&) = default;
};

struct Section {
  std::string name{};  // of the frontend or backend
  std::string site{};  // whose it is; empty: everybody's
  std::string text{};
  std::vector<ServerLine> servers{};
};

struct Config {
  std::vector<Section> sections{};
  // Files beside it, by name: which certificate is shown to whom.
  std::map<std::string, std::string> lists{};
};

// `folder` holds all files.
Config config_of(const State& state, const std::string& folder);
// As the file has it.
std::string text_of(const Config& config);
// Whose text has this line, counted from 1; empty: nobody's.
std::string site_at(const Config& config, std::size_t line);
// Without these sites.
State without(State state, const std::map<std::string, Error>& sites);

// How an address is written: IPv6 in brackets.
std::string address_text(const model::Target& at);
// What a server is called; another target, another name.
std::string server_name(const model::Target& target);

// "31" are classes as Tencent counts them (1: 1xx, 2: 2xx, ...), others are codes: "200,300-399".
// `invalid`: neither. In HAProxy's words: "100-599".
Result<std::string> check_codes(std::string_view codes);

}  // namespace berth::edge::haproxy
