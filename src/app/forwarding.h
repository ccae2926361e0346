// How a replica hands a request on to the leader, and how the leader takes it.
//
// Forwarded requests have a server of their own, with TLS and the certificate of our webhooks: by
// it the leader is known to the replica, whatever stands at its address by now. The replica is
// known to the leader by a word that only those know who have our keys, and so are its words about
// who asked. What arrives there is answered or refused, never handed on: no request goes round in
// circles.
//
// A request is sent once. When no whole answer comes, nobody knows whether it was carried out; who
// asked may come again, and must be told so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/app.h"
#include "app/leader_only.h"
#include "base/context.h"
#include "crypto/key_ring.h"
#include "net/transport.h"

namespace berth::app {

// The leader has this long for an answer: less than clients wait.
inline constexpr Duration kForwardDeadline = std::chrono::seconds{10};
// Of an answer that is handed back.
inline constexpr std::size_t kMaxForwardedReplyBytes = 8u << 20;
// The headers that we add to a request.
inline constexpr std::size_t kForwardHeaderBytes = 8u << 10;

// On the side of those who follow. Everything is asked for each request; any thread.
struct LeaderSeams {
  Tasks& tasks;
  net::Transport& transport;
  std::function<Result<std::string>()> address;  // of the leader: "192.0.2.1:9444"
  // By which the leader is known; null: not known yet.
  std::function<std::shared_ptr<const net::TlsSettings>()> tls;
  std::function<std::shared_ptr<const crypto::KeyRing>()> keys;
  metrics::Registry& registry;
};
Forward forward_to_leader(LeaderSeams seams, std::string server);

// On the side of the leader: the handler of the server for requests that were handed on.
net::Handler take_forwarded(std::vector<ModuleServer> servers, std::function<bool()> leads,
                            std::function<std::shared_ptr<const crypto::KeyRing>()> keys);

}  // namespace berth::app
