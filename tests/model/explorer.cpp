#include "explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace berth::house {
namespace {

using Number = std::uint32_t;
constexpr Number kNobody = std::numeric_limits<Number>::max();

// A state as bits, the same for the same state.
class Packer {
 public:
  explicit Packer(std::vector<std::uint64_t>& words) : words_(words) { words_.assign(1, 0); }

  template <class T>
  void operator()(T& value, unsigned bits) {
    if (at_ + bits > 64) {
      words_.push_back(0);
      at_ = 0;
    }
    words_.back() |= static_cast<std::uint64_t>(value) << at_;
    at_ += bits;
  }

 private:
  std::vector<std::uint64_t>& words_;
  unsigned at_ = 0;
};

class Unpacker {
 public:
  explicit Unpacker(const std::uint64_t* words) : words_(words) {}

  template <class T>
  void operator()(T& value, unsigned bits) {
    if (at_ + bits > 64) {
      ++words_;
      at_ = 0;
    }
    value = static_cast<T>((*words_ >> at_) & ((std::uint64_t{1} << bits) - 1));
    at_ += bits;
  }

 private:
  const std::uint64_t* words_;
  unsigned at_ = 0;
};

template <class Archive>
void fields(Archive& on, Listener& one, bool is_copy) {
  on(one.there, 1);
  on(one.forged, 1);
  on(one.deleting, 1);
  on(one.made, 1);
  on(one.applied, 1);
  on(one.claim, 4);
  on(one.leads, 2);
  if (!is_copy) return;
  on(one.current, 1);
  on(one.same_uid, 1);
  on(one.done, 1);
}

template <class Archive>
void fields(Archive& on, Write& write) {
  on(write.kind, 4);
  on(write.target, 4);
  on(write.current, 1);
  on(write.same_uid, 1);
  on(write.by_version, 1);
  on(write.by_value, 1);
  on(write.claim_was, 4);
  on(write.leads_was, 2);
  on(write.grants, 12);
  on(write.claim, 4);
  on(write.leads, 2);
}

template <class Archive>
void fields(Archive& on, Leader& leader, const Size& size, const std::vector<std::size_t>& places) {
  for (std::size_t pool = 0; pool < size.pools.size(); ++pool) {
    on(leader.wanted[pool], 2);
    Round& round = leader.rounds[pool];
    on(round.item, 2);
    on(round.granted, 2);
    on(round.before, 12);
    on(round.surveys, 1);
    on(round.missing, 6);
    on(round.orphan, 4);
    on(round.orphan_current, 1);
  }
  for (std::size_t lb = 0; lb < size.balancers; ++lb) {
    on(leader.lbs[lb].there, 1);
    on(leader.lbs[lb].grants, 12);
    on(leader.lbs[lb].current, 1);
  }
  for (const std::size_t at : places) fields(on, leader.listeners[at], true);
}

template <class Archive>
void fields(Archive& on, State& s, const Size& size, const std::vector<std::size_t>& places) {
  for (std::size_t pool = 0; pool < size.pools.size(); ++pool) on(s.wanted[pool], 2);
  for (std::size_t lb = 0; lb < size.balancers; ++lb) {
    on(s.lbs[lb].there, 1);
    on(s.lbs[lb].grants, 12);
    for (std::size_t port = 0; port < size.ports; ++port) {
      on(s.doors[lb][port].owner, 2);
      on(s.doors[lb][port].leads, 2);
    }
  }
  for (const std::size_t at : places) fields(on, s.listeners[at], false);
  for (std::size_t pod = 0; pod < size.pods; ++pod) {
    on(s.pods[pod].state, 2);
    on(s.pods[pod].told, 4);
    on(s.pods[pod].ready, 1);
  }
  fields(on, s.leader, size, places);
  fields(on, s.late);
  on(s.hands, 2);
  on(s.touched, 6);
  on(s.hand_granted, 1);
}

// All states that were met, by number.
class Register {
 public:
  explicit Register(const Size& size) : size_(size) {
    for (std::size_t at = 0; at < kPlaces; ++at) {
      const Place place = Place::at(at);
      if (place.pool < size.pools.size() && place.lb < size.balancers && place.port < size.ports)
        places_.push_back(at);
    }
    State empty;
    pack(empty);
    stride_ = words_.size();
    slots_.assign(std::size_t{1} << 16, kNobody);
  }

  std::size_t size() const { return count_; }

  State at(Number number) const {
    State out;
    Unpacker from(&arena_[number * stride_]);
    fields(from, out, size_, places_);
    return out;
  }

  // Its number, and whether it is new.
  std::pair<Number, bool> add(State state) {
    if (count_ * 2 >= slots_.size()) grow();
    pack(state);
    Number& slot = slots_[slot_for(words_.data())];
    if (slot != kNobody) return {slot, false};
    slot = static_cast<Number>(count_++);
    arena_.insert(arena_.end(), words_.begin(), words_.end());
    return {slot, true};
  }

