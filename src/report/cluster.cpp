#include "report/cluster.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "api/decode.h"
#include "controllers/install/plan.h"

namespace berth::report {
namespace {

using wire::Value;

// Several times the time after which another replica takes over: clocks differ.
constexpr int kStaleLeases = 3;

constexpr std::string_view kCore;  // it has no name, for it is never off

// A kind that is not installed has no objects. One of a module that is off need not be.
Result<std::vector<Value>> read_all(const Context& context, kube::Client& client,
                                    const api::KindInfo& kind, std::string_view module,
                                    ClusterView& view) {
  Result<kube::ListPage> page = client.list_all(context, kind.type);
  if (page) return std::move(page->items);
  if (page.error().code != Code::unsupported) return pass(page);
  view.installed = view.installed && is_off(view, module);
  return std::vector<Value>{};
}

// Null when it is not there, or not for us to see.
Result<Value> read_one(const Context& context, kube::Client& client, const kube::ResourceType& type,
                       const kube::ObjectKey& key) {
  Result<Value> found = client.get(context, type, key);
  const bool absent =
      !found && (found.error().code == Code::not_found || found.error().code == Code::forbidden);
  if (absent) return Value();
  return found;
}

// What the controller wrote there: "host-ports,port-pools".
std::vector<std::string> modules_off(const Value& webhooks) {
  const std::string_view text = wire::string_at(
      webhooks, fmt::format("/metadata/annotations/{}",
                            wire::escape_pointer_step(controllers::install::kWithoutAnnotation)));
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    out.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

// Where `berth manifests` installs, and where a controller that is started by hand is.
constexpr std::array<std::string_view, 2> kUsualNamespaces{"berth-system", "default"};

// Of several leases the one that was renewed last: others were left behind.
Value newest_of(std::vector<Value> leases) {
  const auto renewed = [](const Value& lease) {
    return parse_rfc3339(wire::string_at(lease, "/spec/renewTime")).value_or(WallTime{});
  };
  const auto newest = std::ranges::max_element(leases, {}, renewed);
  return newest == leases.end() ? Value() : std::move(*newest);
}

Result<Value> find_lease(const Context& context, kube::Client& client, const std::string& ns) {
  const std::string name(controllers::install::kLeaseName);
  if (!ns.empty()) return read_one(context, client, kube::types::kLease, {ns, name});
  Result<kube::ListPage> all =
      client.list_all(context, kube::types::kLease, {.field_selector = "metadata.name=" + name});
  if (all) return newest_of(std::move(all->items));
  if (all.error().code != Code::forbidden) return pass(all);
  std::vector<Value> found;
  for (const std::string_view usual : kUsualNamespaces) {
    Result<Value> lease =
        read_one(context, client, kube::types::kLease, {std::string(usual), name});
    if (!lease) return lease;
    if (!lease->is_null()) found.push_back(std::move(*lease));
  }
  return newest_of(std::move(found));
}

Result<> read_webhooks(const Context& context, kube::Client& client, ClusterView& view) {
  Result<Value> webhooks = read_one(context, client, kube::types::kMutatingWebhookConfiguration,
                                    {"", std::string(controllers::install::kManagedBy)});
  if (!webhooks) return pass(webhooks);
  view.webhooks = std::move(*webhooks);
  view.without = modules_off(view.webhooks);
  return {};
}

// What cannot be decoded is left out.
Result<> read_core(const Context& context, kube::Client& client, ClusterView& view) {
  Result<std::vector<Value>> listeners =
      read_all(context, client, api::listener_kind(), kCore, view);
  if (!listeners) return pass(listeners);
  for (const Value& item : *listeners) {
    if (Result<api::Listener> listener = api::decode_listener(item))
      view.listeners.push_back(std::make_shared<const api::Listener>(std::move(*listener)));
  }
  Result<std::vector<Value>> balancers =
      read_all(context, client, api::load_balancer_kind(), kCore, view);
  if (!balancers) return pass(balancers);
  for (const Value& item : *balancers) {
    if (Result<api::LoadBalancer> balancer = api::decode_load_balancer(item))
      view.balancers.push_back(std::move(*balancer));
  }
  return {};
}

Result<> read_parts(const Context& context, kube::Client& client, ClusterView& view) {
  for (const Part* const part : view.parts) {
    if (!part->kinds) continue;
    for (const api::KindInfo* const kind : part->kinds()) {
      Result<std::vector<Value>> objects = read_all(context, client, *kind, part->module, view);
      if (!objects) return pass(objects);
      view.objects[kind->type.plural] = std::move(*objects);
    }
  }
  return {};
}

Result<> read_controller(const Context& context, kube::Client& client, ClusterView& view) {
  Result<Value> lease = find_lease(context, client, view.ns);
  if (!lease) return pass(lease);
  view.lease = std::move(*lease);
  if (!view.lease.is_null()) view.ns = wire::string_at(view.lease, "/metadata/namespace");
  if (view.ns.empty()) return {};
  Result<Value> secret = read_one(context, client, kube::types::kSecret,
                                  {view.ns, std::string(controllers::install::kCertificateSecret)});
  if (!secret) return pass(secret);
  view.ca_bundle = wire::string_at(*secret, "/data/ca-bundle.crt");
  return {};
}

Result<> read_events(const Context& context, kube::Client& client, ClusterView& view) {
  Result<std::vector<Refusal>> refusals = read_refusals(context, client, view.now);
  if (refusals) {
    view.refusals = std::move(*refusals);
    return {};
  }
  if (refusals.error().code != Code::forbidden) return pass(refusals);
  view.unseen.emplace_back("events");
  return {};
}

}  // namespace

Result<ClusterView> read_cluster(const Context& context, kube::Client& client, const Parts& parts,
                                 const std::string& ns) {
  ClusterView view{.ns = ns, .parts = parts, .now = context.tasks.wall_time()};
  for (const auto read :
       {read_webhooks, read_core, read_parts, read_controller, read_installation, read_events})
    if (Result<> done = read(context, client, view); !done) return pass(done);
  return view;
}

bool is_off(const ClusterView& view, std::string_view module) {
  return std::ranges::find(view.without, module) != view.without.end();
}

std::string opened_elsewhere(const ClusterView& view, std::string_view ip, std::int64_t port) {
  for (const api::LoadBalancer& balancer : view.balancers) {
    const api::LoadBalancerStatus& status = balancer.status;
    const bool moved = status.low_port_offset > 0 && port < status.low_port_limit;
    if (moved && std::ranges::find(status.vips, ip) != status.vips.end())
      return fmt::format(" (open at {})", port + status.low_port_offset);
  }
  return {};
}

std::string age(Duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  if (seconds < 120) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 2 * 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86400);
}

Leader leader_of(const ClusterView& view) {
  Leader out{.holder = std::string(wire::string_at(view.lease, "/spec/holderIdentity"))};
  const auto renewed = parse_rfc3339(wire::string_at(view.lease, "/spec/renewTime"));
  if (out.holder.empty() || !renewed) return out;
  out.since = view.now - *renewed;
  const auto seconds = wire::int_at(view.lease, "/spec/leaseDurationSeconds").value_or(15);
  out.alive = out.since < std::chrono::seconds{seconds * kStaleLeases};
  return out;
}

std::string lease_without_holder(const ClusterView& view) {
  if (view.ns.empty()) return "no namespace has a lease named berth (berth manifests installs one)";
  return fmt::format("lease {}/berth {}", view.ns,
                     view.lease.is_null() ? "is not there" : "has no holder");
}

}  // namespace berth::report
