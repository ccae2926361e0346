// What /metrics serves, docs/metrics.md lists, and the guide of bcs-ingress-controller has on its
// dashboards, name by name and label by label.

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <sstream>

#include "world.h"

namespace berth {
namespace {

using Labels = std::set<std::string>;
using Table = std::map<std::string, Labels>;

// Section 10 of the guide, "配置grafana监控". Of backends the namespace came later, upstream too.
const Table kGuide{
    {"bcs_network_ingress_controller_cloud_request_total", {"errcode", "rpc"}},
    {"bcs_network_ingress_controller_cloud_response_time_sum", {"rpc"}},
    {"bcs_network_ingress_controller_cloud_response_time_count", {"rpc"}},
    {"bkbcs_ingressctrl_lib_request_latency_seconds_bucket",
     {"handler", "le", "method", "status", "system"}},
    {"bkbcs_ingressctrl_lib_request_total", {"handler", "method", "status", "system"}},
    {"bkbcs_ingressctrl_api_request_latency_seconds_bucket", {"handler", "le", "method", "status"}},
    {"bkbcs_ingressctrl_api_request_total", {"handler", "method", "status"}},
    {"cloudloadbalance_backendhealth_backend_status",
     {"host", "lbid", "listenerid", "namespace", "path", "port", "protocol", "rsip", "rsport"}},
    {"bkbcs_ingressctrl_cache_poolitem_portitem_total", {"itemname", "poolkey", "protocol"}},
    {"bkbcs_ingressctrl_cache_poolitem_portitem_used", {"itemname", "poolkey", "protocol"}},
};

// Every series of the text: its name and the labels that it has.
std::multimap<std::string, Labels> served(const std::string& text) {
  std::multimap<std::string, Labels> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t end = line.find_first_of("{ ");
    Labels labels;
    std::size_t at = end;
    while (at < line.size() && line[at] != ' ' && line[at] != '}') {
      const std::size_t equals = line.find("=\"", at + 1);
      if (equals == std::string::npos) break;
      labels.insert(line.substr(at + 1, equals - at - 1));
      at = equals + 2;
      while (line[at] != '"') at += line[at] == '\\' ? 2 : 1;
      ++at;
    }
    out.emplace(line.substr(0, end), std::move(labels));
  }
  return out;
}

// The words in backquotes, without what stands in brackets.
std::vector<std::string> in_backquotes(const std::string& cell) {
  std::vector<std::string> out;
  int depth = 0;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '(') ++depth;
    if (cell[i] == ')') --depth;
    if (cell[i] != '`') continue;
    const std::size_t end = cell.find('`', i + 1);
    if (depth == 0) out.push_back(cell.substr(i + 1, end - i - 1));
    i = end;
  }
  return out;
}

// The tables of the page: "| `name`, `name` | type | labels | meaning |".
Table page(const std::string& text) {
  Table out;
  Labels before;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 1; at < line.size();) {
      const std::size_t end = line.find(" |", at);
      if (end == std::string::npos) break;
      cells.push_back(line.substr(at, end - at));
      at = end + 2;
    }
    if (cells.size() < 4) continue;
    Labels labels;
    for (std::string& label : in_backquotes(cells[2])) labels.insert(std::move(label));
    if (cells[2] == " the same") labels = before;
    before = labels;
    for (const std::string& name : in_backquotes(cells[0])) out[name] = labels;
  }
  return out;
}

// A histogram's series are three.
std::string base_of(const std::string& name) {
  for (const std::string_view end : {"_bucket", "_sum", "_count"})
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  return name;
}

class MetricsTable : public World {
 protected:
  // Rooms, and an Ingress that leads to one of them.
  void SetUp() override {
    World::SetUp();
    create(example("rooms.yaml"));
    room_is_ready("play/room-0");
    room_is_ready("play/room-1");
    create(R"(
apiVersion: v1
kind: Service
metadata: {name: room, namespace: play}
spec: {selector: {app: room}, ports: [{protocol: TCP, port: 80, targetPort: 8000}]}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata: {name: web, namespace: play, annotations: {networkextension.bkbcs.tencent.com/lbids: "edge:play"}}
spec: {rules: [{port: 8080, protocol: TCP, services: [{serviceName: room, servicePort: 80, isDirectConnect: true}]}]}
)");
    EXPECT_TRUE(eventually([&] { return metrics().find(R"(port="8080")") != std::string::npos; }))
        << "the health of an Ingress's targets is shown";
  }
};

