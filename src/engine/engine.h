// Engine: makes load balancers look as wished. A mailbox per load balancer: wishes are collected
// while a call is in flight, so that a lone wish waits for one call and a storm fills every batch.
//
// Whoever wants a listener says so with `want`; the outcome comes to the sink. Nothing is written
// while `may_act` says no (the fence of the leader election). Thread-safe; owned by the composition
// root, which runs it on tasks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/random.h"
#include "base/strong_id.h"
#include "lb/driver.h"
#include "metrics/registry.h"
#include "model/listener.h"
#include "model/load_balancer.h"

namespace berth::engine {

// Whose wish it is: the name of an object, unique in the whole engine ("namespace/name").
using WishKey = StrongId<struct WishKeyTag>;
// Which wish of a key is meant.
using WishVersion = StrongId<struct WishVersionTag>;

struct Wish {
  model::LoadBalancerRef lb{};
  // What it is asked for with, and never with another; empty: those of the process.
  model::CredentialId credential{};
  // Nothing: the listener shall not exist.
  std::optional<model::ListenerSpec> spec{};
  // What the wish is about when `spec` is empty, and what to look for when the id is not known.
  model::Protocol protocol = model::Protocol::tcp;
  model::PortRange ports{};
  std::string name{};
  model::ListenerId known_id{};  // from the object's status; empty when it was never created
  // The ports that the wish's owner has on the load balancer: only there is anything removed.
  model::PortRange own{};
  WishVersion version{};  // handed back with the outcome: which wish it answers
};

// What is known of a wish before it comes.
enum class Notice : std::uint8_t {
  likely,   // it may come in a moment: somebody was promised what it is about
  written,  // what it comes of is being written
};

struct Outcome {
  WishKey key{};
  WishVersion version{};
  // Success: the load balancer was seen to be as wished.
  Result<> result{};
  model::ListenerId listener_id{};  // when it exists
  // The port belongs to a listener that is not ours; it was not touched.
  bool foreign = false;
  // Of a failure: the load balancer was seen to lead elsewhere or nowhere, although the caller
  // believes that it leads where it should. A provider that does not answer was not seen to.
  bool astray = false;
  // Of a failure: the wish leads nowhere, and neither does the load balancer, which does not exist.
  // Whoever waits for a port to be free need not wait for its return.
  bool nowhere = false;
};

// Hears outcomes on the engine's tasks; must not block for long. A failure is reported when it
// lasts, and again when it changes; the engine goes on trying as the error allows. What is
// `invalid` or `unsupported` is tried again only when something else is wanted.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void report(const Outcome& outcome) = 0;
};

// All wishes for one load balancer as the caller knows them now: for the audit, which compares them
// with what is there. `applied` says that the caller believes it done, so a difference is drift.
struct StandingWish {
  WishKey key{};
  Wish wish{};
  bool applied = false;
};
struct Standing {
  std::vector<StandingWish> wishes{};
  // The caller vouches for two things: these are all the wishes that there are, and what has our
  // prefix can be nobody else's. Only then are listeners removed that no wish names; without it
  // they stay until their port is needed.
  bool complete = false;
};
using Catalog = std::function<Standing(const model::LoadBalancerRef& lb)>;

struct EngineOptions {
  // Load balancers that are served at one time, at most. What else a provider bounds, its budget
  // knows; there are as many workers as were ever needed at once.
  std::size_t max_workers = 128;
  Duration audit_period = std::chrono::minutes{10};
  // What one call to a provider may take; a task that it started there may end later.
  Duration call_limit = std::chrono::minutes{1};
  // After the first touch of a load balancer, and after a call whose end is not known, a call may
  // still land that somebody else sent, or that we gave up. For so long, what was changed is read
  // back before it is called done, and at the end everything is compared once more.
  Duration settle = std::chrono::minutes{1};
  // After a takeover, a load balancer with no more wishes than this is listed when it is first
  // touched; at a larger one, what is in doubt is asked for.
  std::size_t small = 50;
  // So many listeners are asked for one by one, at most: a list is quicker for more.
  std::size_t few = 50;
  // A listener of ours that no wish names is removed when two lists, at least so far apart, and all
  // that was wished until then say the same.
  Duration leftover_grace = std::chrono::minutes{1};
  // A load balancer does not exist when its provider says so twice, at least so far apart.
  Duration gone_grace = std::chrono::seconds{15};
  // A listener whose name begins so is ours. Empty: only ids and names of wishes tell.
  std::string name_prefix{};
  // Hears that `last_look` has another answer for this load balancer, on the engine's tasks; must
  // not wait.
  std::function<void(const model::LoadBalancerRef& lb)> on_look = [](const auto&) {};
  metrics::Registry* registry = nullptr;
};

class Engine {
 public:
  Engine(Tasks& tasks, lb::Drivers drivers, Catalog catalog, Sink& sink,
         std::function<bool()> may_act, Random random, EngineOptions options);
  ~Engine();

  // The newest wish of a key counts; one that is under way is finished first. The same wish again
  // changes nothing but that a failure is reported again.
  void want(WishKey key, Wish wish);
  // The key is nobody's any more; what is there stays as it is.
  void forget(const WishKey& key);
  // A wish of this key is on its way to the place. Others of that place may wait for it, for a
  // little of what a call takes (gather.h); nothing is promised by it.
  void expect(const WishKey& key, const lb::Place& place, Notice notice);
  // Compares all that is wished of this load balancer with what is there, soon.
  void audit(const model::LoadBalancerRef& lb);
  // From now on this load balancer is audited within each period, whether anything is wanted of it
  // or not; at once where nothing outlives the process that made it.
  void attend(const model::LoadBalancerRef& lb);

  // Whether what is there can be seen, by lists and questions; an error when that fails for a while
  // or for good, with anybody's credentials. What was known stays meanwhile, and nothing is changed
  // there. Nothing: nobody has looked since we are in charge.
  std::optional<Result<>> last_look(const model::LoadBalancerRef& lb) const;

  // Works until the stop. Calls under way are finished or given up by the context's deadline.
  void run(const Context& context);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::engine
