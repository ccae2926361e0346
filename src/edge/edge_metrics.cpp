#include "edge/edge_metrics.h"

#include <algorithm>

namespace berth::edge {
namespace {

constexpr const char* kActiveHelp = "TCP connections and UDP sessions that go on.";
constexpr const char* kConnectionsHelp = "TCP connections and UDP sessions that began.";
constexpr const char* kBytesHelp = "Bytes that were carried: in from clients, out to them.";

metrics::Labels with(metrics::Labels labels, const std::string& name, const std::string& value) {
  labels[name] = value;
  return labels;
}

ByReason most_of(const ByReason& a, const ByReason& b) {
  ByReason out{};
  std::ranges::transform(a, b, out.begin(), [](auto x, auto y) { return std::max(x, y); });
  return out;
}

// For a moment, when a listener goes and its last connection has not ended yet, sums are smaller.
Tally most_of(const Tally& a, const Tally& b) {
  return {.connections = std::max(a.connections, b.connections),
          .bytes_in = std::max(a.bytes_in, b.bytes_in),
          .bytes_out = std::max(a.bytes_out, b.bytes_out),
          .datagrams_in = std::max(a.datagrams_in, b.datagrams_in),
          .datagrams_out = std::max(a.datagrams_out, b.datagrams_out),
          .refused_by = most_of(a.refused_by, b.refused_by),
          .displaced_by = most_of(a.displaced_by, b.displaced_by),
          .dropped = std::max(a.dropped, b.dropped),
          .connect_failures = std::max(a.connect_failures, b.connect_failures)};
}

}  // namespace

EdgeMetrics::EdgeMetrics(metrics::Registry& registry, const EdgeDriver& driver)
    : registry_(registry),
      driver_(driver),
      hook_(registry.before_scrape([this] { before_scrape(); })) {}

void EdgeMetrics::before_scrape() {
  const FdUse files = driver_.files();
  registry_.gauge("berth_edge_open_files", "File descriptors of the edge load balancer in use.")
      .set(static_cast<double>(files.used));
  registry_.gauge("berth_edge_open_files_limit", "How many it may have open.")
      .set(static_cast<double>(files.budget));
  registry_
      .gauge("berth_edge_listening_files", "Of the file descriptors in use, listening sockets.")
      .set(static_cast<double>(files.listening));
  registry_
      .gauge("berth_edge_listening_files_reserved",
             "How many are kept for listening sockets and given to nobody else.")
      .set(static_cast<double>(files.for_listening));
  const Tallies sums = driver_.totals();
  const MutexLock lock(mu_);
  for (const auto& [key, now] : sums) show(key, now);
  for (const auto& [key, now] : driver_.site_totals()) show(key, now);
  if (const std::optional<haproxy::Counts> counts = driver_.haproxy()) show(*counts);
}

void EdgeMetrics::show(const SiteKey& key, const SiteTally& now) {
  const metrics::Labels labels{{"lb", to_string(key.lb)},
                               {"protocol", std::string(model::to_string(key.protocol))}};
  SiteTally& before = told_sites_[key];
  registry_.gauge("berth_edge_connections_active", kActiveHelp, labels)
      .set(static_cast<double>(now.active));
  count("berth_edge_connections_total", kConnectionsHelp, labels, before.connections,
        now.connections);
  count("berth_edge_requests_total", "Requests of HTTP and HTTPS.", labels, before.requests,
        now.requests);
  count("berth_edge_bytes_total", kBytesHelp, with(labels, "direction", "in"), before.bytes_in,
        now.bytes_in);
  count("berth_edge_bytes_total", kBytesHelp, with(labels, "direction", "out"), before.bytes_out,
        now.bytes_out);
  before = now;
}

void EdgeMetrics::show(const haproxy::Counts& now) {
  registry_.gauge("berth_edge_haproxy_up", "1 while HAProxy runs.").set(now.worker != 0 ? 1 : 0);
  count("berth_edge_haproxy_starts_total",
        "Starts of HAProxy: more than one are ends that nobody asked for, or pauses without sites.",
        {}, told_haproxy_.starts, now.starts);
  count("berth_edge_haproxy_reloads_total", "Changes that needed a new worker.", {},
        told_haproxy_.reloads, now.reloads);
  told_haproxy_ = now;
}

void EdgeMetrics::count(const std::string& name, const std::string& help,
                        const metrics::Labels& labels, std::uint64_t before, std::uint64_t now) {
  metrics::Counter& counter = registry_.counter(name, help, labels);
  if (now > before) counter.increment(static_cast<double>(now - before));
}

void EdgeMetrics::count_reason(const std::string& name, const std::string& help,
                               const metrics::Labels& labels, Reason reason, const ByReason& before,
                               const ByReason& now) {
  const auto i = static_cast<std::size_t>(reason);
  count(name, help, with(labels, "reason", std::string(to_string(reason))), before[i], now[i]);
}

void EdgeMetrics::show(const TallyKey& key, const Tally& now) {
  const metrics::Labels labels{{"lb", to_string(key.lb)},
                               {"protocol", std::string(model::to_string(key.protocol))}};
  Tally& before = told_[key];
  registry_.gauge("berth_edge_connections_active", kActiveHelp, labels)
      .set(static_cast<double>(now.active));
  count("berth_edge_connections_total", kConnectionsHelp, labels, before.connections,
        now.connections);
  for (const Reason reason : kReasons)
    count_reason("berth_edge_refused_total", "Clients that were turned away, and why.", labels,
                 reason, before.refused_by, now.refused_by);
  count("berth_edge_bytes_total", kBytesHelp, with(labels, "direction", "in"), before.bytes_in,
        now.bytes_in);
  count("berth_edge_bytes_total", kBytesHelp, with(labels, "direction", "out"), before.bytes_out,
        now.bytes_out);
  if (key.protocol == model::Transport::udp) {
    show_datagrams(labels, before, now);
  } else {
    count("berth_edge_connect_failures_total",
          "Targets that were not reached when a client was to go there.", labels,
          before.connect_failures, now.connect_failures);
  }
  before = most_of(before, now);
}

void EdgeMetrics::show_datagrams(const metrics::Labels& labels, const Tally& before,
                                 const Tally& now) {
  const std::string datagrams = "Datagrams that were carried: in from clients, out to them.";
  count("berth_edge_datagrams_total", datagrams, with(labels, "direction", "in"),
        before.datagrams_in, now.datagrams_in);
  count("berth_edge_datagrams_total", datagrams, with(labels, "direction", "out"),
        before.datagrams_out, now.datagrams_out);
  count("berth_edge_datagrams_dropped_total", "Datagrams that the next socket did not take.",
        labels, before.dropped, now.dropped);
  for (const Reason reason : {Reason::files, Reason::listener, Reason::client})
    count_reason("berth_edge_displaced_total",
                 "UDP sessions that ended because another one needed their place, and why.", labels,
                 reason, before.displaced_by, now.displaced_by);
}

}  // namespace berth::edge