TEST_F(MetricsTable, DashboardsOfTheGuideFindTheirSeries) {
  const auto found = served(metrics());
  for (const auto& [name, labels] : kGuide) {
    ASSERT_TRUE(found.contains(name)) << name;
    const auto [begin, end] = found.equal_range(name);
    for (auto it = begin; it != end; ++it) EXPECT_EQ(it->second, labels) << name;
  }
}

TEST_F(MetricsTable, ThePageListsWhatIsServed) {
  const char* const source = std::getenv("BERTH_SOURCE_DIR");
  const std::string text =
      read_file(std::string(source ? source : ".") + "/docs/metrics.md", 1u << 20).value_or("");
  const Table listed = page(text);
  ASSERT_GT(listed.size(), 20u);
  // The runtime's own, under the names of controller-runtime and client-go, are not told one by
  // one.
  const auto is_ours = [](const std::string& name) {
    return name.starts_with("bkbcs_") || name.starts_with("bcs_") ||
           name.starts_with("cloudloadbalance_") || name.starts_with("berth_");
  };
  for (const auto& [series, labels] : served(metrics())) {
    const std::string name = listed.contains(series) ? series : base_of(series);
    if (!is_ours(name)) continue;
    ASSERT_TRUE(listed.contains(name)) << series << " is served, and docs/metrics.md has it not";
    Labels told = listed.at(name);
    if (series.ends_with("_bucket")) told.insert("le");
    EXPECT_EQ(labels, told) << series;
  }
}

// The sum of a counter's series, by one label.
std::map<std::string, double> sums(const std::string& text, const std::string& name,
                                   const std::string& label) {
  std::map<std::string, double> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name + "{")) continue;
    const std::size_t begin = line.find(label + "=\"") + label.size() + 2;
    out[line.substr(begin, line.find('"', begin) - begin)] +=
        std::stod(line.substr(line.rfind(' ')));
  }
  return out;
}

// What is divided on dashboards goes together.
TEST_F(MetricsTable, RequestsOfOneNameAreCountedAndTimedAlike) {
  const std::string cloud = "bcs_network_ingress_controller_cloud_";
  const std::string lib = "bkbcs_ingressctrl_lib_request_";
  std::string text;
  EXPECT_TRUE(eventually([&] {
    text = metrics();
    const auto total = sums(text, cloud + "request_total", "rpc");
    return total == sums(text, cloud + "response_time_count", "rpc") &&
           total == sums(text, lib + "total", "method") &&
           total == sums(text, lib + "latency_seconds_count", "method");
  })) << text;
  const auto total = sums(text, cloud + "request_total", "rpc");
  for (const char* rpc : {"create_listeners", "change_targets"})
    EXPECT_GE(total.contains(rpc) ? total.at(rpc) : 0, 1) << rpc;
  // The edge takes each of these whole, in memory.
  const auto milliseconds = sums(text, cloud + "response_time_sum", "rpc");
  const auto seconds = sums(text, lib + "latency_seconds_sum", "method");
  for (const auto& [rpc, sum] : milliseconds) EXPECT_NEAR(sum, 1000 * seconds.at(rpc), 1e-3) << rpc;
}

TEST_F(MetricsTable, IngressesAreCountedToo) {
  const std::string text = metrics();
  EXPECT_THAT(text, ::testing::HasSubstr(
                        R"(bkbcs_ingressctrl_event_counter{object="ingress",type="add"} 1)"));
  EXPECT_THAT(text, ::testing::HasSubstr(R"(bkbcs_ingressctrl_listener_total{lbID="edge:play",)"));
}

}  // namespace
}  // namespace berth
