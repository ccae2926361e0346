#include "report/status.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <optional>

#include "api/keys.h"
#include "claims/exhausted.h"

namespace berth::report {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Rows of one kind; the rest is counted.
constexpr std::size_t kMaxRows = 20;

Duration old(const ClusterView& view, const kube::ObjectMeta& meta) {
  return view.now - meta.created;
}

// In lower case, as a person would write it.
std::string name_of(ledger::SlotState state) {
  if (state == ledger::SlotState::claimed) return "unbound";
  std::string name(ledger::to_string(state));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// When it came to be as it is: its status says when it changed, and a new one when it was made.
std::optional<WallTime> changed_at(const api::PortBinding& binding) {
  for (const std::string_view text :
       {std::string_view(binding.status.update_time),
        kube::get(binding.meta.annotations, api::kUnreadySinceAnnotation)}) {
    if (const auto at = parse_rfc3339(text)) return *at;
  }
  return std::nullopt;
}

class Maker {
 public:
  explicit Maker(const ClusterView& view) : view_(view) {}

  Status make() {
    look_at_controller();
    for (const api::PortPool& pool : view_.pools) look_at_pool(pool);
    for (const api::LoadBalancer& balancer : view_.balancers) look_at_balancer(balancer);
    for (const api::PortBinding& binding : view_.bindings) look_at_binding(binding);
    look_at_listeners();
    look_at_claims();
    look_at_refusals();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    out_.problems.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void look_at_controller() {
    out_.leader = leader_of(view_);
    if (!view_.installed)
      problem("Berth is not installed: its kinds are not known (berth manifests)");
    if (out_.leader.holder.empty()) {
      problem("no controller leads: {}", lease_without_holder(view_));
    } else if (!out_.leader.alive) {
      problem("no controller runs: {} renewed lease {}/berth {} ago", out_.leader.holder, view_.ns,
              age(out_.leader.since));
    }
    if (view_.webhooks.is_null())
      problem("the webhook configuration berth is missing: Pods get no ports");
  }

  void look_at_pool(const api::PortPool& pool) {
    const std::string key = pool.meta.key().to_string();
    for (const api::PortPoolItem& item : pool.spec.pool_items) {
      const auto found = std::ranges::find(pool.status.pool_items, item.item_name,
                                           &api::PortPoolItemStatus::item_name);
      ItemLine line{.pool = key, .item = item.item_name, .status = std::string(api::kNotReady)};
      if (found != pool.status.pool_items.end()) {
        line.status = found->status;
        if (line.status != api::kReady) line.message = found->message;
      }
      const auto protocols = api::protocols_of(item);
      line.ports =
          static_cast<std::size_t>(api::slot_count(item)) * (protocols ? protocols->size() : 1);
      count_slots(pool.meta.key(), line);
      if (line.status.empty()) line.status = std::string(api::kNotReady);
      // From its first moment on: nobody gets a port of it, whatever the reason.
      if (line.status != api::kReady)
        problem("PortPool {} item {} is {}: {}", key, item.item_name, line.status,
                line.message.empty() ? "no controller has looked at it yet" : line.message);
      out_.items.push_back(std::move(line));
    }
    look_for_room(pool.meta.key());
  }

  // TCP and UDP run out apart; a Pod that asks for both needs both.
  void look_for_room(const kube::ObjectKey& pool) {
    std::map<std::string, std::vector<claims::ListenerPtr>> taken;  // by protocol
    std::map<std::string, std::size_t> all;
    for (const claims::ListenerPtr& listener : view_.listeners) {
      if (!claims::is_lock(*listener) || claims::pool_of(*listener) != pool) continue;
      ++all[listener->spec.protocol];
      if (!claims::claim_text(*listener).empty())
        taken[listener->spec.protocol].push_back(listener);
    }
    for (const auto& [protocol, listeners] : taken) {
      if (listeners.size() < all[protocol]) continue;
      problem("PortPool {} is full: {} of {} {} ports are in use{}", pool.to_string(),
              listeners.size(), all[protocol], protocol, claims::takers_of(listeners).to_string());
    }
  }

  void count_slots(const kube::ObjectKey& pool, ItemLine& line) const {
    for (const claims::ListenerPtr& listener : view_.listeners) {
      if (!claims::is_lock(*listener) || claims::item_of(*listener) != line.item ||
          claims::pool_of(*listener) != pool)
        continue;
      if (!listener->status.listener_id.empty()) ++line.ready;
      if (!claims::claim_text(*listener).empty()) ++line.used;
    }
  }

  void look_at_balancer(const api::LoadBalancer& balancer) {
    const auto& spec = balancer.spec;
    BalancerLine line{
        .name = fmt::format("{}:{}", spec.region.empty() ? spec.provider : spec.region,
                            spec.load_balancer_id),
        .vips = balancer.status.vips,
        .quota = balancer.status.listener_quota,
        .used = balancer.status.listeners_used,
        .low_port_limit = balancer.status.low_port_offset > 0 ? balancer.status.low_port_limit : 0,
        .low_port_offset = balancer.status.low_port_offset,
        .last_error = balancer.status.last_error};
    if (!balancer.status.dns_name.empty()) line.vips.push_back(balancer.status.dns_name);
    if (!line.last_error.empty()) problem("load balancer {}: {}", line.name, line.last_error);
    if (line.quota > 0 && line.used >= line.quota)
      problem("load balancer {} is full: {} of {} listeners", line.name, line.used, line.quota);
    out_.balancers.push_back(std::move(line));
  }

  void look_at_binding(const api::PortBinding& binding) {
    const std::string& status = binding.status.status;
    if (status == api::kReady || status == api::kCleaned) return;
    OpenLine line{.object = "PortBinding " + binding.meta.key().to_string(),
                  .what = status.empty() ? std::string(api::kNotReady) : status,
                  .since = old(view_, binding.meta)};
    const auto changed = changed_at(binding);
    if (changed) line.since = view_.now - *changed;
    if (line.since > kPatience && changed)
      problem("{} is {} since {}", line.object, line.what, age(line.since));
    if (line.since > kPatience && !changed)
      problem("{} is {}, created {} ago", line.object, line.what, age(line.since));
    out_.bindings.push_back(std::move(line));
  }

  void look_at_listeners() {
    std::map<std::string, std::size_t> stuck;  // by reason: thousands may have one in common
    for (const claims::ListenerPtr& listener : view_.listeners) {
      if (listener->status.status == api::kSynced) continue;
      OpenLine line{.object = "Listener " + listener->meta.key().to_string(),
                    .what = listener->status.message,
                    .since = old(view_, listener->meta)};
      if (line.what.empty()) line.what = std::string(api::kNotSynced);
      if (!listener->status.message.empty() || line.since > kPatience) ++stuck[line.what];
      out_.listeners.push_back(std::move(line));
    }
    for (const auto& [reason, count] : stuck)
      problem("{} Listeners are not synced: {}", count, reason);
  }

  void look_at_claims() {
    for (const char* state : {"unbound", "bound", "draining", "kept", "quarantined"})
      out_.claims[state] = 0;
    for (const claims::ListenerPtr& listener : view_.listeners) {
      if (claims::claim_text(*listener).empty()) continue;
      const auto claim = claims::claim_of(*listener);
      if (!claim) {
        ++out_.claims["unreadable"];
        problem("the claim of Listener {} cannot be read", listener->meta.key().to_string());
        continue;
      }
      const bool unbound = claim->state == ledger::SlotState::claimed;
      ++out_.claims[name_of(claim->state)];
      const Duration since = view_.now - claim->since;
      if (unbound && since > 2 * ledger::kUnboundClaimLifetime)
        problem("the claim of Listener {} has no Pod since {}", listener->meta.key().to_string(),
                age(since));
    }
  }

  void look_at_refusals() {
    out_.refusals = view_.refusals;
    out_.unseen = view_.unseen;
    for (const Refusal& refusal : view_.refusals) {
      if (refusal.over) continue;
      problem("{} was refused ports {} ago: {}", refusal.object, age(refusal.ago), refusal.message);
    }
  }

  const ClusterView& view_;
  Status out_;
};

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) out += (out.empty() ? "" : ",") + one;
  return out;
}

// An unprivileged edge cannot open what a pool may have: people must know where to connect.
std::string low_ports(const std::vector<BalancerLine>& lines) {
  std::string out;
  for (const BalancerLine& line : lines) {
    if (line.low_port_limit == 0) continue;
    out += fmt::format("{}: ports below {} are open {} higher: connect to {} for 80\n", line.name,
                       line.low_port_limit, line.low_port_offset, 80 + line.low_port_offset);
  }
  return out.empty() ? out : out + '\n';
}

std::string open_table(const char* heading, const std::vector<OpenLine>& lines) {
  std::vector<std::vector<std::string>> rows{{heading, "SINCE", "WHY"}};
  for (const OpenLine& line : lines) {
    if (rows.size() > kMaxRows) break;
    rows.push_back({line.object, age(line.since), line.what});
  }
  std::string out = columns(rows);
  if (lines.size() > kMaxRows) out += fmt::format("and {} more\n", lines.size() - kMaxRows);
  return out;
}

Array refusals_json(const std::vector<Refusal>& refusals) {
  Array out;
  for (const Refusal& refusal : refusals) {
    out.push_back(Object{{"object", refusal.object},
                         {"why", refusal.message},
                         {"secondsAgo", to_seconds(refusal.ago)},
                         {"over", refusal.over}});
  }
  return out;
}

Array open_json(const std::vector<OpenLine>& lines) {
  Array out;
  for (const OpenLine& line : lines) {
    out.push_back(
        Object{{"object", line.object}, {"why", line.what}, {"seconds", to_seconds(line.since)}});
  }
  return out;
}

}  // namespace

