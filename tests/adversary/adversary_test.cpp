// Every attack of the table, on a real control plane: first without the guard, then with it. After
// each of them the victim is looked at, whatever the attack was about.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "attack.h"
#include "support/own_network.h"

namespace berth::adversary {
namespace {

// Before any thread: Pods are in 10.64.0.0/12, and somebody answers in some of them.
const std::string kNoNetwork = testing::enter_own_network("10.0.0.0", 8);

std::vector<Attack> rows(std::initializer_list<Walls> walls) {
  std::vector<Attack> out;
  for (const Attack& attack : all_attacks())
    if (std::ranges::find(walls, attack.walls) != walls.end()) out.push_back(attack);
  return out;
}

// Rounds, so that the suite can be repeated.
int the_round = 0;

std::string tenant_name(const Attack& attack) {
  std::string out = fmt::format("r{}", the_round);
  for (const char c : attack.name) {
    if (std::isupper(static_cast<unsigned char>(c))) out += '-';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// One stage for both runs of the table.
class TheStage : public ::testing::Environment {
 public:
  void TearDown() override { stage.reset(); }

  inline static std::unique_ptr<Stage> stage;
  inline static std::string error;
};
const auto* const kStage = ::testing::AddGlobalTestEnvironment(new TheStage);

class OnStage : public ::testing::TestWithParam<Attack> {
 protected:
  static void prepare(bool guarded) {
    if (testing::ControlPlane::unavailable()) return;
    if (!TheStage::stage) {
      if (!kNoNetwork.empty()) fmt::print("nobody is in a room: {}\n", kNoNetwork);
      auto opened = Stage::open();
      if (!opened) {
        TheStage::error = opened.error().to_string();
        return;
      }
      TheStage::stage = std::move(*opened);
    }
    ++the_round;
    if (Result<> set = TheStage::stage->set_guard(guarded); !set)
      TheStage::error = set.error().to_string();
    if (std::string why = TheStage::stage->prepare(cast()); !why.empty()) TheStage::error = why;
  }
  // Tenants of the attacks that will run.
  static std::vector<Stage::Cast> cast() {
    std::vector<Stage::Cast> out;
    const ::testing::TestSuite* suite = ::testing::UnitTest::GetInstance()->current_test_suite();
    for (int i = 0; i < suite->total_test_count(); ++i) {
      const ::testing::TestInfo* info = suite->GetTestInfo(i);
      const std::string name(info->name());
      for (const Attack& attack : all_attacks()) {
        if (!info->should_run() || !name.ends_with("/" + attack.name)) continue;
        out.push_back(
            {tenant_name(attack), attack.needs != Needs::nothing, attack.needs == Needs::room});
      }
    }
    return out;
  }

  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
    ASSERT_TRUE(TheStage::stage && TheStage::error.empty()) << TheStage::error;
  }

  void play() {
    const Attack& attack = GetParam();
    Stage& stage = *TheStage::stage;
    Tenant* const tenant = stage.tenant(tenant_name(attack));
    ASSERT_TRUE(tenant);
    Scene scene(stage, *tenant);
    std::string why = attack.act(scene);
    if (why.empty() && !scene.is_fenced()) why = scene.fence();
    EXPECT_EQ(why, "") << ::testing::PrintToString(attack);
    const std::string harm = stage.harm();
    EXPECT_EQ(harm, "") << "the victim: " << ::testing::PrintToString(attack);
    (void)stage.cluster().remove(kube::types::kNamespace, "", tenant->ns());
    (void)stage.cluster().remove(kube::types::kNamespace, "", tenant->plain());
    if (harm.empty()) return;
    const Result<> replaced = stage.replace_victim();
    ASSERT_TRUE(replaced) << replaced.error().to_string();
  }
};

class Unguarded : public OnStage {
 protected:
  static void SetUpTestSuite() { prepare(false); }
};
class Guarded : public OnStage {
 protected:
  static void SetUpTestSuite() { prepare(true); }
};

TEST_P(Unguarded, Attack) { play(); }
TEST_P(Guarded, Attack) { play(); }

const auto kNameOf = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(First, Unguarded,
                         ::testing::ValuesIn(rows({Walls::either, Walls::no_matter})), kNameOf);
INSTANTIATE_TEST_SUITE_P(Second, Guarded,
                         ::testing::ValuesIn(rows({Walls::either, Walls::guard_only})), kNameOf);

}  // namespace
}  // namespace berth::adversary
