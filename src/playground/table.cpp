#include "playground/table.h"

#include <algorithm>
#include <array>
#include <vector>

namespace berth::playground {
namespace {

constexpr std::size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;
// Shown of each kind in the smallest terminal.
constexpr std::size_t kAtLeast = 3;

struct Section {
  Row heading;
  std::string_view what;  // "Pods"
  std::vector<Row> rows{};
};

void append_section(std::string& out, Section section, std::size_t limit) {
  if (section.rows.empty()) return;
  const std::size_t left_out = section.rows.size() - std::min(limit, section.rows.size());
  section.rows.resize(section.rows.size() - left_out);
  section.rows.insert(section.rows.begin(), section.heading);
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : section.rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  if (!out.empty()) out += '\n';
  for (const Row& row : section.rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) line += fmt::format("{:<{}}   ", row[i], widths[i]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  if (left_out != 0) out += fmt::format("and {} more {}\n", left_out, section.what);
}

Section pods_of(const Overview& overview) {
  Section out{.heading = {"POD", "READY", "STATUS", "IP", "ROOM", "READY AFTER"}, .what = "Pods"};
  for (const PodRow& row : overview.pods)
    out.rows.push_back({row.pod, row.ready, row.status, row.ip, row.room, row.took});
  return out;
}

Section pools_of(const Overview& overview) {
  Section out{.heading = {"POOL", "STATUS", "PORTS", "USED", "", ""}, .what = "pools"};
  for (const PoolRow& row : overview.pools)
    out.rows.push_back({row.pool, row.status, to_string(row.ports), to_string(row.used), "", ""});
  return out;
}

Section services_of(const Overview& overview) {
  Section out{.heading = {"SERVICE", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORTS", ""},
              .what = "Services"};
  for (const ServiceRow& row : overview.services)
    out.rows.push_back({row.service, row.type, row.cluster_ip, row.external_ip, row.ports, ""});
  return out;
}

// Words that people read, below the Pods that are missing there.
void append_remarks(std::string& out, const Overview& overview) {
  for (const RefusedRow& row : overview.refused) out += to_string(row) + '\n';
  if (overview.controller_restarts == 0) return;
  out += fmt::format("the controller ended and was started again, {} {}\n",
                     overview.controller_restarts,
                     overview.controller_restarts == 1 ? "time" : "times");
}

// The largest number of rows up to `all` with which it fits; `kAtLeast` when none does.
template <class Fits>
std::size_t largest_fit(std::size_t all, const Fits& fits) {
  std::size_t low = std::min(kAtLeast, all);
  std::size_t high = all;
  while (low < high) {
    const std::size_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

std::string to_table(const Overview& overview, const RowLimits& limits) {
  std::string out;
  append_section(out, pods_of(overview), limits.pods);
  append_remarks(out, overview);
  append_section(out, pools_of(overview), limits.pools);
  append_section(out, services_of(overview), limits.services);
  return out;
}

std::string to_table(const Overview& overview, const Space& space) {
  RowLimits limits{.pods = overview.pods.size(),
                   .pools = overview.pools.size(),
                   .services = overview.services.size()};
  for (std::size_t RowLimits::* const kind :
       {&RowLimits::pods, &RowLimits::services, &RowLimits::pools}) {
    limits.*kind = largest_fit(limits.*kind, [&](std::size_t rows) {
      RowLimits tried = limits;
      tried.*kind = rows;
      return lines_of(to_table(overview, tried), space.width) <= space.lines;
    });
  }
  return to_table(overview, limits);
}

std::size_t lines_of(std::string_view text, std::size_t width) {
  std::size_t lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += width == 0 ? 1 : std::max<std::size_t>(1, (end + width - 1) / width);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace berth::playground
