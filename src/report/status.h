// `berth status`: how the controller, load balancers, Listeners and what modules add stand, and
// what does not converge. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/cluster.h"
#include "wire/value.h"

namespace berth::report {

// A binding, a Listener or a claim may take this long before it counts as stuck.
inline constexpr Duration kPatience = std::chrono::seconds{60};

struct BalancerLine {
  std::string name{};
  std::vector<std::string> vips{};
  std::int64_t quota = 0;  // 0: not known
  std::int64_t used = 0;
  // Ports below the limit are open so much higher; 0: all are open where they are.
  std::int64_t low_port_limit = 0;
  std::int64_t low_port_offset = 0;
  std::string last_error{};
};

// Something that is not as it should be yet.
struct OpenLine {
  std::string object{};  // "PortBinding games/room-0"
  std::string what{};    // "NotReady", or the reason
  Duration since{};
};

// Where a part's lines stand among the others.
enum class Place : std::uint8_t {
  first,  // what users wrote
  open,   // what is not as it should be yet
  last,   // what is counted
};

struct Status {
  Leader leader{};
  std::vector<BalancerLine> balancers{};
  std::vector<OpenLine> listeners{};
  std::vector<Refusal> refusals{};    // lately
  std::vector<std::string> unseen{};  // what we may not read
  // Of parts: their lines for people, and their members of the JSON.
  std::map<Place, std::string> text{};
  wire::Object json{};
  // What does not converge, for a person; empty: all is well.
  std::vector<std::string> problems{};

  bool well() const { return problems.empty(); }
};

Status make_status(const ClusterView& view);
std::string to_text(const Status& status);
wire::Value to_json(const Status& status);

// For parts.
std::string open_table(const char* heading, const std::vector<OpenLine>& lines);
wire::Array open_json(const std::vector<OpenLine>& lines);
// Rows in columns; the first is the heading. Nothing for the heading alone.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace berth::report
