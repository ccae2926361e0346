// Grants: what it costs that a load balancer has many owners, beside what the API server alone
// would take for one small write each.

#include <atomic>
#include <boost/json.hpp>

#include "api/walkers.h"
#include "bench.h"
#include "claims/grantor.h"
#include "house.h"

namespace berth::bench {
namespace {

constexpr int kOwners = 2000;
constexpr int kBareObjects = 64;
constexpr model::Port kFirst = 20000;

// Counts the bodies of what is sent and answered.
class WeighingTransport final : public net::Transport {
 public:
  explicit WeighingTransport(net::Transport& inner) : inner_(inner) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    Result<net::Response> answer = inner_.call(context, request);
    bytes_ += request.body.size() + (answer ? answer->body.size() : 0);
    ++calls_;
    return answer;
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, request);
  }
  double megabytes() const { return static_cast<double>(bytes_) / 1e6; }
  double calls() const { return static_cast<double>(calls_); }

 private:
  net::Transport& inner_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> calls_{0};
};

struct Cost {
  double seconds = 0;
  double megabytes = 0;
  double calls = 0;
};

ledger::Grant one_port(int owner) {
  const auto port = static_cast<model::Port>(kFirst + owner);
  return {.ports = {port, port},
          .owner = {"Stage", "games", fmt::format("stage-{}", owner),
                    fmt::format("0f8fad5b-d9cb-469f-a165-7086{:08d}", owner)},
          .item = "stage"};
}

// Runs `work(client, i)` for each owner, with as many at one time as controllers have.
Result<Cost> weigh(const std::string& kubeconfig,
                   const std::function<Result<>(kube::Client&, Tasks&, int)>& work) {
  Session session;
  if (Result<> opened = session.open(kubeconfig); !opened) return pass(opened);
  auto cluster = kube::load_kubeconfig({kubeconfig}, "");
  if (!cluster) return pass(cluster);
  WeighingTransport scale(session.transport);
  kube::Client client(scale, *cluster);
  std::atomic<int> failures{0};
  const Instant begin = session.tasks.now();
  on_threads(kWriters, kOwners, [&](int i) {
    if (!work(client, session.tasks, i)) ++failures;
  });
  if (failures > 0) return fail(Code::internal, "{} owners got nothing", failures.load());
  return Cost{to_seconds(session.tasks.now() - begin), scale.megabytes(), scale.calls()};
}

Result<Cost> grant_all(const std::string& kubeconfig) {
  // As the leader has them; nobody else writes.
  claims::BalancerStore balancers;
  claims::BlockStore blocks;
  claims::ListenerStore listeners;
  claims::add_indexes(balancers);
  claims::add_indexes(blocks);
  claims::add_indexes(listeners, {});
  const claims::Sealer sealer([] { return nullptr; });
  std::unique_ptr<claims::Grantor> grantor;
  Mutex mu;
  return weigh(kubeconfig, [&](kube::Client& client, Tasks& tasks, int i) {
    {
      const MutexLock lock(mu);
      if (!grantor)
        grantor = std::make_unique<claims::Grantor>(client, balancers, blocks, listeners, sealer);
    }
    return grantor->grant({.tasks = tasks}, {model::Provider::edge, "", "many"}, one_port(i));
  });
}

// The same grant, each time into an object that has nothing else.
Result<Cost> patch_bare(const std::string& kubeconfig) {
  Session session;
  if (Result<> opened = session.open(kubeconfig); !opened) return pass(opened);
  const kube::ResourceType& type = api::load_balancer_kind().type;
  const auto name = [](int i) { return fmt::format("edge.bare-{}", i % kBareObjects); };
  for (int i = 0; i < kBareObjects; ++i) {
    const auto made = session.client->create(
        {.tasks = session.tasks}, type,
        wire::Object{{"apiVersion", type.api_version()},
                     {"kind", type.kind},
                     {"metadata", wire::Object{{"name", name(i)}}},
                     {"spec", wire::Object{{"provider", "edge"}, {"loadBalancerID", "bare"}}}});
    if (!made) return fail(made.error());
  }
  return weigh(kubeconfig, [&](kube::Client& client, Tasks& tasks, int i) -> Result<> {
    const wire::Array grants{api::encode(claims::to_api(one_port(i)))};
    const wire::Array patch{
        wire::Object{{"op", "add"}, {"path", "/spec/grants"}, {"value", grants}}};
    const auto written =
        client.patch({.tasks = tasks}, type, {"", name(i)}, kube::PatchType::json, patch);
    if (!written) return fail(written.error());
    return {};
  });
}

Result<std::vector<Line>> many_owners(Environment& environment) {
  const Result<std::string> kubeconfig = environment.fresh_embedded_server();
  if (!kubeconfig) return fail(kubeconfig.error());
  {
    // Its kinds are installed, and it goes again: nobody else shall write.
    Model model;
    const auto house = House::open(*kubeconfig, model.drivers);
    if (!house) return fail(house.error());
  }
  const Result<Cost> ours = grant_all(*kubeconfig);
  if (!ours) return fail(ours.error());
  const Result<Cost> bare = patch_bare(*kubeconfig);
  if (!bare) return fail(bare.error());
  return std::vector<Line>{
      {"grant-2000-owners",
       "2,000 owners of one port each on one load balancer, beside one small patch each",
       ours->seconds, bare->seconds, "s", "lower"},
      {"grant-2000-owners-bytes", "bodies sent and answered, beside the same", ours->megabytes,
       bare->megabytes, "MB", "lower"},
      {"grant-2000-owners-calls", "calls, beside the same", ours->calls, bare->calls, "calls",
       "lower"}};
}

}  // namespace

std::vector<Bench> grant_benches() {
  return {
      {{"grant-2000-owners", "grant-2000-owners-bytes", "grant-2000-owners-calls"}, many_owners}};
}

}  // namespace berth::bench
