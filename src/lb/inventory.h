// Inventory: what is known of the listeners of one load balancer, from the provider's list and from
// our own confirmed changes since. Found by id, by name and by port.
//
// Cost: of a look, the logarithm of the listeners and what is found; of a change, that and the
// rules and targets of its listener; of a list, all of it.
//
// Owned by whoever serves the load balancer; not thread-safe. Listeners share no port of one
// transport: no provider lets them. What is half made takes no port and is not found by one.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lb/driver.h"
#include "model/listener.h"

namespace berth::lb {

struct KnownListener {
  model::ListenerId id{};
  model::ListenerSpec spec{};
  // The attributes are those that we asked for, not those that the provider reported, where
  // defaults are filled in.
  bool asked = false;
  // Rules whose attributes the provider reported. Those of others we asked for, or they are none.
  std::vector<model::RuleKey> reported_rules{};
  bool half_made = false;  // of a rule, if it has one with a key

  bool is_asked(const model::RuleKey& rule) const;
};

// One that was just made as it was asked for.
KnownListener newly_made(model::ListenerId id, const model::ListenerSpec& wanted);

// Whether a listener or rule that reports these attributes has what is wished. What the wish leaves
// to the provider's default agrees with every value.
bool agrees(const model::ListenerAttributes& wished, const model::ListenerAttributes& reported);
bool agrees(const model::RuleAttributes& wished, const model::RuleAttributes& reported);

class Inventory {
 public:
  Inventory() = default;
  // Its indexes point into it: moving keeps them, copying would not.
  Inventory(Inventory&&) = default;
  Inventory& operator=(Inventory&&) = default;

  // What the provider lists now. Attributes that we asked for are remembered while the report
  // agrees with them.
  void replace(std::vector<ObservedListener> reported);
  // What the provider answers to these questions. What else answers them is not there any more.
  void update(std::span<const Question> questions, std::vector<ObservedListener> reported);

  // A confirmed change of ours. Rules and targets may come in any order. What was half made of a
  // listener or a rule is gone with its creation.
  void put(KnownListener listener);
  void erase(const model::ListenerId& id);
  void change(const ListenerChange& change);
  void put(const NewRule& rule);
  void erase(const RuleRef& rule);
  void change(const RuleChange& change);
  void change(const TargetChange& change);

  // Null when not there. What is returned lives until the next change.
  const KnownListener* by_id(const model::ListenerId& id) const;
  std::vector<const KnownListener*> by_name(std::string_view name) const;
  // Those of that name that are half made.
  std::vector<const KnownListener*> half_made(std::string_view name) const;
  // Those that take a port of the range for this transport, lowest first.
  std::vector<const KnownListener*> overlapping(model::Transport transport,
                                                model::PortRange ports) const;

  bool has_half_made() const { return half_made_ != 0; }
  // With what is half made.
  std::size_t size() const { return by_id_.size(); }
  bool empty() const { return by_id_.empty(); }
  const std::map<model::ListenerId, KnownListener>& all() const { return by_id_; }

 private:
  using Slot = std::pair<model::Transport, model::Port>;
  void erase_others_at(const ObservedListener& listener);
  KnownListener* find(const model::ListenerId& id);
  model::Rule* find(const RuleRef& rule);
  void insert(KnownListener listener);
  // Of the rule with this key; of the listener itself, if it is empty.
  void erase_half_made(std::string_view name, const model::RuleKey& key);
  void index(const KnownListener& listener);
  void unindex(const KnownListener& listener);

  std::map<model::ListenerId, KnownListener> by_id_;
  std::multimap<Slot, const KnownListener*> by_slot_;
  // The views point into the listeners, which do not move.
  std::unordered_multimap<std::string_view, const KnownListener*> by_name_;
  std::size_t half_made_ = 0;  // so many; mostly none
};

}  // namespace berth::lb
