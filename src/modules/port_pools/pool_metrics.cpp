#include "modules/port_pools/pool_metrics.h"

#include "admission/pod_patch.h"
#include "admission/port_wishes.h"
#include "frontend/failures.h"

namespace berth::modules::port_pools {
namespace {

// Pods that were refused, to be shown until one of the name is admitted: as many as a name may have
// series.
constexpr std::size_t kMaxRefused = metrics::kMaxSeries;
// Upstream's, which begin at a second, and finer ones below: most Pods wait for milliseconds.
const metrics::Buckets kBindBuckets{0.01, 0.05, 0.1, 0.25, 0.5, 1,   2,   5,
                                    10,   30,   60,  120,  180, 300, 600, 1200};

std::string or_text(std::string_view text, std::string_view otherwise) {
  return std::string(text.empty() ? otherwise : text);
}

// A Pod that is made from a template has no name yet: its workload's is as good, and there are
// fewer of them.
kube::ObjectKey name_for(const kube::AdmissionRequest& request) {
  std::string name(wire::string_at(request.object, "/metadata/name"));
  if (name.empty()) name = wire::string_at(request.object, "/metadata/ownerReferences/0/name");
  if (name.empty()) name = wire::string_at(request.object, "/metadata/generateName");
  return {request.ns, std::move(name)};
}

}  // namespace

PoolMetrics::PoolMetrics(metrics::Registry& registry, const claims::SlotIndex& slots,
                         kube::Store<api::PortPool>& pools, kube::Store<api::PortBinding>& bindings)
    : registry_(registry),
      slots_(slots),
      bindings_(bindings),
      latency_(registry.histogram("bkbcs_ingressctrl_portpool_bind_latency_seconds",
                                  "From the creation of a Pod until all of its ports led to it.",
                                  {}, kBindBuckets)) {
  frontend::count_changes("portpool", pools, registry);
  frontend::count_changes("portbinding", bindings, registry);
  hook_ = registry.before_scrape([this] { before_scrape(); });
}

void PoolMetrics::pod_became_ready(Duration waited) { latency_.observe(to_seconds(waited)); }

void PoolMetrics::pod_was_admitted(const kube::AdmissionRequest& request, bool allowed) {
  registry_
      .counter("bkbcs_ingressctrl_webhook_pod_create", "Pods that asked for ports, by answer.",
               {{"allow", allowed ? "true" : "false"}})
      .increment();
  const kube::ObjectKey pod = name_for(request);
  {
    const MutexLock lock(mu_);
    if (allowed && refused_.erase(pod) == 0) return;
    if (!allowed && refused_.size() < kMaxRefused) refused_.insert(pod);
  }
  registry_
      .gauge("bkbcs_ingressctrl_portpool_allocate_failed_gauge",
             "1 while the last Pod of this name was refused its ports.",
             {{"name", pod.name}, {"namespace", pod.ns}})
      .set(allowed ? 0 : 1);
}

void PoolMetrics::before_scrape() {
  Counts total;
  Counts used;
  for (const claims::ItemUsage& item : slots_.usage()) {
    const metrics::Labels labels{{"itemname", item.item},
                                 {"poolkey", item.pool.name + "/" + item.pool.ns},
                                 {"protocol", std::string(api::pool_protocol_text(item.protocol))}};
    total[labels] += item.usage.slots;
    used[labels] += item.usage.taken;
  }
  show("bkbcs_ingressctrl_cache_poolitem_portitem_total",
       "Slots of a pool's item: single ports, or segments.", total);
  show("bkbcs_ingressctrl_cache_poolitem_portitem_used", "Those that Pods have.", used);
  show("bkbcs_ingressctrl_portbinding_total", "PortBindings by status.", count_bindings());
  show_conflicts();
}

// By protocol and first port, as upstream compares them. Never, if all is right: claims are
// exclusive. Somebody who edits bindings or restores them from a copy can make it happen.
void PoolMetrics::show_conflicts() {
  std::map<std::string, std::set<std::string>> holders;  // key with protocol -> bindings
  for (const auto& binding : bindings_.all()) {
    if (binding->status.status == api::kCleaned) continue;  // it holds a name, not a port
    for (const api::PortBindingItem& item : binding->spec.port_binding_list) {
      holders[fmt::format("{}/{}/{}:{} {}", item.pool_namespace, item.pool_name,
                          item.pool_item_name, item.start_port, item.protocol)]
          .insert(binding->meta.key().to_string());
    }
  }
  std::map<metrics::Labels, double> series;
  for (const auto& [key, names] : holders) {
    if (names.size() < 2) continue;
    for (const std::string& name : names)
      series[{{"conflict_key", key.substr(0, key.rfind(' '))}, {"namespaced_name", name}}] =
          static_cast<double>(names.size());
  }
  registry_.show_gauges("bkbcs_ingressctrl_portbinding_conflict",
                        "PortBindings that have one port, with each of them as a label.",
                        {series.begin(), series.end()});
}

PoolMetrics::Counts PoolMetrics::count_bindings() const {
  Counts counts;
  for (const std::string_view status : {api::kReady, api::kNotReady, api::kCleaning, api::kCleaned})
    counts[{{"status", std::string(status)}}] = 0;
  for (const auto& binding : bindings_.all())
    counts[{{"status", or_text(binding->status.status, api::kNotReady)}}] += 1;
  return counts;
}

void PoolMetrics::show(const std::string& name, const std::string& help, const Counts& counts) {
  const MutexLock lock(mu_);
  std::set<metrics::Labels>& shown = shown_[name];
  for (const metrics::Labels& labels : shown) {
    if (!counts.contains(labels)) registry_.gauge(name, help, labels).set(0);
  }
  for (const auto& [labels, count] : counts) {
    if (shown.size() < metrics::kMaxSeries) shown.insert(labels);
    registry_.gauge(name, help, labels).set(count);
  }
}

}  // namespace berth::modules::port_pools
