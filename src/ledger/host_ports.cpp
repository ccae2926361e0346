#include "ledger/host_ports.h"

#include <algorithm>
#include <utility>

namespace berth::ledger {

using model::Port;

HostPortUse::HostPortUse(model::PortRange range)
    : range_(range), use_(range.size(), 0), place_(range.size(), 0) {
  std::vector<Port>& unused = levels_[0];
  unused.reserve(range.size());
  for (std::uint32_t i = 0; i < range.size(); ++i) {
    place_[i] = i;
    unused.push_back(static_cast<Port>(range.first + i));
  }
}

HostPortUse::Key HostPortUse::key_of(const std::string& ns, std::vector<Port> ports) const {
  std::erase_if(ports, [&](Port port) { return !range_.contains(port); });
  std::ranges::sort(ports);
  const auto twice = std::ranges::unique(ports);
  ports.erase(twice.begin(), twice.end());
  return {ns, std::move(ports)};
}

void HostPortUse::add_pod(const std::string& ns, std::vector<Port> ports) {
  const Key key = key_of(ns, std::move(ports));
  if (const auto own = reserved_.find(key); own != reserved_.end()) {
    reserved_.erase(own);  // its count becomes the Pod's
    return;
  }
  for (const Port port : key.ports) count(port, 1);
}

void HostPortUse::remove_pod(const std::vector<Port>& ports) {
  for (const Port port : ports) {
    if (range_.contains(port)) count(port, -1);
  }
}

Result<std::vector<Port>> HostPortUse::choose(std::size_t wanted, Random& random,
                                              std::vector<Port> except) {
  except = key_of({}, std::move(except)).ports;
  if (wanted + except.size() > range_.size()) {
    return fail(Code::exhausted, "asks for {} host ports, the range {}-{} has {}{}", wanted,
                range_.first, range_.last, range_.size(),
                except.empty() ? "" : fmt::format(" and the Pod has {} of them", except.size()));
  }
  std::vector<Port> chosen;
  chosen.reserve(wanted);
  for (auto& [use, level] : levels_) {
    // The order inside a level means nothing, so it is shuffled in place as far as needed.
    for (std::size_t i = 0; i < level.size() && chosen.size() < wanted; ++i) {
      swap_places(level, i, i + random.below(level.size() - i));
      if (!std::ranges::binary_search(except, level[i])) chosen.push_back(level[i]);
    }
  }
  return chosen;
}

void HostPortUse::reserve(const std::string& ns, std::vector<Port> ports, Instant now) {
  Key key = key_of(ns, std::move(ports));
  for (const Port port : key.ports) count(port, 1);
  const Instant until = saturating_add(now, kHostPortReservation);
  reserved_.emplace(key, until);
  by_age_.emplace_back(until, std::move(key));
}

bool HostPortUse::is_reserved(const std::string& ns, std::vector<Port> ports, Instant now) {
  expire(now);
  return reserved_.contains(key_of(ns, std::move(ports)));
}

void HostPortUse::expire(Instant now) {
  for (; !by_age_.empty() && by_age_.front().first <= now; by_age_.pop_front()) {
    const auto& [until, key] = by_age_.front();
    const auto [first, last] = reserved_.equal_range(key);
    const auto own = std::find_if(first, last, [&](const auto& r) { return r.second == until; });
    if (own == last) continue;
    for (const Port port : key.ports) count(port, -1);
    reserved_.erase(own);
  }
}

std::uint32_t HostPortUse::use_of(Port port) const {
  return range_.contains(port) ? use_[index_of(port)] : 0;
}

void HostPortUse::count(Port port, int step) {
  const std::uint32_t before = use_[index_of(port)];
  if (step < 0 && before == 0) return;  // never told of it
  const auto level = levels_.find(before);
  swap_places(level->second, place_[index_of(port)], level->second.size() - 1);
  level->second.pop_back();
  if (level->second.empty()) levels_.erase(level);
  put(port, step > 0 ? before + 1 : before - 1);
}

void HostPortUse::put(Port port, std::uint32_t use) {
  std::vector<Port>& level = levels_[use];
  use_[index_of(port)] = use;
  place_[index_of(port)] = static_cast<std::uint32_t>(level.size());
  level.push_back(port);
}

void HostPortUse::swap_places(std::vector<Port>& level, std::size_t a, std::size_t b) {
  std::swap(level[a], level[b]);
  place_[index_of(level[a])] = static_cast<std::uint32_t>(a);
  place_[index_of(level[b])] = static_cast<std::uint32_t>(b);
}

}  // namespace berth::ledger