Status make_status(const ClusterView& view) { return Maker(view).make(); }

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  if (rows.size() < 2) return {};
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += fmt::format("{:<{}}   ", row[i], widths[i]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out + '\n';
}

std::string to_text(const Status& status) {
  std::string out = "controller: ";
  if (status.leader.holder.empty()) {
    out += "none leads\n\n";
  } else {
    out += fmt::format("{} {}, last seen {} ago\n\n", status.leader.holder,
                       status.leader.alive ? "leads" : "is gone", age(status.leader.since));
  }
  std::vector<std::vector<std::string>> items{
      {"POOL", "ITEM", "STATUS", "PORTS", "READY", "USED", "MESSAGE"}};
  for (const ItemLine& line : status.items) {
    items.push_back({line.pool, line.item, line.status, std::to_string(line.ports),
                     std::to_string(line.ready), std::to_string(line.used), line.message});
  }
  out += columns(items);
  std::vector<std::vector<std::string>> balancers{
      {"LOAD BALANCER", "ADDRESSES", "LISTENERS", "QUOTA", "LAST ERROR"}};
  for (const BalancerLine& line : status.balancers) {
    balancers.push_back({line.name, joined(line.vips), std::to_string(line.used),
                         line.quota > 0 ? std::to_string(line.quota) : "?", line.last_error});
  }
  out += columns(balancers);
  out += low_ports(status.balancers);
  out += open_table("NOT READY", status.bindings);
  out += open_table("NOT SYNCED", status.listeners);
  std::string claims;
  for (const auto& [state, count] : status.claims)
    claims += fmt::format("{}{} {}", claims.empty() ? "" : ", ", count, state);
  out += fmt::format("claims: {}\n\n", claims);
  for (const std::string& kind : status.unseen)
    out += fmt::format("not looked at: {}, which this user may not read\n", kind);
  if (status.well()) return out + "all is well\n";
  for (const std::string& problem : status.problems) out += fmt::format("problem: {}\n", problem);
  return out;
}

