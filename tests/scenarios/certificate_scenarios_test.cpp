// The webhook's certificate over many renewals: three replicas keep it, one of them, and not always
// the same, tells the API server whom to trust. At no moment may a replica serve with a certificate
// that the API server does not trust, or that has ended.
#include <gtest/gtest.h>

#include <array>

#include "kube/admission/certificate_keeper.h"
#include "scenario.h"
#include "sim/world/cluster.h"

namespace berth::scenario {
namespace {

using world::Cluster;
using namespace std::chrono_literals;

constexpr Duration kDay = 24h;
constexpr Duration kSpan = 200 * kDay;
constexpr int kReplicas = 3;
constexpr Duration kPeriod = 12h;
constexpr const char* kSecret = "/api/v1/namespaces/default/secrets/berth-webhook-certificate";

// Short, so that the ends of both often fall together.
kube::CertificateKeeperOptions short_lives() {
  return {.dns_names = {"berth.default.svc"},
          .authority_lifetime = 30 * kDay,
          .certificate_lifetime = 6 * kDay};
}

class Replicas {
 public:
  explicit Replicas(std::uint64_t seed) : random_(seed), cluster_(seed, calm(random_)) {
    for (auto& replica : replicas_) replica = std::make_unique<Replica>(cluster_, *this);
  }

  // With a look at everything each day, beside the one at every change.
  Result<> live(Duration span) {
    const Instant end = cluster_.kernel().now() + span;
    while (cluster_.kernel().now() < end) {
      if (Result<> ran = cluster_.run_for(kDay); !ran) return ran;
      if (random_.chance(0.03)) leader_ = static_cast<std::size_t>(random_.below(kReplicas));
      tell_api_server();
      check();
      if (cluster_.kernel().failure()) return fail(*cluster_.kernel().failure());
    }
    return {};
  }
  void delete_secret() { ASSERT_TRUE(cluster_.ask("DELETE", kSecret)); }

  Cluster& cluster() { return cluster_; }
  int renewals() const { return renewals_; }
  std::shared_ptr<const kube::WebhookCertificate> served(std::size_t i) const {
    return replicas_[i]->keeper.current();
  }

 private:
  struct Replica {
    Replica(Cluster& cluster, Replicas& all)
        : process(cluster.kernel().start_process("replica")),
          network(cluster.connect(process)),
          client(*network, kube::fixed_config(Cluster::kServerUrl, {})),
          keeper(client, short_lives()) {
      keeper.on_change([this, &all](const kube::WebhookCertificate&) { all.changed(*this); });
      main = process.spawn("main", [this](std::stop_token stop) {
        const Context context{.tasks = process, .stop = stop};
        while (!keeper.ensure(context) && sleep_for(process, 1s, stop)) {
        }
        keeper.keep(context, kPeriod);
      });
    }
    sim::Process& process;
    std::unique_ptr<net::Transport> network;
    kube::Client client;
    kube::CertificateKeeper keeper;
    std::unique_ptr<Task> main;
  };

  static world::ClusterOptions calm(Random& random) {
    world::ClusterOptions options;
    options.kernel.max_latency = up_to(random, 500ms);
    options.tick = kDay;
    return options;
  }

  void changed(const Replica& replica) {
    ++renewals_;
    if (&replica == replicas_[leader_].get()) tell_api_server();
    check();
  }
  void tell_api_server() {
    if (!replicas_[leader_]) return;
    if (const auto known = replicas_[leader_]->keeper.current()) trusted_ = known->ca_bundle;
  }
  void check() {
    for (const auto& replica : replicas_) {
      const auto serving = replica ? replica->keeper.current() : nullptr;
      if (!serving || trusted_.empty()) continue;
      const Result<> verified = crypto::verify_signed_by(serving->serving.certificate_pem, trusted_,
                                                         cluster_.kernel().wall_time());
      if (!verified) cluster_.kernel().fail("not trusted: " + verified.error().to_string());
    }
  }

  Random random_;
  Cluster cluster_;
  std::array<std::unique_ptr<Replica>, kReplicas> replicas_;
  std::size_t leader_ = 0;
  std::string trusted_;  // the bundle in the webhook configurations
  int renewals_ = 0;
};

Result<sim::RunReport> live_through_renewals(std::uint64_t seed) {
  Replicas replicas(seed);
  if (Result<> lived = replicas.live(kSpan); !lived) return pass(lived);
  // A certificate every four days and an authority every twenty, on every replica.
  if (replicas.renewals() < kReplicas * 50)
    return fail(Code::internal, "only {} renewals", replicas.renewals());
  return replicas.cluster().kernel().report();
}

TEST(CertificateScenarios, NoRequestMeetsACertificateThatIsNotTrusted) {
  const auto swept =
      sim::sweep(sweep_for("renewed certificates", std::chrono::seconds{4}), live_through_renewals);
  ASSERT_TRUE(swept) << swept.error().message;
}

TEST(CertificateScenarios, ADeletedSecretComesBackAsItWas) {
  Replicas replicas(1);
  ASSERT_TRUE(replicas.live(kDay));
  const auto before = replicas.served(0);
  const int renewals = replicas.renewals();
  replicas.delete_secret();
  ASSERT_TRUE(replicas.live(kDay));
  EXPECT_EQ(replicas.served(0)->serving.certificate_pem, before->serving.certificate_pem);
  EXPECT_EQ(replicas.renewals(), renewals);
  EXPECT_TRUE(replicas.cluster().ask("GET", kSecret));
}

}  // namespace
}  // namespace berth::scenario
