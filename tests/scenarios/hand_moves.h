// The moves, by what they lay hands on; hand_moves.cpp says who makes which, and how often.
#pragma once

#include "api/keys.h"
#include "api/pod_ports.h"
#include "claims/slot.h"
#include "hands.h"
#include "ledger/claim.h"

namespace berth::scenario {

// Pods (hand_pods.cpp).
void asks_for_a_port(Hand& hand);
void asks_for_a_decade(Hand& hand);
void removes_a_pod(Hand& hand);
void copies_a_pod(Hand& hand);
void forges_a_pod(Hand& hand);
void edits_a_pod(Hand& hand);
void asks_no_more(Hand& hand);
void changes_a_token(Hand& hand);
void ties_a_pod(Hand& hand);
void posts_a_review(Hand& hand);

// Listeners and PortBindings (hand_listeners.cpp).
void copies_a_listener(Hand& hand);
void writes_a_listener(Hand& hand);
void edits_a_claim(Hand& hand);
void edits_a_listener(Hand& hand);
void deletes_a_listener(Hand& hand);
void makes_a_listener_again(Hand& hand);
void deletes_a_binding(Hand& hand);
void edits_a_binding(Hand& hand);
void copies_a_binding(Hand& hand);

// Pools (hand_pools.cpp).
void writes_a_pool(Hand& hand);
void moves_an_item(Hand& hand);
void toggles_an_item(Hand& hand);
void swaps_an_item(Hand& hand);
void deletes_a_pool(Hand& hand);
void edits_a_pool_status(Hand& hand);

// Ingresses and PortBlocks, in houses that have some (hand_ingresses.cpp).
void writes_an_ingress(Hand& hand);
void changes_an_ingress(Hand& hand);
void deletes_an_ingress(Hand& hand);
void edits_an_ingress_status(Hand& hand);
void edits_a_block(Hand& hand);
void copies_a_block(Hand& hand);
void deletes_blocks(Hand& hand);

// Load balancers, past the API server (hand_provider.cpp).
void edits_a_cloud_listener(Hand& hand);
void deletes_a_cloud_listener(Hand& hand);
void takes_a_cloud_port(Hand& hand);
void makes_a_cloud_listener(Hand& hand);

// What is the cluster's (hand_cluster.cpp).
void deletes_balancers(Hand& hand);
void edits_grants(Hand& hand);
void edits_a_balancer(Hand& hand);
void writes_a_balancer(Hand& hand);
void takes_the_lease(Hand& hand);
void writes_the_lease(Hand& hand);
void makes_a_backup(Hand& hand);
void restores_a_kind(Hand& hand);
void edits_a_pod_status(Hand& hand);
void deletes_our_secret(Hand& hand);
void edits_our_secret(Hand& hand);
void deletes_our_webhooks(Hand& hand);
void restores_everything(Hand& hand);
void takes_the_label_off(Hand& hand);
void deletes_a_namespace(Hand& hand);
void deletes_a_definition(Hand& hand);

}  // namespace berth::scenario
