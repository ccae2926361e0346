// The store against a model: an API server with a history. Watch events, our own late answers and
// relists come in any order that is possible; in the end the store is what the server has, handlers
// were told exactly the difference, and indexes agree with a scan.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <map>

#include "base/random.h"
#include "kube/cache/store.h"

namespace berth::kube {
namespace {

struct Thing {
  ObjectMeta meta{};
  std::string node{};
};

// One state of one object; `gone` when it is the deletion.
struct Moment {
  std::string name{};
  std::string uid{};
  std::string node{};
  ResourceVersion version = 0;
  bool gone = false;

  Thing thing() const {
    Thing out;
    out.meta.name = name;
    out.meta.uid = uid;
    out.meta.resource_version = version;
    out.node = node;
    return out;
  }
};

// Which way a run goes depends on every step before, so there is nothing to shrink: one seed is all
// that is drawn.
Random draw_random() {
  return Random(*rc::gen::noShrink(rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>())));
}

// A server's history: versions 1, 2, 3, ...
std::vector<Moment> make_history(Random& random) {
  const std::size_t length = 1 + random.below(40);
  std::vector<Moment> history;
  std::map<std::string, Moment> live;
  for (ResourceVersion version = 1; version <= length; ++version) {
    const std::string name(1, static_cast<char>('a' + random.below(4)));
    Moment next{.name = name, .node = fmt::format("n{}", random.below(3)), .version = version};
    const auto known = live.find(name);
    if (known == live.end()) {
      next.uid = fmt::format("uid-{}", version);
    } else {
      next.uid = known->second.uid;
      next.gone = random.below(3) == 0;
    }
    history.push_back(next);
    if (next.gone) {
      live.erase(name);
    } else {
      live[name] = next;
    }
  }
  return history;
}

std::map<std::string, Moment> state_at(const std::vector<Moment>& history, ResourceVersion at) {
  std::map<std::string, Moment> state;
  for (const Moment& moment : history) {
    if (moment.version > at) break;
    if (moment.gone) {
      state.erase(moment.name);
    } else {
      state[moment.name] = moment;
    }
  }
  return state;
}

// What handlers can build from changes alone. Fails on a change that does not fit.
class Follower {
 public:
  void take(const Change<Thing>& change) {
    const std::string& name = change.object().meta.name;
    const auto known = known_.find(name);
    const ResourceVersion before = change.before ? change.before->meta.resource_version : 0;
    RC_ASSERT(before == (known == known_.end() ? 0 : known->second));
    if (change.before && change.after) RC_ASSERT(change.before->meta.uid == change.after->meta.uid);
    if (change.after) {
      known_[name] = change.after->meta.resource_version;
    } else {
      known_.erase(name);
    }
  }
  const std::map<std::string, ResourceVersion>& known() const { return known_; }

 private:
  std::map<std::string, ResourceVersion> known_;
};

RC_GTEST_PROP(StoreProperty, EndsAsTheServerIs, ()) {
  Random random = draw_random();
  const auto history = make_history(random);
  const ResourceVersion last = history.back().version;
  Store<Thing> store;
  Follower follower;
  store.on_change([&](const Change<Thing>& change) { follower.take(change); });
  store.add_index("node", [](const Thing& thing, EmitKey emit) { emit(thing.node); });

  const auto list = [&](ResourceVersion at) {
    std::vector<Thing> all;
    for (const auto& [name, moment] : state_at(history, at)) all.push_back(moment.thing());
    RC_ASSERT(store.replace(std::move(all), at).has_value());
  };
  list(random.below(last + 1));
  while (store.seen() < last) {
    const ResourceVersion seen = store.seen();
    const std::uint64_t what = random.below(10);
    if (what == 0) {  // the watch broke: a list at least as new
      list(seen + random.below(last + 1 - seen));
    } else if (what <= 3) {  // the answer to a write of ours, early or late
      const Moment& moment = history[random.below(history.size())];
      if (!moment.gone) store.put(moment.thing());
    } else {  // the next event
      const Moment& moment = history[seen];
      if (moment.gone) {
        store.erase({"", moment.name}, moment.uid, moment.version);
      } else {
        store.put(moment.thing());
      }
      store.advance(moment.version);
    }
  }

  std::map<std::string, ResourceVersion> expected;
  for (const auto& [name, moment] : state_at(history, last)) expected[name] = moment.version;
  std::map<std::string, ResourceVersion> got;
  std::map<std::string, std::size_t> on_node;
  for (const auto& thing : store.all()) {
    got[thing->meta.name] = thing->meta.resource_version;
    ++on_node[thing->node];
  }
  RC_ASSERT(got == expected);
  RC_ASSERT(follower.known() == expected);
  for (const char* node : {"n0", "n1", "n2"}) {
    RC_ASSERT(store.by_index("node", node).size() == on_node[node]);
  }
}

}  // namespace
}  // namespace berth::kube
