// A CRD of ours that somebody deletes, and with it every object of its kind. The controller puts
// it back and goes on; what that costs is said in docs/security.md. A port never has two Pods.
#include "hands_fixture.h"

namespace berth::scenario {
namespace {

const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";
const std::string kUpstream = ".networkextension.bkbcs.tencent.com";

class DefinitionTest : public AdministratorTest {
 protected:
  void SetUp() override {
    AdministratorTest::SetUp();
    ASSERT_TRUE(tenant().ask("POST", path_in(kLobby, "pods"),
                             asking(kLobby, "guest", "own/pair TCP_UDP 8000", "1h")));
    run_for(minutes{3});
    ASSERT_TRUE(is_ready(kLobby, "guest"));
  }
  std::string uid_of(const std::string& crd) {
    return std::string(wire::string_at(get(kDefinitions + crd), "/metadata/uid"));
  }
  void remove(const std::string& crd) {
    before_ = uid_of(crd);
    ASSERT_TRUE(other().ask("DELETE", kDefinitions + crd));
  }
  bool is_back(const std::string& crd) {
    const std::string now = uid_of(crd);
    return !now.empty() && now != before_;
  }
  void expect_all_ready() {
    for (const char* name : {"calm-0", "calm-1", "calm-2"}) EXPECT_TRUE(is_ready(kCalm, name));
    EXPECT_TRUE(is_ready(kLobby, "guest"));
  }
  std::string ports_of(std::string_view ns, std::string_view name) {
    return api::encode_pool_bindings(RoomBook::read(get(path_in(ns, "pods", name))).bindings);
  }

 private:
  std::string before_;
};

// Nobody notices.
TEST_F(DefinitionTest, LoadBalancersAreRebuilt) {
  const std::string crd = "loadbalancers.berth.dev";
  remove(crd);
  run_for(minutes{3});
  ASSERT_TRUE(is_back(crd));
  EXPECT_EQ(all("/apis/berth.dev/v1/loadbalancers").size(), 3u);
  expect_all_ready();
  expect_order();
}

// At the worst moment: the pools have seen that the objects are gone, and the CRD is not there.
TEST_F(DefinitionTest, LoadBalancersAreRebuiltHoweverLongTheyAreNotServed) {
  const std::string crd = "loadbalancers.berth.dev";
  for (int i = 0; i < 20; ++i) {
    remove(crd);
    run_for(std::chrono::milliseconds{300});
    if (HasFatalFailure()) return;
    ASSERT_TRUE(house_.house().run_until([&] { return is_back(crd); }));
  }
  run_for(minutes{3});
  EXPECT_EQ(all("/apis/berth.dev/v1/loadbalancers").size(), 3u);
  expect_all_ready();
  expect_order();
}

// Only who leads puts it back, and who begins to lead lists all kinds first.
TEST_F(DefinitionTest, ItComesBackAlsoWhenNobodyLeads) {
  const std::string crd = "loadbalancers.berth.dev";
  ASSERT_TRUE(other().ask("PATCH", "/apis/coordination.k8s.io/v1/namespaces/default/leases/berth",
                          Object{{"spec", Object{{"holderIdentity", ""}}}}));
  ASSERT_TRUE(house_.house().run_until([this] { return world().leaders() == 0; }));
  remove(crd);
  run_for(minutes{3});
  ASSERT_TRUE(is_back(crd));
  expect_all_ready();
  expect_order();
}

TEST_F(DefinitionTest, PortBindingsAreMadeAgain) {
  const std::string crd = "portbindings" + kUpstream;
  remove(crd);
  run_for(minutes{3});
  ASSERT_TRUE(is_back(crd));
  EXPECT_EQ(all(path_in(kCalm, "portbindings")).size(), 3u);
  expect_all_ready();
  expect_order();
}

// Players are cut off until the Listeners are there again; each Pod has its own ports then.
TEST_F(DefinitionTest, ListenersAreMadeAgainForTheSamePods) {
  const std::string guest = ports_of(kLobby, "guest");
  const std::string calm = ports_of(kCalm, "calm-1");
  const std::string crd = "listeners" + kUpstream;
  house_.trust().let_go(kCalm);
  for (const model::LoadBalancerRef& lb : world().provider().load_balancers())
    for (const auto& one : world().provider().listeners(lb))
      house_.trust().note_place(place_of(lb, one), kAudited);
  remove(crd);
  run_for(kAudited + minutes{1});
  ASSERT_TRUE(is_back(crd));
  expect_all_ready();
  EXPECT_EQ(ports_of(kLobby, "guest"), guest);
  EXPECT_EQ(ports_of(kCalm, "calm-1"), calm);
  expect_order();
}

// Pools go when nobody has a port of them: those who have one keep it. The CRD is back when the
// last of them has gone, and whoever made the pools makes them again.
TEST_F(DefinitionTest, PoolsOutliveTheirDefinitionAsLongAsRoomsUseThem) {
  const std::string crd = "portpools" + kUpstream;
  remove(crd);
  run_for(minutes{15});
  EXPECT_FALSE(is_back(crd));
  expect_all_ready();
  EXPECT_FALSE(
      tenant().ask("POST", path_in(kLobby, "pods"), asking(kLobby, "another", "own/one TCP 8000")));
  house_.trust().let_go(kCalm);
  for (const std::string& ns : {kLobby, kCalm})
    for (const Value& pod : all(path_in(ns, "pods")))
      (void)world().cluster().ask("DELETE", path_in(ns, "pods", name_of(pod)));
  for (const std::string& ns : {kLobby, kCalm})
    for (const Value& binding : all(path_in(ns, "portbindings")))
      (void)world().cluster().ask("DELETE", path_in(ns, "portbindings", name_of(binding)));
  ASSERT_TRUE(house_.house().run_until([&] { return is_back(crd); }));
  run_for(seconds{30});
  ASSERT_TRUE(tenant().ask("POST", path_in(kLobby, "portpools"),
                           pool(kLobby, "own", {item("one", 31000, 31004)})));
  run_for(minutes{2});
  ASSERT_TRUE(
      tenant().ask("POST", path_in(kLobby, "pods"), asking(kLobby, "another", "own/one TCP 8000")));
  run_for(minutes{2});
  EXPECT_TRUE(is_ready(kLobby, "another"));
}

}  // namespace
}  // namespace berth::scenario