 private:
  void pack(State& state) {
    Packer to(words_);
    fields(to, state, size_, places_);
  }
  std::size_t slot_for(const std::uint64_t* words) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15ull;
    for (std::size_t i = 0; i < stride_; ++i) {
      hash = (hash ^ words[i]) * 0xff51afd7ed558ccdull;
      hash ^= hash >> 32;
    }
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != kNobody &&
           std::memcmp(&arena_[slots_[at] * stride_], words, stride_ * sizeof(*words)) != 0)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kNobody);
    for (std::size_t i = 0; i < count_; ++i)
      slots_[slot_for(&arena_[i * stride_])] = static_cast<Number>(i);
  }

  const Size& size_;
  std::vector<std::size_t> places_;
  std::vector<std::uint64_t> words_;
  std::size_t stride_ = 0;
  std::vector<std::uint64_t> arena_;
  std::vector<Number> slots_;
  std::size_t count_ = 0;
};

class Explorer {
 public:
  Explorer(House& house, std::size_t max_states)
      : house_(house), max_states_(max_states), seen_(house.size()) {}

  Exploration run() {
    visit(house_.beginning(), kNobody, 0);
    for (Number at = 0; at < seen_.size() && out_.fault.empty(); ++at) {
      if (seen_.size() > max_states_) return finish(false);
      expand(at);
    }
    if (out_.fault.empty()) look_for_circles();
    return finish(true);
  }

 private:
  Number visit(const State& state, Number from, std::size_t step) {
    const auto [number, is_new] = seen_.add(state);
    if (is_new) came_.push_back({from, static_cast<std::uint16_t>(step)});
    return number;
  }

  void expand(Number at) {
    const State state = seen_.at(at);
    Number rest = kNobody;  // where the product goes by itself
    std::size_t count = 0;
    house_.each_step(state, [&](const Step& step, const State& next) {
      const Number number = visit(next, at, count++);
      ++out_.steps;
      if (step.is_ours && rest == kNobody) rest = number;
      if (!out_.fault.empty()) return;
      std::string fault = house_.fault_between(state, step, next);
      if (fault.empty() && came_.size() - 1 == number) fault = house_.fault_in(next);
      if (fault.empty()) return;
      tell(std::move(fault), at);
      out_.way.push_back(house_.to_string(step));
      out_.last = house_.to_string(next);
    });
    rests_at_.push_back(rest);
    if (rest != kNobody || !out_.fault.empty()) return;
    if (std::string fault = house_.fault_at_rest(state); !fault.empty())
      tell("everything is at rest, and " + fault, at);
  }

  // Whoever follows the product's own steps must come to an end.
  void look_for_circles() {
    enum class Mark : std::uint8_t { none, under_way, ends };
    std::vector<Mark> marks(seen_.size(), Mark::none);
    std::vector<Number> way;
    for (Number start = 0; start < seen_.size(); ++start) {
      Number at = start;
      for (; at != kNobody && marks[at] == Mark::none; at = rests_at_[at]) {
        marks[at] = Mark::under_way;
        way.push_back(at);
      }
      if (at != kNobody && marks[at] == Mark::under_way)
        return tell("it goes round in circles", at);
      for (const Number one : way) marks[one] = Mark::ends;
      way.clear();
    }
  }

  void tell(std::string fault, Number at) {
    out_.fault = std::move(fault);
    out_.last = house_.to_string(seen_.at(at));
    out_.way.clear();
    for (Number one = at; came_[one].from != kNobody; one = came_[one].from)
      out_.way.push_back(step_to(one));
    std::ranges::reverse(out_.way);
  }

  std::string step_to(Number number) {
    std::string out;
    std::size_t count = 0;
    house_.each_step(seen_.at(came_[number].from), [&](const Step& step, const State&) {
      if (count++ == came_[number].step) out = house_.to_string(step);
    });
    return out;
  }

  Exploration finish(bool complete) {
    out_.states = seen_.size();
    out_.complete = complete;
    return std::move(out_);
  }

  struct Came {
    Number from;
    std::uint16_t step;  // which of its steps
  };
  House& house_;
  const std::size_t max_states_;
  Register seen_;
  std::vector<Came> came_;
  std::vector<Number> rests_at_;
  Exploration out_;
};

}  // namespace

std::string Exploration::to_string() const {
  std::string out = fmt::format("{} states, {} steps{}", states, steps,
                                complete ? "" : ", given up before the end");
  if (fault.empty()) return out;
  out += fmt::format("\n{}, after {} steps:\n", fault, way.size());
  for (std::size_t i = 0; i < way.size(); ++i) out += fmt::format("{:4}. {}\n", i + 1, way[i]);
  return out + "  " + last + "\n";
}

Exploration explore(House& house, std::size_t max_states) {
  return Explorer(house, max_states).run();
}

}  // namespace berth::house
