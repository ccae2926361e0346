// Providers that say yes and do nothing. Every call is a success, so only what became of it can
// tell; it is told to the caller, and the provider is not hammered.

#include <gmock/gmock.h>

#include "engine/test_engine.h"
#include "lb/test_forwarding_listeners.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using lb::ObservedListener;
using sim::lb::Call;

// Which calls are confirmed without being made.
struct Deafness {
  bool create = false;
  bool remove = false;
  bool targets = false;
  bool attributes = false;
  int calls = 0;
};

class DeafDriver final : public lb::ForwardingListeners {
 public:
  DeafDriver(lb::Listeners& inner, Deafness& deaf) : ForwardingListeners(inner), deaf_(deaf) {}

  Result<std::vector<ObservedListener>> list(const Context& context,
                                             const lb::Place& place) override {
    ++deaf_.calls;
    return inner_.list(context, place);
  }
  Result<std::vector<ObservedListener>> look_up(const Context& context, const lb::Place& place,
                                                std::span<const lb::Question> questions) override {
    ++deaf_.calls;
    return inner_.look_up(context, place, questions);
  }
  std::vector<Result<model::ListenerId>> create(
      const Context& context, const lb::Place& place,
      std::span<const model::ListenerSpec> wanted) override {
    ++deaf_.calls;
    if (!deaf_.create) return inner_.create(context, place, wanted);
    take_time(context);
    std::vector<Result<model::ListenerId>> ids;
    for (const model::ListenerSpec& spec : wanted)
      ids.emplace_back(model::ListenerId("none-" + spec.name));
    return ids;
  }
  std::vector<Result<>> remove(const Context& context, const lb::Place& place,
                               std::span<const model::ListenerId> ids) override {
    return yes_or(deaf_.remove, context, ids.size(),
                  [&] { return inner_.remove(context, place, ids); });
  }
  std::vector<Result<>> change(const Context& context, const lb::Place& place,
                               std::span<const lb::ListenerChange> changes) override {
    return yes_or(deaf_.attributes, context, changes.size(),
                  [&] { return inner_.change(context, place, changes); });
  }
  std::vector<Result<>> create_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::NewRule> wanted) override {
    return yes_or(deaf_.create, context, wanted.size(),
                  [&] { return inner_.create_rules(context, place, wanted); });
  }
  std::vector<Result<>> remove_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::RuleRef> rules) override {
    return yes_or(deaf_.remove, context, rules.size(),
                  [&] { return inner_.remove_rules(context, place, rules); });
  }
  std::vector<Result<>> change_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::RuleChange> changes) override {
    return yes_or(deaf_.attributes, context, changes.size(),
                  [&] { return inner_.change_rules(context, place, changes); });
  }
  std::vector<Result<>> change_targets(const Context& context, const lb::Place& place,
                                       std::span<const lb::TargetChange> changes) override {
    return yes_or(deaf_.targets, context, changes.size(),
                  [&] { return inner_.change_targets(context, place, changes); });
  }

 private:
  // Longer than nothing: otherwise no time would pass between two calls.
  static void take_time(const Context& context) {
    (void)sleep_for(context.tasks, 10ms, context.stop);
  }
  template <class F>
  std::vector<Result<>> yes_or(bool deaf, const Context& context, std::size_t size, F call) {
    ++deaf_.calls;
    if (!deaf) return call();
    take_time(context);
    return std::vector<Result<>>(size);
  }

  Deafness& deaf_;
};

class DeafEngineTest : public EngineTest {
 protected:
  void start_deaf(Deafness deaf, EngineOptions options) {
    deaf_ = deaf;
    around_ = [this](lb::Listeners& inner) { return std::make_unique<DeafDriver>(inner, deaf_); };
    start(std::move(options));
  }
  // Pauses double from 200 ms: a minute has room for few tries, of at most four calls each.
  void expect_patience() {
    pass(1min);
    EXPECT_LE(deaf_.calls, 40);
    EXPECT_GE(deaf_.calls, 3) << "it is tried now and then";
  }
  void expect_told(const std::string& key) {
    const auto about_it = [&](const Outcome& outcome) {
      return outcome.key.value == key && !outcome.result &&
             outcome.result.error().message.find("confirmed") != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(cluster_.outcomes, about_it));
    EXPECT_FALSE(cluster_.objects[key].applied);
  }

  Deafness deaf_;
};

TEST_F(DeafEngineTest, ACreationThatIsNotMade) {
  start_deaf({.create = true}, {.settle = 10min});
  want("games/a", wish_for(30000, {target(1)}));
  expect_patience();
  expect_told("games/a");
}

TEST_F(DeafEngineTest, TargetsThatAreNotAdded) {
  start_deaf({.targets = true}, {.settle = 10min});
  want("games/a", wish_for(30000, {target(1)}));
  expect_patience();
  expect_told("games/a");
}

// The port stays taken: each creation fails, each removal before it succeeds.
TEST_F(DeafEngineTest, ALeftoverInTheWayThatIsNotRemoved) {
  for (const Duration settle : {Duration{}, Duration{10min}}) {
    const auto port = settle == Duration{} ? model::Port{30000} : model::Port{30001};
    provider_.add_listener(kLb, model::plain_listener(model::Protocol::tcp, {port, port},
                                                      fmt::format("{}old", kPrefix)));
    start_deaf({.remove = true}, {.settle = settle});
    const std::string key = fmt::format("games/{}", port);
    want(key, wish_for(port));
    expect_patience();
    expect_told(key);
    running_.reset();
  }
}

TEST_F(DeafEngineTest, AListenerThatIsNotRemoved) {
  start_deaf({.remove = true}, {.settle = 10min});
  want("games/a", wish_for(30000));
  run_until_applied();
  deaf_.calls = 0;
  want("games/a", removal_of(wish_for(30000)));
  expect_patience();
  expect_told("games/a");
}

TEST_F(DeafEngineTest, AttributesThatAreNotChanged) {
  start_deaf({.attributes = true}, {.settle = 10min});
  want("games/a", wish_for(30000));
  run_until_applied();
  deaf_.calls = 0;
  Wish wish = wish_for(30000);
  wish.spec->rules.front().attributes.session_seconds = 60;
  want("games/a", std::move(wish));
  expect_patience();
  expect_told("games/a");
}

TEST_F(DeafEngineTest, OthersAreServedMeanwhile) {
  start_deaf({.targets = true}, {.settle = 10min});
  want("games/a", wish_for(30000, {target(1)}));
  pass(20s);
  const Instant before = kernel_.now();
  want("games/b", wish_for(30001));
  ASSERT_TRUE(kernel_.run_until([&] { return cluster_.objects["games/b"].applied; }));
  EXPECT_LE(kernel_.now() - before, 2s);
}

TEST_F(DeafEngineTest, WorkGoesOnWhenTheProviderHearsAgain) {
  start_deaf({.targets = true}, {.settle = 10min});
  want("games/a", wish_for(30000, {target(1)}));
  pass(1min);
  deaf_ = {};
  run_until_applied();
  EXPECT_THAT(targets_at(30000), testing::ElementsAre(target(1)));
}

}  // namespace
}  // namespace berth::engine
