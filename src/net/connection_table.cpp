#include "net/connection_table.h"

#include <algorithm>
#include <utility>

#include "net/server_connection.h"

namespace berth::net {

struct ConnectionTable::Calls {
  std::vector<Ptr> judged;
  std::vector<Ptr> resumed;
  bool place = false;
};

ConnectionTable::ConnectionTable(Bounds bounds, std::function<void()> on_place)
    : max_connections_(std::max<std::size_t>(bounds.connections, 1)),
      share_(bounds.bytes / 2 / max_connections_),
      max_common_(bounds.bytes - share_ * max_connections_),
      on_place_(std::move(on_place)) {}

void ConnectionTable::make(const Calls& calls) const {
  for (const auto& connection : calls.judged) connection->obey();
  for (const auto& connection : calls.resumed) connection->resume();
  if (calls.place && on_place_) on_place_();
}

ConnectionTable::Place ConnectionTable::add(const Ptr& connection) {
  Calls calls;
  {
    const std::lock_guard lock(mu_);
    if (closed_) return Place::none;
    if (entries_.size() < max_connections_) {
      ++counts_.accepted;
      entries_.emplace(connection.get(), Entry{.connection = connection, .since = ++turn_});
      counts_.most_open = std::max(counts_.most_open, entries_.size());
      return Place::taken;
    }
    Entry* goes = oldest(Stage::idle, Stage::arriving);
    if (goes == nullptr) goes = oldest(Stage::replying, Stage::replying);
    if (goes == nullptr) {
      ++counts_.refused;
      return Place::none;
    }
    place_awaited_ = true;
    judge(*goes, Verdict::leave, calls);
  }
  make(calls);
  return Place::soon;
}

ConnectionTable::Entry* ConnectionTable::oldest(Stage a, Stage b) {
  Entry* found = nullptr;
  for (auto& [_, entry] : entries_) {
    if (entry.stage != a && entry.stage != b) continue;
    if (found == nullptr || entry.since < found->since) found = &entry;
  }
  return found;
}

void ConnectionTable::judge(Entry& entry, Verdict verdict, Calls& calls) {
  entry.verdict = verdict;
  calls.judged.push_back(entry.connection);
}

void ConnectionTable::tell_place(Calls& calls) {
  if (std::exchange(place_awaited_, false)) calls.place = true;
}

void ConnectionTable::remove(ServerConnection* connection) {
  Calls calls;
  {
    const std::lock_guard lock(mu_);
    const auto found = entries_.find(connection);
    if (found == entries_.end()) return;
    if (found->second.verdict == Verdict::leave) ++counts_.evicted;
    set_bytes(found->second, 0, calls);
    entries_.erase(found);
    tell_place(calls);
    emptied_.notify_all();
  }
  make(calls);
}

// Who has a whole request stays, whatever was said before; somebody else has to go then.
void ConnectionTable::enter(ServerConnection* connection, Stage stage) {
  Calls calls;
  {
    const std::lock_guard lock(mu_);
    const auto found = entries_.find(connection);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    entry.stage = stage;
    entry.since = ++turn_;
    if (stage == Stage::answering && entry.verdict != Verdict::stay) {
      if (std::exchange(entry.verdict, Verdict::stay) == Verdict::leave) tell_place(calls);
      resume_waiting(calls);
    }
  }
  make(calls);
}

std::size_t ConnectionTable::beyond_share(std::size_t bytes) const {
  return bytes > share_ ? bytes - share_ : 0;
}

void ConnectionTable::set_bytes(Entry& entry, std::size_t bytes, Calls& calls) {
  const std::size_t before = beyond_share(entry.bytes);
  common_ = common_ - before + beyond_share(bytes);
  counts_.bytes_in_flight = counts_.bytes_in_flight - entry.bytes + bytes;
  counts_.most_bytes_in_flight = std::max(counts_.most_bytes_in_flight, counts_.bytes_in_flight);
  entry.bytes = bytes;
  entry.wanted = 0;
  if (beyond_share(bytes) < before) resume_waiting(calls);
}

ConnectionTable::Grant ConnectionTable::hold(ServerConnection* connection, std::size_t bytes) {
  Calls calls;
  auto grant = Grant::later;
  {
    const std::lock_guard lock(mu_);
    const auto found = entries_.find(connection);
    if (found == entries_.end()) return Grant::never;
    Entry& entry = found->second;
    const std::size_t before = beyond_share(entry.bytes);
    const std::size_t after = beyond_share(bytes);
    if (after > max_common_) return Grant::never;
    if (after <= before || common_ - before + after <= max_common_) {
      grant = Grant::given;
      if (bytes == 0 && entry.verdict == Verdict::yield) entry.verdict = Verdict::stay;
      set_bytes(entry, bytes, calls);
    } else {
      entry.wanted = bytes;
      Entry* const gives = who_gives_way(entry, after - before);
      if (gives != nullptr) judge(*gives, Verdict::yield, calls);
    }
  }
  make(calls);
  return grant;
}

// The unfinished request that began first. Not one that waits, as long as somebody is being
// answered and will give bytes back. Null when it needs nobody, or when all that is left is to
// wait.
ConnectionTable::Entry* ConnectionTable::who_gives_way(const Entry& asking, std::size_t more) {
  if (asking.verdict != Verdict::stay) return nullptr;
  std::size_t going = 0;
  bool answering = false;
  Entry* moving = nullptr;
  Entry* waiting = nullptr;
  for (auto& [_, entry] : entries_) {
    const std::size_t held = beyond_share(entry.bytes);
    if (held == 0 || &entry == &asking) continue;
    if (entry.verdict != Verdict::stay) {
      going += held;
    } else if (entry.stage != Stage::arriving) {
      answering = true;
    } else {
      Entry*& first = waits(entry) ? waiting : moving;
      if (first == nullptr || entry.since < first->since) first = &entry;
    }
  }
  if (common_ - going + more <= max_common_) return nullptr;
  if (moving != nullptr) return moving;
  return answering ? nullptr : waiting;
}

// Oldest first, and those for whom there is room now: each asks again. The first one does in any
// case, since it may be time for somebody else to give way.
void ConnectionTable::resume_waiting(Calls& calls) {
  std::vector<Entry*> waiting;
  for (auto& [_, entry] : entries_) {
    if (waits(entry)) waiting.push_back(&entry);
  }
  std::ranges::sort(waiting, {}, &Entry::since);
  std::size_t room = max_common_ - common_;
  for (Entry* const entry : waiting) {
    const std::size_t more = beyond_share(entry->wanted) - beyond_share(entry->bytes);
    if (more > room && entry != waiting.front()) return;
    room -= std::min(more, room);
    entry->wanted = 0;
    calls.resumed.push_back(entry->connection);
  }
}

ConnectionTable::Verdict ConnectionTable::verdict(const ServerConnection* connection) const {
  const std::lock_guard lock(mu_);
  const auto found = entries_.find(connection);
  return found == entries_.end() ? Verdict::stay : found->second.verdict;
}

void ConnectionTable::count_shed() {
  const std::lock_guard lock(mu_);
  ++counts_.shed;
}

std::vector<ConnectionTable::Ptr> ConnectionTable::close() {
  const std::lock_guard lock(mu_);
  closed_ = true;
  std::vector<Ptr> open;
  for (const auto& [_, entry] : entries_) open.push_back(entry.connection);
  return open;
}

bool ConnectionTable::wait_until_empty(std::optional<Duration> at_most) {
  std::unique_lock lock(mu_);
  const auto empty = [this] { return entries_.empty(); };
  if (at_most) return emptied_.wait_for(lock, *at_most, empty);
  emptied_.wait(lock, empty);
  return true;
}

ServerStatistics ConnectionTable::statistics() const {
  const std::lock_guard lock(mu_);
  ServerStatistics now = counts_;
  now.open = entries_.size();
  now.waiting = static_cast<std::size_t>(
      std::ranges::count_if(entries_, [this](const auto& pair) { return waits(pair.second); }));
  return now;
}

}  // namespace berth::net