Value to_json(const Status& status) {
  Array items;
  for (const ItemLine& line : status.items) {
    items.push_back(Object{{"pool", line.pool},
                           {"item", line.item},
                           {"status", line.status},
                           {"message", line.message},
                           {"ports", line.ports},
                           {"ready", line.ready},
                           {"used", line.used}});
  }
  Array balancers;
  for (const BalancerLine& line : status.balancers) {
    balancers.push_back(Object{{"name", line.name},
                               {"vips", Array(line.vips.begin(), line.vips.end())},
                               {"quota", line.quota},
                               {"used", line.used},
                               {"lowPortLimit", line.low_port_limit},
                               {"lowPortOffset", line.low_port_offset},
                               {"lastError", line.last_error}});
  }
  Object claims;
  for (const auto& [state, count] : status.claims) claims[state] = count;
  return Object{{"well", status.well()},
                {"problems", Array(status.problems.begin(), status.problems.end())},
                {"leader", Object{{"holder", status.leader.holder},
                                  {"alive", status.leader.alive},
                                  {"renewedSecondsAgo", to_seconds(status.leader.since)}}},
                {"items", std::move(items)},
                {"loadBalancers", std::move(balancers)},
                {"bindingsNotReady", open_json(status.bindings)},
                {"listenersNotSynced", open_json(status.listeners)},
                {"refusals", refusals_json(status.refusals)},
                {"notLookedAt", Array(status.unseen.begin(), status.unseen.end())},
                {"claims", std::move(claims)}};
}

}  // namespace berth::report
