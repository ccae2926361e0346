// Listeners: what a provider does with the listeners of a load balancer, in its own batches. The
// first of a driver's four seams (driver.h).
//
// Calls block and obey the context. Every call is idempotent or can be found again: a create whose
// reply was lost shows in `list` under the name that it was given. Errors say by their code what
// the engine may do: `throttled` and `unavailable` later, `timeout` after looking (the effect is
// unknown), `already_exists` when the port is taken, `exhausted` when a quota is reached,
// `forbidden` when credentials do not suffice, `not_found` when the load balancer, listener or rule
// is gone, `unsupported` and `invalid` only after a change of the wish. Thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "lb/action.h"
#include "lb/place.h"
#include "model/listener.h"
#include "model/provider.h"

namespace berth::lb {

// A listener as the provider has it, or what there is of one.
//
// Where a listener is several things at the provider, a process may die between two of them, on the
// way up or on the way down. What is left then is half made: nothing of it listens or has targets.
// It has the name that it was made for, and protocol and ports where they are known; one of a rule
// has that rule's key, any other has none. `create` under its name, or `create_rules` under its
// name and key, makes it whole or replaces it, and leaves nothing half made. `remove` with its id
// takes away what there is; if it has become whole under another id meanwhile, that takes nothing.
// An entry of a call that fails and leaves such a thing behind says `conflict`, or `timeout`:
// somebody must look.
struct ObservedListener {
  model::ListenerId id{};
  model::ListenerSpec spec{};
  bool half_made = false;
};

// What to look for. One of these is enough: a listener that fits any of them is an answer.
struct Question {
  model::ListenerId id{};
  std::string name{};
  // Whoever listens on one of them, whatever it speaks. None when it begins with 0.
  model::PortRange ports{};

  friend bool operator==(const Question&, const Question&) = default;
};

struct ListenerChange {
  model::ListenerId listener{};
  model::ListenerAttributes attributes{};
};

// Of a listener that is not of layer 7, the key is empty.
struct RuleRef {
  model::ListenerId listener{};
  model::RuleKey key{};

  friend auto operator<=>(const RuleRef&, const RuleRef&) = default;
};

struct NewRule {
  RuleRef rule{};
  model::RuleAttributes attributes{};
};

struct RuleChange {
  RuleRef rule{};
  model::RuleAttributes attributes{};
};

struct TargetChange {
  RuleRef rule{};
  std::vector<model::WeightedTarget> add{};  // those that are there already get this weight
  std::vector<model::Target> remove{};
};

class Listeners {
 public:
  virtual ~Listeners() = default;

  virtual const model::Abilities& abilities() const = 0;
  // It counts its requests to the provider itself, by the provider's names. Otherwise whoever calls
  // counts calls.
  virtual bool counts_requests() const { return false; }
  // Whether a change can make of what is there what is wished, targets aside; otherwise it is made
  // anew. Protocol and ports are the same, and of a rule the key. No calls.
  virtual bool can_change(const model::ListenerAttributes&,
                          const model::ListenerAttributes&) const {
    return true;
  }
  virtual bool can_change(const model::RuleAttributes&, const model::RuleAttributes&) const {
    return true;
  }

  // When so many calls of this kind have room, as far as is known without waiting; not later than
  // `now` if they have it already. Whoever plans batches asks first, so that wishes collect
  // meanwhile: a call that comes too early waits inside.
  virtual Instant free_at(const Place&, Action, std::size_t /*calls*/, Instant now) const {
    return now;
  }

  // All listeners of the load balancer with their rules, those of others too. Attributes that were
  // left to the provider's default may show as the values that it chose.
  virtual Result<std::vector<ObservedListener>> list(const Context& context,
                                                     const Place& place) = 0;

  // Those among them that are an answer to one of the questions; others may be there too. For
  // whoever is in doubt about a few of many.
  virtual Result<std::vector<ObservedListener>> look_up(const Context& context, const Place& place,
                                                        std::span<const Question> questions) = 0;

  // One outcome per entry, in order: a batch may succeed in part. At most a batch at a time.
  //
  // A created listener has its attributes. One of layer 7 has no rules yet; any other has its rule,
  // with its attributes and without targets.
  virtual std::vector<Result<model::ListenerId>> create(
      const Context& context, const Place& place, std::span<const model::ListenerSpec> wanted) = 0;
  // With all its rules. One that is gone already is a success.
  virtual std::vector<Result<>> remove(const Context& context, const Place& place,
                                       std::span<const model::ListenerId> ids) = 0;
  virtual std::vector<Result<>> change(const Context& context, const Place& place,
                                       std::span<const ListenerChange> changes) = 0;

  // Of layer 7 alone. One that is there already gets these attributes.
  virtual std::vector<Result<>> create_rules(const Context& context, const Place& place,
                                             std::span<const NewRule> wanted) = 0;
  // One that is gone already is a success.
  virtual std::vector<Result<>> remove_rules(const Context& context, const Place& place,
                                             std::span<const RuleRef> rules) = 0;
  virtual std::vector<Result<>> change_rules(const Context& context, const Place& place,
                                             std::span<const RuleChange> changes) = 0;
  // Returns when traffic goes where it should. Adding before removing is the driver's business
  // where the provider lets it.
  virtual std::vector<Result<>> change_targets(const Context& context, const Place& place,
                                               std::span<const TargetChange> changes) = 0;
};

}  // namespace berth::lb
