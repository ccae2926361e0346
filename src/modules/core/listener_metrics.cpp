#include "modules/core/listener_metrics.h"

#include <tuple>

#include "claims/slot.h"
#include "frontend/failures.h"

namespace berth::modules::core {

ListenerMetrics::ListenerMetrics(metrics::Registry& registry, kube::Store<api::Listener>& listeners,
                                 ListenerMetricsOptions options)
    : options_(std::move(options)), registry_(registry), listeners_(listeners) {
  registry
      .gauge("bkbcs_ingressctrl_controller_info", "1, with what runs.",
             {{"version", options_.version}, {"cloud", options_.cloud}})
      .set(1);
  frontend::count_changes("listener", listeners, registry);
  hook_ = registry.before_scrape([this] { before_scrape(); });
}

void ListenerMetrics::before_scrape() {
  show_counts();
  show_health();
}

void ListenerMetrics::show_counts() {
  using Row = std::tuple<std::string_view, std::string_view, std::string_view, bool>;
  std::map<Row, double> rows;  // views into what `all` holds
  const auto all = listeners_.all();
  for (const auto& listener : all) {
    ++rows[{listener->spec.load_balancer_id, listener->spec.protocol, listener->status.status,
            claims::has_targets(listener->spec)}];
  }
  std::map<metrics::Labels, double> counts;
  for (const auto& [row, count] : rows) {
    const auto& [lb, protocol, status, has_targets] = row;
    counts[{{"lbID", std::string(lb)},
            {"protocol", std::string(protocol)},
            {"status", std::string(status.empty() ? api::kNotSynced : status)},
            {"target_group_type", has_targets ? "normal" : "empty"}}] += count;
  }
  const auto series = [this](const metrics::Labels& labels) -> metrics::Gauge& {
    return registry_.gauge("bkbcs_ingressctrl_listener_total", "Listeners by what they are.",
                           labels);
  };
  const MutexLock lock(mu_);
  for (const metrics::Labels& labels : shown_)
    if (!counts.contains(labels)) series(labels).set(0);
  for (const auto& [labels, count] : counts) {
    if (shown_.size() < metrics::kMaxSeries) shown_.insert(labels);
    series(labels).set(count);
  }
}

void ListenerMetrics::show_health() {
  if (!options_.health) return;
  std::map<model::LoadBalancerRef, std::map<model::ListenerId, const api::Listener*>> by_id;
  const auto all = listeners_.all();
  for (const auto& listener : all) {
    if (!claims::has_targets(listener->spec) || listener->status.listener_id.empty()) continue;
    if (const auto lb = claims::load_balancer_of(*listener, options_.defaults))
      by_id[*lb][model::ListenerId(listener->status.listener_id)] = listener.get();
  }
  // Those that are ill come first: there may be more than fit.
  std::map<lb::Health, std::vector<std::pair<metrics::Labels, double>>> series;
  for (const auto& [lb, listeners] : by_id) {
    for (const lb::TargetHealth& one : options_.health(lb)) {
      const auto found = listeners.find(one.rule.listener);
      if (found == listeners.end()) continue;
      const api::Listener& listener = *found->second;
      series[one.health].emplace_back(
          metrics::Labels{{"lbid", lb.id},
                          {"listenerid", one.rule.listener.value},
                          {"port", std::to_string(listener.spec.port)},
                          {"protocol", listener.spec.protocol},
                          {"host", std::string(one.rule.key.domain())},
                          {"path", std::string(one.rule.key.path())},
                          {"rsip", one.target.ip},
                          {"rsport", std::to_string(one.target.port)},
                          {"namespace", std::string(listener.meta.ns.view())}},
          static_cast<double>(one.health));
    }
  }
  std::vector<std::pair<metrics::Labels, double>> values;
  for (auto& [health, some] : series)
    values.insert(values.end(), std::make_move_iterator(some.begin()),
                  std::make_move_iterator(some.end()));
  registry_.show_gauges("cloudloadbalance_backendhealth_backend_status",
                        "Health of targets: 0 unhealthy, 1 healthy, 2 not known.", values);
}

}  // namespace berth::modules::core
