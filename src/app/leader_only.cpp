#include "app/leader_only.h"

namespace berth::app {
namespace {

// A failover takes seconds; a replica that has just begun to lead, less.
constexpr const char* kRetryAfterSeconds = "1";

}  // namespace

net::Reply come_again(std::string_view why) {
  return {.status = 503,
          .headers = {{"Retry-After", kRetryAfterSeconds}, {"Content-Type", "text/plain"}},
          .body = std::string(why) + "\n"};
}

net::Handler leader_only(net::Handler handler, std::function<bool()> leads, Forward forward) {
  return [handler = std::move(handler), leads = std::move(leads), forward = std::move(forward)](
             const net::Request& request, const net::Peer& peer, std::stop_token stop) {
    if (leads()) return handler(request, peer, std::move(stop));
    if (!forward) return come_again("another replica leads");
    Result<net::Reply> answer = forward(request, peer, std::move(stop));
    return answer ? std::move(*answer) : come_again(answer.error().message);
  };
}

}  // namespace berth::app
