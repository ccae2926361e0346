#include "ledger/slot_table.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace berth::ledger {
namespace {

constexpr std::uint32_t kWordBits = 64;

std::size_t words_for(std::uint32_t bits) { return (bits + kWordBits - 1) / kWordBits; }
bool test_bit(const std::vector<std::uint64_t>& words, std::uint32_t bit) {
  return (words[bit / kWordBits] >> (bit % kWordBits)) & 1;
}
void put_bit(std::vector<std::uint64_t>& words, std::uint32_t bit, bool on) {
  const std::uint64_t mask = std::uint64_t{1} << (bit % kWordBits);
  words[bit / kWordBits] = on ? words[bit / kWordBits] | mask : words[bit / kWordBits] & ~mask;
}
// One more, one less or as many as before.
void count_change(std::uint32_t& count, bool before, bool after) {
  count = count + (after ? 1u : 0u) - (before ? 1u : 0u);
}
std::uint16_t with_bit(std::uint16_t mask, std::uint32_t bit, bool on) {
  const auto flag = static_cast<std::uint16_t>(1u << bit);
  return static_cast<std::uint16_t>(on ? mask | flag : mask & ~flag);
}
std::uint16_t all_of(std::uint32_t load_balancers) {
  return static_cast<std::uint16_t>((1u << load_balancers) - 1);
}
// No two protocols of an item share a transport: a port of a load balancer has one of each.
std::size_t lane_number(model::Protocol protocol) {
  return static_cast<std::size_t>(model::transports_of(protocol).front());
}

}  // namespace

bool ItemShape::has(model::Protocol protocol) const {
  return std::ranges::find(protocols, protocol) != protocols.end();
}

SlotTable::SlotTable(std::vector<ItemShape> items, Policy policy)
    : items_(std::move(items)), policy_(policy), lanes_(items_.size()) {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    for (const model::Protocol protocol : items_[i].protocols) {
      Lane& lane = lanes_[i][lane_number(protocol)];
      lane.empty.resize(items_[i].slots);
      lane.made.resize(items_[i].slots);
      lane.taken.resize(words_for(items_[i].slots));
      lane.free.resize(words_for(items_[i].slots));
      lane.usage.slots = items_[i].slots;
    }
  }
}

std::optional<SlotPlace> SlotTable::find(std::string_view item, model::Protocol protocol,
                                         model::Port port) const {
  const auto it = std::ranges::find(items_, item, &ItemShape::name);
  if (it == items_.end() || !it->has(protocol) || port < it->first_port) return std::nullopt;
  const std::uint32_t slot = (port - it->first_port) / it->segment;
  if (slot >= it->slots || it->ports_of(slot).first != port) return std::nullopt;
  return SlotPlace{static_cast<std::uint32_t>(it - items_.begin()), protocol, slot};
}

SlotTable::Lane* SlotTable::lane_of(const SlotPlace& place) {
  if (place.item >= lanes_.size() || place.slot >= items_[place.item].slots) return nullptr;
  if (!items_[place.item].has(place.protocol)) return nullptr;
  return &lanes_[place.item][lane_number(place.protocol)];
}

const SlotTable::Lane& SlotTable::lane(std::uint32_t item, model::Protocol protocol) const {
  return lanes_[item][lane_number(protocol)];
}

void SlotTable::set_listener(const SlotPlace& place, std::uint32_t load_balancer,
                             ListenerFacts facts) {
  Lane* const lane = lane_of(place);
  if (!lane || load_balancer >= items_[place.item].load_balancers) return;
  const std::uint16_t all = all_of(items_[place.item].load_balancers);
  std::uint16_t& made = lane->made[place.slot];
  const bool was_ready = made == all;
  made = with_bit(made, load_balancer, facts.made);
  count_change(lane->usage.ready, was_ready, made == all);
  std::uint16_t& empty = lane->empty[place.slot];
  empty = with_bit(empty, load_balancer, facts.empty);
  refresh_free(*lane, place);
}

void SlotTable::set_taken(const SlotPlace& place, bool taken) {
  Lane* const lane = lane_of(place);
  if (!lane) return;
  count_change(lane->usage.taken, test_bit(lane->taken, place.slot), taken);
  put_bit(lane->taken, place.slot, taken);
  refresh_free(*lane, place);
}

void SlotTable::refresh_free(Lane& lane, const SlotPlace& place) {
  const bool complete = lane.empty[place.slot] == all_of(items_[place.item].load_balancers);
  const bool free = complete && !test_bit(lane.taken, place.slot);
  count_change(lane.usage.free, test_bit(lane.free, place.slot), free);
  put_bit(lane.free, place.slot, free);
}

std::vector<std::uint32_t> SlotTable::order_for(std::span<const model::Protocol> protocols) const {
  std::vector<std::uint32_t> order(items_.size());
  std::iota(order.begin(), order.end(), 0u);
  if (policy_ == Policy::in_order) return order;
  const auto left_in = [&](std::uint32_t item) {
    std::uint32_t left = items_[item].slots;
    for (const model::Protocol protocol : protocols)
      left = std::min(left, lane(item, protocol).usage.free);
    return left;
  };
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(left_in(b), a) < std::pair(left_in(a), b);
  });
  return order;
}

std::optional<SlotPlace> SlotTable::choose(std::string_view item,
                                           std::span<const model::Protocol> protocols,
                                           std::uint32_t start) const {
  if (protocols.empty()) return std::nullopt;
  for (const std::uint32_t i : order_for(protocols)) {
    if (!item.empty() && items_[i].name != item) continue;
    const auto slot = choose_in(i, protocols, start);
    if (slot) return SlotPlace{i, protocols.front(), *slot};
  }
  return std::nullopt;
}

std::optional<std::uint32_t> SlotTable::choose_in(std::uint32_t item,
                                                  std::span<const model::Protocol> protocols,
                                                  std::uint32_t start) const {
  const ItemShape& shape = items_[item];
  if (shape.slots == 0) return std::nullopt;
  for (const model::Protocol protocol : protocols)
    if (!shape.has(protocol) || lane(item, protocol).usage.free == 0) return std::nullopt;
  const auto free_word = [&](std::size_t word) {
    std::uint64_t bits = ~std::uint64_t{0};
    for (const model::Protocol protocol : protocols) bits &= lane(item, protocol).free[word];
    return bits;
  };
  start %= shape.slots;
  const std::size_t words = words_for(shape.slots);
  // Round once; the first word is looked at twice, above and below `start`.
  for (std::size_t i = 0; i <= words; ++i) {
    const std::size_t word = (start / kWordBits + i) % words;
    std::uint64_t bits = free_word(word);
    const std::uint64_t above = ~std::uint64_t{0} << (start % kWordBits);
    if (i == 0) bits &= above;
    if (i == words) bits &= ~above;
    if (bits != 0)
      return static_cast<std::uint32_t>(word * kWordBits) +
             static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  return std::nullopt;
}

SlotUsage SlotTable::usage(std::uint32_t item, model::Protocol protocol) const {
  return lane(item, protocol).usage;
}

}  // namespace berth::ledger
