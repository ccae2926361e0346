// For tests of the Claimer: two replicas that claim ports of one pool.
#pragma once

#include <gtest/gtest.h>

#include "claims/test_replica.h"

namespace berth::claims {

inline const kube::ResourceType& kListener = api::listener_kind().type;
inline const SlotRequest kTcp{
    .pool = {"games", "rooms"}, .protocols = {model::Protocol::tcp}, .pod_port = {.port = 8000}};

class ClaimerTest : public ::testing::Test {
 protected:
  // `end` is the port behind the last, from 30000 on.
  void open(std::int64_t end, std::string protocol = "TCP") {
    api::PortPoolItem item = testing::tcp_item("item1", 30000, end);
    item.protocol = std::move(protocol);
    const api::PortPool pool = testing::pool_with({item});
    testing::open_pool(api_, pool);
    for (testing::TestReplica* one : {&here_, &there_}) {
      one->know(pool);
      one->catch_up();
    }
  }
  ledger::Claim claim(const std::string& token) {
    return {.token = token,
            .ns = "games",
            .pod_name = "pod-" + token,
            .request = "request",
            .since = tasks_.wall_time()};
  }
  Result<std::vector<TakenSlot>> claim_at(testing::TestReplica& replica, const std::string& token,
                                          std::vector<SlotRequest> requests = {kTcp}) {
    return replica.claimer.claim_all(context_, requests, claim(token));
  }
  // "30000 30001" of what was taken, or the word of the error.
  static std::string ports(const Result<std::vector<TakenSlot>>& taken) {
    if (!taken) return std::string(traits_of(taken.error().code).name);
    std::string out;
    for (const TakenSlot& slot : *taken)
      out += fmt::format("{}{}", out.empty() ? "" : " ", slot.ports.first);
    return out;
  }
  static kube::ObjectKey listener(int port, std::string_view protocol = "tcp") {
    return {"games", fmt::format("demo-{}-{}", protocol, port)};
  }
  // What the server has.
  std::string claim_on(int port, std::string_view protocol = "tcp") const {
    return std::string(wire::string_at(
        *api_.find(kListener, listener(port, protocol)),
        "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation)));
  }
  // The token of the claim there; empty for a free port.
  std::string holder_of(int port, std::string_view protocol = "tcp") const {
    const auto claim = ledger::decode_claim(claim_on(port, protocol)).value();
    return claim ? claim->token : std::string();
  }

  kube::testing::JumpingTasks tasks_;
  kube::testing::ScriptedApi api_;
  testing::TestReplica here_{tasks_, api_};
  testing::TestReplica there_{tasks_, api_};
  const Context context_{.tasks = tasks_};
};

}  // namespace berth::claims
