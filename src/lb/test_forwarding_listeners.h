// Listeners in front of others: hands every call on. Who wants to change some calls overrides
// those. Thread-safe as what is behind it, which outlives it.
#pragma once

#include "lb/listeners.h"

namespace berth::lb {

class ForwardingListeners : public Listeners {
 public:
  explicit ForwardingListeners(Listeners& inner) : inner_(inner) {}

  const model::Abilities& abilities() const override { return inner_.abilities(); }
  bool can_change(const model::ListenerAttributes& there,
                  const model::ListenerAttributes& wished) const override {
    return inner_.can_change(there, wished);
  }
  bool can_change(const model::RuleAttributes& there,
                  const model::RuleAttributes& wished) const override {
    return inner_.can_change(there, wished);
  }
  Instant free_at(const Place& place, Action action, std::size_t calls,
                  Instant now) const override {
    return inner_.free_at(place, action, calls, now);
  }
  Result<std::vector<ObservedListener>> list(const Context& context, const Place& place) override {
    return inner_.list(context, place);
  }
  Result<std::vector<ObservedListener>> look_up(const Context& context, const Place& place,
                                                std::span<const Question> questions) override {
    return inner_.look_up(context, place, questions);
  }
  std::vector<Result<model::ListenerId>> create(
      const Context& context, const Place& place,
      std::span<const model::ListenerSpec> wanted) override {
    return inner_.create(context, place, wanted);
  }
  std::vector<Result<>> remove(const Context& context, const Place& place,
                               std::span<const model::ListenerId> ids) override {
    return inner_.remove(context, place, ids);
  }
  std::vector<Result<>> change(const Context& context, const Place& place,
                               std::span<const ListenerChange> changes) override {
    return inner_.change(context, place, changes);
  }
  std::vector<Result<>> create_rules(const Context& context, const Place& place,
                                     std::span<const NewRule> wanted) override {
    return inner_.create_rules(context, place, wanted);
  }
  std::vector<Result<>> remove_rules(const Context& context, const Place& place,
                                     std::span<const RuleRef> rules) override {
    return inner_.remove_rules(context, place, rules);
  }
  std::vector<Result<>> change_rules(const Context& context, const Place& place,
                                     std::span<const RuleChange> changes) override {
    return inner_.change_rules(context, place, changes);
  }
  std::vector<Result<>> change_targets(const Context& context, const Place& place,
                                       std::span<const TargetChange> changes) override {
    return inner_.change_targets(context, place, changes);
  }

 protected:
  Listeners& inner_;
};

}  // namespace berth::lb
