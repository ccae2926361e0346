#include "app/leader_only.h"

namespace berth::app {
namespace {

// A failover takes seconds; a replica that has just begun to lead, less.
constexpr const char* kRetryAfterSeconds = "1";

net::Reply come_again() {
  net::Reply out{.status = 503, .body = "another replica leads\n"};
  out.headers.set("Retry-After", kRetryAfterSeconds);
  out.headers.set("Content-Type", "text/plain");
  return out;
}

}  // namespace

net::Handler leader_only(net::Handler handler, std::function<bool()> leads, Forward forward) {
  return [handler = std::move(handler), leads = std::move(leads), forward = std::move(forward)](
             const net::Request& request, const net::Peer& peer, std::stop_token stop) {
    if (leads()) return handler(request, peer, std::move(stop));
    const bool handed_on = !request.headers.get(kForwardedHeader).empty();
    if (!forward || handed_on) return come_again();
    net::Request onward = request;
    onward.headers.set(std::string(kForwardedHeader), "1");
    Result<net::Reply> answer = forward(onward);
    return answer ? std::move(*answer) : come_again();
  };
}

}  // namespace berth::app
