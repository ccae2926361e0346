#include "report/probe.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/decode.h"
#include "model/load_balancer.h"
#include "model/protocol.h"
#include "report/teller.h"

namespace berth::report {
namespace {

const api::LoadBalancer* balancer_of(const ClusterView& view, const api::Listener& listener) {
  const auto lb = claims::load_balancer_of(listener, {});
  if (!lb) return nullptr;
  const auto found = std::ranges::find_if(
      view.balancers,
      [name = model::object_name(*lb)](const auto& one) { return one.meta.name == name; });
  return found == view.balancers.end() ? nullptr : &*found;
}

bool is_over_tcp(const api::Listener& listener) {
  const auto protocol = model::parse_protocol(listener.spec.protocol);
  return protocol && model::takes(*protocol, model::Transport::tcp);
}

void add_ways(const ClusterView& view, const api::Listener& listener, std::vector<Way>& out) {
  const api::LoadBalancer* const lb = balancer_of(view, listener);
  const std::vector<const api::ListenerBackend*> backends = api::backends_of(listener.spec);
  if (!lb || backends.empty() || !is_over_tcp(listener)) return;
  const api::ListenerBackend& first = *backends.front();
  const bool moved =
      lb->status.low_port_offset > 0 && listener.spec.port < lb->status.low_port_limit;
  const std::int64_t port = listener.spec.port + (moved ? lb->status.low_port_offset : 0);
  for (const std::string& vip : lb->status.vips)
    out.push_back({listener.spec.protocol,
                   {first.ip, model::port_of(first.port)},
                   {vip, model::port_of(port)}});
}

std::vector<claims::ListenerPtr> asked_about(const ExplainView& view) {
  std::vector<claims::ListenerPtr> out;
  if (view.kind == api::listener_kind().type.kind) {
    if (auto listener = api::decode_listener(view.object))
      out.push_back(std::make_shared<const api::Listener>(std::move(*listener)));
    return out;
  }
  for (const Part* const part : view.cluster.parts) {
    if (!part->listeners_of) continue;
    std::ranges::move(part->listeners_of(view), std::back_inserter(out));
  }
  return out;
}

std::string security_groups(const Way& way) {
  return fmt::format(
      "a security group or a firewall is between: that of the load balancer must let its clients "
      "in "
      "at port {}, and that of the nodes must let the load balancer through to port {}. Where a "
      "health check finds the target healthy (cloudloadbalance_backendhealth_backend_status is 1), "
      "it is the first",
      way.open_at.port, way.own.port);
}

}  // namespace

std::vector<Way> ways_of(const ExplainView& view) {
  std::vector<Way> out;
  for (const claims::ListenerPtr& one : asked_about(view)) add_ways(view.cluster, *one, out);
  return out;
}

Step judge(const Way& way, const Result<>& own, const Result<>& open) {
  const std::string pod = model::to_string(way.own);
  const std::string door = fmt::format("{} {}", way.protocol, model::to_string(way.open_at));
  const std::string why = open ? std::string() : open.error().message;
  if (open && own)
    return {Verdict::good, fmt::format("{} answers, and so does {} itself", door, pod), {}};
  if (open)
    return {Verdict::good,
            fmt::format("{} answers; {} itself does not from here ({}), and need not", door, pod,
                        own.error().message),
            {}};
  if (own)
    return {Verdict::bad, fmt::format("{} itself answers, and {} does not: {}", pod, door, why),
            security_groups(way)};
  if (own.error().code == Code::unavailable)
    return {Verdict::bad,
            fmt::format("{} itself does not take connections ({}), and so {} cannot: {}", pod,
                        own.error().message, door, why),
            fmt::format("see that the Pod's program listens at port {} on all addresses, not on "
                        "127.0.0.1 alone, and what its log says",
                        way.own.port)};
  return {Verdict::bad,
          fmt::format("neither {} itself ({}) nor {} ({}) answers from here", pod,
                      own.error().message, door, why),
          fmt::format("try {} from a node or a Pod of the cluster: if nobody answers there, it is "
                      "the Pod's program; else {}",
                      pod, security_groups(way))};
}

void probe(const ExplainView& view, const Knock& knock, Explanation& out) {
  const std::vector<Way> ways = ways_of(view);
  if (ways.empty()) {
    out.steps.push_back({Verdict::wait,
                         "nothing to try: no Listener with a target over TCP has an address yet; "
                         "datagrams (UDP) need no answer",
                         {}});
    return;
  }
  for (std::size_t i = 0; i < std::min(ways.size(), kMostWays); ++i) {
    // The Pod's own first: without it nothing behind the load balancer can answer.
    const Result<> own = knock(ways[i].own);
    out.steps.push_back(judge(ways[i], own, knock(ways[i].open_at)));
  }
}

}  // namespace berth::report
