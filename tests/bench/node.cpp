// Rooms in real containers on a real node: from the request that creates one to its first echo
// through the edge, beside the same Pods without us, at their own addresses.

#include <fmt/format.h>

#include <boost/json.hpp>
#include <functional>

#include "bench.h"
#include "cluster/node/installed_berth.h"
#include "kube/client/resource.h"
#include "session.h"
#include "support/eventually.h"
#include "wire/value.h"
#include "wire/yaml.h"

namespace berth::bench {
namespace {

constexpr int kMany = 20;
constexpr int kRounds = 7;

class NodeBench {
 public:
  Result<> open() {
    // Before the first thread: it enters a network of its own.
    auto started = InstalledBerth::start(1);
    if (!started) return fail(Code::unavailable, "{}", started.error());
    berth_ = std::move(*started);
    for (const std::string& wrong : {berth_->install(), berth_->apply(pool_yaml())})
      if (!wrong.empty()) return fail(Code::unavailable, "{}", wrong);
    session_.emplace();
    return session_->open(berth_->nodes().plane().kubeconfig_path().string());
  }

  // Seconds until all of them have answered.
  Result<double> seconds_of(int rooms, bool ours) {
    const std::string name = fmt::format("{}-{}", ours ? "ours" : "bare", ++round_);
    const Instant begin = session_->tasks.now();
    for (int i = 0; i < rooms; ++i) {
      auto made = session_->client->create(context(), kube::types::kPod,
                                           pod(fmt::format("{}-{}", name, i), ours));
      if (!made) return pass(made);
    }
    for (int i = 0; i < rooms; ++i) {
      const std::string one = fmt::format("{}-{}", name, i);
      if (!testing::eventually(kPatience, [&] { return answers(one, ours); }))
        return fail(Code::timeout, "{} does not answer{}", one, berth_->story());
    }
    const double seconds = to_seconds(session_->tasks.now() - begin);
    (void)berth_->kubectl({"delete", "pods", "-n", "games", "--all"});
    return all_free() ? Result<double>(seconds) : fail(Code::timeout, "ports do not come back");
  }

 private:
  Context context() { return Context{.tasks = session_->tasks}.within(std::chrono::seconds{30}); }

  wire::Value pod(const std::string& name, bool ours) {
    wire::Value out = wire::parse_yaml(guest_yaml(name)).value();
    if (!ours) wire::remove_at(out, "/metadata/annotations");
    return out;
  }

  bool answers(const std::string& name, bool ours) {
    const auto pod = session_->client->get(context(), kube::types::kPod, {"games", name});
    if (!pod) return false;
    const std::string_view ip = wire::string_at(*pod, "/status/podIP");
    if (ip.empty()) return false;
    if (!ours) return berth_->who_is_at({std::string(ip), 8000}) == name;
    const std::string port(wire::string_at(
        *pod, "/metadata/annotations/poolbindings.portpool.networkextension.bkbcs.tencent.com"));
    const auto told = wire::parse_json(port);
    const auto number = told ? wire::int_at(*told, "/0/startPort") : std::nullopt;
    return number &&
           berth_->who_is_at({std::string(kEdge), static_cast<model::Port>(*number)}) == name;
  }

  // The next round finds the pool as this one did.
  bool all_free() {
    return testing::eventually(kPatience, [&] {
      return berth_->kubectl({"get", "portbindings", "-n", "games", "-o", "name"}).out.empty();
    });
  }

  std::unique_ptr<InstalledBerth> berth_;
  std::optional<Session> session_;
  int round_ = 0;
};

Result<double> median(NodeBench& bench, int rooms, bool ours, int rounds) {
  std::vector<double> all;
  for (int i = 0; i < rounds; ++i) {
    Result<double> one = bench.seconds_of(rooms, ours);
    if (!one) return one;
    all.push_back(*one);
  }
  std::ranges::nth_element(all, all.begin() + rounds / 2);
  return all[static_cast<std::size_t>(rounds / 2)];
}

Result<std::vector<Line>> nodes(Environment& environment) {
  if (const auto why = testing::RealNodes::unavailable())
    return fail(Code::unavailable, "{}", *why);
  auto numbers = numbers_from(environment.own_program(), {"--child", "node"});
  if (!numbers) return pass(numbers);
  return std::vector<Line>{
      {"node-room",
       "one room on a real node, from its creation to the first echo through the edge, "
       "beside the same Pod without us at its own address; medians",
       (*numbers)["room"] * 1000, (*numbers)["bare"] * 1000, "ms", "lower"},
      {fmt::format("node-rooms-{}", kMany), "that many, until the last one has answered",
       (*numbers)["rooms"], (*numbers)["bares"], "s", "lower"}};
}

}  // namespace

Result<> run_node_child() {
  NodeBench bench;
  if (Result<> opened = bench.open(); !opened) return opened;
  wire::Object out;
  const struct {
    const char* name;
    int rooms;
    bool ours;
    int rounds;
  } lines[] = {{"bare", 1, false, kRounds},
               {"room", 1, true, kRounds},
               {"bares", kMany, false, 1},
               {"rooms", kMany, true, 1}};
  for (const auto& line : lines) {
    const Result<double> seconds = median(bench, line.rooms, line.ours, line.rounds);
    if (!seconds) return fail(seconds.error());
    out.emplace(line.name, *seconds);
  }
  fmt::print("{}\n", wire::to_json(out));
  return {};
}

Bench node_bench() { return {{"node-room", fmt::format("node-rooms-{}", kMany)}, nodes}; }

}  // namespace berth::bench
