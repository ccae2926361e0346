// What HAProxy says of itself: which processes it has, and what it counted. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::edge::haproxy {

// The master, the worker that takes what is new, and those that finish what they have.
struct Processes {
  std::uint64_t reloads = 0;  // tried since the master began
  std::uint64_t failed = 0;   // of them, the last ones in a row
  int worker = 0;             // 0: there is none
  std::vector<int> old_workers{};
};
// Of "show proc". `invalid`: there is no master in it.
Result<Processes> parse_processes(std::string_view text);

// A frontend, or a server of a backend.
struct Stat {
  std::string proxy{};
  std::string server{};  // empty: the frontend
  std::uint64_t active = 0;
  std::uint64_t connections = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t requests = 0;
  bool judged = false;  // a health check has been answered, or not
  bool up = false;
};
// Of "show stat". Columns are found by their names; what cannot be read is left out.
std::vector<Stat> parse_stats(std::string_view csv);

// Of "show sess": the ids of those that go to one of these, each "backend/server".
std::vector<std::string> parse_sessions(std::string_view text,
                                        const std::vector<std::string>& servers);

}  // namespace berth::edge::haproxy
