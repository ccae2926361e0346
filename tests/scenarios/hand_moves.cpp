#include "hand_moves.h"

#include <array>

namespace berth::scenario {
namespace {

constexpr std::array kTenantMoves{
    HandMove{"asks for a port", 12, asks_for_a_port},
    HandMove{"asks for a decade", 2, asks_for_a_decade},
    HandMove{"removes a Pod", 6, removes_a_pod},
    HandMove{"copies a Pod", 6, copies_a_pod},
    HandMove{"forges a Pod", 6, forges_a_pod},
    HandMove{"edits a Pod", 5, edits_a_pod},
    HandMove{"asks no more", 4, asks_no_more},
    HandMove{"changes a token", 3, changes_a_token},
    HandMove{"ties a Pod", 2, ties_a_pod},
    HandMove{"posts a review", 3, posts_a_review},
    HandMove{"copies a Listener", 5, copies_a_listener},
    HandMove{"writes a Listener", 4, writes_a_listener},
    HandMove{"edits a claim", 5, edits_a_claim},
    HandMove{"edits a Listener", 8, edits_a_listener},
    HandMove{"deletes a Listener", 4, deletes_a_listener},
    HandMove{"makes a Listener again", 3, makes_a_listener_again},
    HandMove{"deletes a PortBinding", 2, deletes_a_binding},
    HandMove{"edits a PortBinding", 3, edits_a_binding},
    HandMove{"copies a PortBinding", 3, copies_a_binding},
    HandMove{"writes a pool", 4, writes_a_pool},
    HandMove{"moves an item", 3, moves_an_item},
    HandMove{"toggles an item", 4, toggles_an_item},
    HandMove{"swaps an item", 2, swaps_an_item},
    HandMove{"deletes a pool", 2, deletes_a_pool},
    HandMove{"edits a pool's status", 2, edits_a_pool_status},
    HandMove{"writes an Ingress", 6, writes_an_ingress, "ingresses"},
    HandMove{"changes an Ingress", 6, changes_an_ingress, "ingresses"},
    HandMove{"deletes an Ingress", 3, deletes_an_ingress, "ingresses"},
    HandMove{"edits an Ingress's status", 2, edits_an_ingress_status, "ingresses"},
};

constexpr std::array kOperatorMoves{
    HandMove{"deletes LoadBalancers", 5, deletes_balancers},
    HandMove{"edits grants", 5, edits_grants},
    HandMove{"edits a LoadBalancer", 2, edits_a_balancer},
    HandMove{"writes a LoadBalancer", 3, writes_a_balancer},
    HandMove{"takes the lease", 3, takes_the_lease},
    HandMove{"writes the lease", 3, writes_the_lease},
    HandMove{"makes a backup", 8, makes_a_backup},
    HandMove{"restores a kind", 4, restores_a_kind},
    HandMove{"edits a cloud listener", 3, edits_a_cloud_listener},
    HandMove{"deletes a cloud listener", 3, deletes_a_cloud_listener},
    HandMove{"takes a cloud port", 2, takes_a_cloud_port},
    HandMove{"makes a cloud listener", 2, makes_a_cloud_listener},
    HandMove{"edits a PortBlock", 4, edits_a_block, "portblocks"},
    HandMove{"copies a PortBlock", 3, copies_a_block, "portblocks"},
    HandMove{"deletes PortBlocks", 3, deletes_blocks, "portblocks"},
};

constexpr std::array kAdministratorMoves{
    HandMove{"edits a Pod's status", 4, edits_a_pod_status},
    HandMove{"deletes our Secret", 2, deletes_our_secret},
    HandMove{"edits our Secrets", 3, edits_our_secret},
    HandMove{"deletes our webhooks", 2, deletes_our_webhooks},
    HandMove{"restores everything", 2, restores_everything},
    HandMove{"takes the label off", 2, takes_the_label_off},
    HandMove{"deletes a namespace", 2, deletes_a_namespace},
    HandMove{"deletes a CRD", 1, deletes_a_definition},
};

}  // namespace

std::span<const HandMove> tenant_moves() { return kTenantMoves; }
std::span<const HandMove> operator_moves() { return kOperatorMoves; }
std::span<const HandMove> administrator_moves() { return kAdministratorMoves; }

}  // namespace berth::scenario
