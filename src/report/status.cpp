#include "report/status.h"

#include <algorithm>
#include <boost/json.hpp>

namespace berth::report {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Rows of one kind; the rest is counted.
constexpr std::size_t kMaxRows = 20;

class Maker {
 public:
  explicit Maker(const ClusterView& view) : view_(view) {}

  Status make() {
    look_at_controller();
    for (const Part* const part : view_.parts)
      if (part->add_status) part->add_status(view_, out_);
    for (const api::LoadBalancer& balancer : view_.balancers) look_at_balancer(balancer);
    look_at_listeners();
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
    for (const auto troubles : {troubles_of_kinds, troubles_of_pods, troubles_of_webhooks})
      for (const Trouble& one : troubles(view_)) problem("{} (to do: {})", one.what, one.fix);
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

  void look_at_listeners() {
    std::map<std::string, std::size_t> stuck;  // by reason: thousands may have one in common
    for (const claims::ListenerPtr& listener : view_.listeners) {
      if (listener->status.status == api::kSynced) continue;
      OpenLine line{.object = "Listener " + listener->meta.key().to_string(),
                    .what = listener->status.message,
                    .since = view_.now - listener->meta.created};
      if (line.what.empty()) line.what = std::string(api::kNotSynced);
      if (!listener->status.message.empty() || line.since > kPatience) ++stuck[line.what];
      out_.listeners.push_back(std::move(line));
    }
    for (const auto& [reason, count] : stuck)
      problem("{} Listeners are not synced: {}", count, reason);
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

}  // namespace

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

Array open_json(const std::vector<OpenLine>& lines) {
  Array out;
  for (const OpenLine& line : lines) {
    out.push_back(
        Object{{"object", line.object}, {"why", line.what}, {"seconds", to_seconds(line.since)}});
  }
  return out;
}

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
  const auto add = [&](Place place) {
    if (const auto found = status.text.find(place); found != status.text.end())
      out += found->second;
  };
  add(Place::first);
  std::vector<std::vector<std::string>> balancers{
      {"LOAD BALANCER", "ADDRESSES", "LISTENERS", "QUOTA", "LAST ERROR"}};
  for (const BalancerLine& line : status.balancers) {
    balancers.push_back({line.name, joined(line.vips), std::to_string(line.used),
                         line.quota > 0 ? std::to_string(line.quota) : "?", line.last_error});
  }
  out += columns(balancers);
  out += low_ports(status.balancers);
  add(Place::open);
  out += open_table("NOT SYNCED", status.listeners);
  add(Place::last);
  for (const std::string& kind : status.unseen)
    out += fmt::format("not looked at: {}, which this user may not read\n", kind);
  if (status.well()) return out + "all is well\n";
  for (const std::string& problem : status.problems) out += fmt::format("problem: {}\n", problem);
  return out;
}

Value to_json(const Status& status) {
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
  Object out{{"well", status.well()},
             {"problems", Array(status.problems.begin(), status.problems.end())},
             {"leader", Object{{"holder", status.leader.holder},
                               {"alive", status.leader.alive},
                               {"renewedSecondsAgo", to_seconds(status.leader.since)}}},
             {"loadBalancers", std::move(balancers)},
             {"listenersNotSynced", open_json(status.listeners)},
             {"refusals", refusals_json(status.refusals)},
             {"notLookedAt", Array(status.unseen.begin(), status.unseen.end())}};
  for (const auto& member : status.json) out.insert_or_assign(member.key(), member.value());
  return out;
}

}  // namespace berth::report
