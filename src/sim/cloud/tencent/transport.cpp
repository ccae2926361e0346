#include "sim/cloud/tencent/transport.h"

#include <algorithm>

#include "net/url.h"

namespace berth::sim::tencent {
namespace {

// As it arrives at a server: path and query, and a Host header.
Result<net::Request> as_received(const net::Request& request) {
  Result<net::Url> url = net::parse_url(request.url);
  if (!url) return pass(url);
  net::Request out = request;
  out.url = url->query.empty() ? url->path : url->path + "?" + url->query;
  if (out.headers.get("Host").empty()) out.headers.add("Host", url->authority());
  return out;
}

}  // namespace

Result<> CloudTransport::wait(const Context& context, Duration span) const {
  const Instant now = context.tasks.now();
  const Duration until_end = std::min(context.deadline, saturating_add(now, span)) - now;
  if (until_end > Duration{}) sleep_for(context.tasks, until_end, context.stop);
  if (context.expired()) return fail(context.end_error());
  return {};
}

Result<net::Response> CloudTransport::call(const Context& context, const net::Request& request) {
  Result<net::Request> received = as_received(request);
  if (!received) return pass(received);
  if (Result<> in_time = wait(context, options_.round_trip / 2); !in_time) return pass(in_time);
  Tasks& clock = options_.clock == nullptr ? context.tasks : *options_.clock;
  const auto serve = [&] { return cloud_.handle(*received, clock.wall_time()); };
  Result<net::Reply> reply = options_.deliver ? options_.deliver(*received, serve) : serve();
  if (!reply) return pass(reply);
  if (is_lost(*reply)) {
    if (Result<> in_time = wait(context, options_.lost_after); !in_time) return pass(in_time);
    return fail(Code::timeout, "the connection ended without an answer");
  }
  if (Result<> in_time = wait(context, options_.round_trip / 2); !in_time) return pass(in_time);
  return net::Response{reply->status, std::move(reply->headers), std::move(reply->body)};
}

Result<std::unique_ptr<net::Stream>> CloudTransport::open(const Context&, const net::Request&) {
  return fail(Code::unsupported, "the cloud's API has no streams");
}

}  // namespace berth::sim::tencent
