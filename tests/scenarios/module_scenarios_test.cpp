// Modules that are off, on a simulated cluster: what a controller asks for that runs without them,
// and what is left of one that was on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "scenario.h"
#include "sim/world/world.h"

namespace berth::scenario {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using wire::Value;
using world::World;
using world::WorldOptions;

const std::string kHooks = "/apis/admissionregistration.k8s.io/v1/";

// What replicas ask for: "watch pods", "list namespaces", "get leases".
class Eavesdropper final : public net::Transport {
 public:
  Eavesdropper(net::Transport& inner, std::set<std::string>& heard)
      : inner_(inner), heard_(heard) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    note(request);
    return inner_.call(context, request);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    note(request);
    return inner_.open(context, request);
  }

 private:
  void note(const net::Request& request) {
    const std::size_t begin = request.url.find("/api", request.url.find("://") + 3);
    const std::size_t end = std::min(request.url.find('?'), request.url.size());
    std::vector<std::string> steps;
    for (std::size_t at = begin + 1; at < end;) {
      const std::size_t slash = std::min(request.url.find('/', at), end);
      steps.push_back(request.url.substr(at, slash - at));
      at = slash + 1;
    }
    // "api/v1/…" or "apis/group/version/…", and perhaps "namespaces/games/…".
    std::size_t resource = steps.empty() || steps[0] == "api" ? 2 : 3;
    if (steps.size() > resource + 2 && steps[resource] == "namespaces") resource += 2;
    if (resource < steps.size()) heard_.insert(steps[resource]);
  }

  net::Transport& inner_;
  std::set<std::string>& heard_;
};

class ModuleTest : public ::testing::Test {
 protected:
  using Names = std::vector<std::string>;

  // Ingresses are off in all of these: what they read and ask for is in app_test.
  static Names with_ingress(Names off) {
    off.emplace_back("ingress");
    return off;
  }
  // Until it has led for a while.
  void start(const Names& off) {
    WorldOptions options;
    options.config.without = with_ingress(off);
    options.around_transport = [this](net::Transport& inner) {
      return std::make_unique<Eavesdropper>(inner, heard_);
    };
    config_ = options.config;
    world_ = std::make_unique<World>(1, options);
    ASSERT_TRUE(world_->cluster().run_until([this] { return world_->leaders() == 1; }));
    ASSERT_TRUE(world_->cluster().run_for(std::chrono::minutes{2}));
  }
  void start_again(const Names& off) {
    config_.without = with_ingress(off);
    world_->configure(config_);
    world_->restart(0);
    ASSERT_TRUE(world_->cluster().run_for(std::chrono::minutes{2}));
    ASSERT_EQ(world_->leaders(), 1);
  }
  std::vector<std::string> hooks(const std::string& kind) {
    const auto found = world_->cluster().ask("GET", kHooks + kind + "/berth");
    std::vector<std::string> out;
    const wire::Array* list = found ? wire::array_at(*found, "/webhooks") : nullptr;
    for (const Value& hook : list ? *list : wire::Array{})
      out.emplace_back(wire::string_at(hook, "/name"));
    return out;
  }
  std::vector<std::string> kinds() {
    std::vector<std::string> out;
    const auto list =
        world_->cluster().list("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    for (const Value& crd : list.value())
      out.emplace_back(wire::string_at(crd, "/spec/names/kind"));
    return out;
  }

  std::set<std::string> heard_;
  app::Config config_;
  std::unique_ptr<World> world_;
};

TEST_F(ModuleTest, AllOfThemReadWhatTheyNeed) {
  start({});
  EXPECT_THAT(heard_, IsSupersetOf({"pods", "namespaces", "portpools", "portbindings", "listeners",
                                    "loadbalancers", "leases", "secrets"}));
  EXPECT_THAT(kinds(), UnorderedElementsAre("Listener", "PortBinding", "PortPool", "LoadBalancer",
                                            "PortBlock"));
  EXPECT_THAT(hooks("mutatingwebhookconfigurations"),
              ElementsAre("host-ports.berth.dev", "pod-ports.berth.dev"));
  EXPECT_THAT(hooks("validatingwebhookconfigurations"), Not(IsEmpty()));
}

TEST_F(ModuleTest, WithoutPortPoolsNobodyAsksForWhatIsTheirs) {
  start({"port-pools"});
  for (const char* theirs : {"portpools", "portbindings", "namespaces", "replicasets",
                             "statefulsets", "gamestatefulsets"})
    EXPECT_THAT(heard_, Not(Contains(theirs)));
  EXPECT_THAT(heard_, IsSupersetOf({"pods", "listeners", "loadbalancers", "portblocks"}));
  EXPECT_THAT(kinds(), UnorderedElementsAre("Listener", "LoadBalancer", "PortBlock"));
  EXPECT_THAT(hooks("mutatingwebhookconfigurations"), ElementsAre("host-ports.berth.dev"));
  EXPECT_THAT(hooks("validatingwebhookconfigurations"), IsEmpty());
}

TEST_F(ModuleTest, WithoutHostPortsPoolsGoOn) {
  start({"host-ports"});
  EXPECT_THAT(heard_, IsSupersetOf({"pods", "portpools", "portbindings", "listeners"}));
  EXPECT_THAT(hooks("mutatingwebhookconfigurations"), ElementsAre("pod-ports.berth.dev"));
}

TEST_F(ModuleTest, TheCoreAloneWatchesNoPod) {
  start({"port-pools", "host-ports"});
  EXPECT_THAT(heard_, Not(Contains("pods")));
  EXPECT_THAT(heard_, IsSupersetOf({"listeners", "loadbalancers", "leases", "secrets"}));
  EXPECT_THAT(hooks("mutatingwebhookconfigurations"), IsEmpty());
}

// Its webhooks would be answered by nobody; its kinds have objects of users, and stay.
TEST_F(ModuleTest, OneThatIsSwitchedOffTakesItsWebhooksAlong) {
  start({});
  start_again({"port-pools"});
  EXPECT_THAT(hooks("mutatingwebhookconfigurations"), ElementsAre("host-ports.berth.dev"));
  EXPECT_THAT(hooks("validatingwebhookconfigurations"), IsEmpty());
  EXPECT_THAT(kinds(), Contains("PortPool"));
  start_again({});
  EXPECT_THAT(hooks("mutatingwebhookconfigurations"),
              ElementsAre("host-ports.berth.dev", "pod-ports.berth.dev"));
  EXPECT_THAT(hooks("validatingwebhookconfigurations"), Not(IsEmpty()));
}

}  // namespace
}  // namespace berth::scenario
