// Rooms that outlive the keys with which we sealed what they were told: each keeps its port, also
// when somebody takes its claim off when its key has long ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/encoding.h"
#include "claims/pod_seal.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using wire::Array;
using wire::Object;
using wire::Value;
using namespace std::chrono_literals;

const std::string kSecret = "/api/v1/namespaces/default/secrets/berth-keys";
const std::string kListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners/";
const std::string kClaimPath =
    "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation);

constexpr std::string_view kSuccessor = "5ccce550";
constexpr Duration kDay = 24h;
// Every replica has looked at the keys.
constexpr Duration kLooked = 15min;

class RotatedKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    ASSERT_TRUE(house_.settle());
    ASSERT_TRUE(user_.create("room-0", kind_of(0)));
    run_for(1min);
    ASSERT_TRUE(is_ready());
  }
  // Days go by, and little happens in them.
  static world::WorldOptions quiet() {
    world::WorldOptions options{.replicas = 2};
    options.cluster.tick = 1h;
    options.config.lease_duration = 20min;
    options.config.renew_deadline = 10min;
    options.config.lease_retry_period = 5min;
    return options;
  }
  void run_for(Duration span) {
    const Result<> ran = house_.cluster().run_for(span);
    ASSERT_TRUE(ran) << ran.error().to_string();
  }
  Value get(const std::string& path) {
    const auto found = house_.cluster().ask("GET", path);
    return found ? *found : Value(nullptr);
  }
  Room room() { return RoomBook::read(get(kPods + "/room-0")); }
  bool is_ready() { return room().ready; }
  // Of the key that sealed what the room was told.
  std::string sealed_by() {
    const std::string seal(wire::string_at(
        get(kPods + "/room-0"),
        "/metadata/annotations/" + wire::escape_pointer_step(claims::kPortsSealAnnotation)));
    const std::size_t begin = seal.find(':') + 1;
    return seal.substr(begin, seal.find('.') - begin);
  }

  Array seals() {
    const auto text = base64_decode(wire::string_at(get(kSecret), "/data/seals"));
    const auto ring = wire::parse_json(text.value_or("{}"));
    const Array* const keys = ring ? wire::array_at(*ring, "/keys") : nullptr;
    return keys ? *keys : Array{};
  }
  std::vector<std::string> key_ids() {
    std::vector<std::string> out;
    for (const Value& key : seals()) out.emplace_back(wire::string_at(key, "/id"));
    return out;
  }
  void write_seals(Array keys) {
    const std::string ring = wire::to_json(Object{{"keys", std::move(keys)}});
    ASSERT_TRUE(house_.cluster().ask("PATCH", kSecret,
                                     Object{{"data", Object{{"seals", base64_encode(ring)}}}}));
  }
  std::string ago(Duration age) {
    return format_rfc3339(house_.world().kernel().wall_time() - age);
  }
  // For the keys alone.
  void let_pass(Duration time) {
    Array keys = seals();
    for (Value& key : keys) {
      const auto made = parse_rfc3339(wire::string_at(key, "/made"));
      ASSERT_TRUE(made);
      key.as_object()["made"] = format_rfc3339(*made - time);
    }
    write_seals(std::move(keys));
  }
  // The key of now has a successor, which seals.
  void give_successor() {
    let_pass(100 * kDay);
    Array keys = seals();
    ASSERT_EQ(keys.size(), 1u);
    keys.push_back(Object{
        {"id", kSuccessor}, {"key", base64_encode(std::string(32, 's'))}, {"made", ago(2h)}});
    write_seals(std::move(keys));
  }
  // Its successor has sealed for nearly half a year, and has one itself, for a while.
  void come_near_the_end() {
    let_pass(178 * kDay);
    run_for(2h);
    ASSERT_EQ(key_ids().size(), 3u);
  }
  void end_first_key() {
    const std::string first(wire::string_at(seals().front(), "/id"));
    let_pass(3 * kDay);
    run_for(kLooked);
    ASSERT_THAT(key_ids(), Not(Contains(first)));
  }
  void expect_port_is_kept_without_claim() {
    const std::vector<api::PortBindingItem> before = room().bindings;
    const std::string lock = kListeners + fmt::format("demo-tcp-{}", before.at(0).start_port);
    house_.book().look_away(true);
    const Object nothing{{ledger::kClaimAnnotation, ""}};
    ASSERT_TRUE(house_.cluster().ask("PATCH", lock,
                                     Object{{"metadata", Object{{"annotations", nothing}}}}));
    house_.book().look_away(false);
    run_for(5min);
    const auto claim = ledger::decode_claim(wire::string_at(get(lock), kClaimPath));
    ASSERT_TRUE(claim && *claim) << "its port is nobody's";
    EXPECT_EQ((*claim)->pod_name, "room-0");
    EXPECT_TRUE(is_ready());
    EXPECT_EQ(room().bindings, before);
  }

  PoolHouse house_{1, quiet()};
  User user_{house_.world()};
};

TEST_F(RotatedKeysTest, ARoomWhoseSealWasRenewedInTimeKeepsItsPort) {
  const std::string first = sealed_by();
  ASSERT_THAT(key_ids(), ElementsAre(first));
  give_successor();
  for (int i = 0; i < 2; ++i) run_for(13h);
  EXPECT_EQ(sealed_by(), kSuccessor);
  EXPECT_TRUE(is_ready()) << "nothing else changes";
  come_near_the_end();
  end_first_key();
  expect_port_is_kept_without_claim();
}

// No replica led while it was its turn: it is looked at when its key ends at the latest.
TEST_F(RotatedKeysTest, ARoomWhoseKeyEndsBeforeItsSealWasRenewedKeepsItsPort) {
  const std::string first = sealed_by();
  give_successor();
  come_near_the_end();
  ASSERT_EQ(sealed_by(), first) << "its turn is later; another seed, please";
  end_first_key();
  EXPECT_NE(sealed_by(), first);
  expect_port_is_kept_without_claim();
}

}  // namespace
}  // namespace berth::scenario
