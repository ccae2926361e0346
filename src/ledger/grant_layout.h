// Where the grants of a load balancer are written: all in its own list while that is short; when it
// is long, blocks of ports are handed on to lists of their own. A block that was handed on is one
// grant of the list, whose owner is the block. Pure.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ledger/grants.h"

namespace berth::ledger {

// The kind of owner of a grant that hands a block on.
inline constexpr std::string_view kBlockOwner = "PortBlock";
inline bool is_block(const Grant& grant) { return grant.owner.kind == kBlockOwner; }

struct Layout {
  // So many grants lie in the list itself before a block is handed on, however few lie in it.
  std::size_t long_list = 512;
  // Each write of the list is answered with all of it, and each write of a block is followed by a
  // look at it. So where ports are wanted one beside the other, a block goes earlier: when the list
  // has so many grants, and the block so many of them.
  std::size_t noticeable_list = 64;
  std::size_t crowded_block = 16;
  // The blocks of all ports of both transports fit into one list then, and a block of one owner for
  // each port is written as quickly as any object.
  std::uint16_t block_ports = 128;
};

struct BlockPorts {
  model::Transport transport = model::Transport::tcp;
  model::PortRange ports{};
  friend auto operator<=>(const BlockPorts&, const BlockPorts&) = default;
};
inline bool lies_in(const Grant& grant, const BlockPorts& block) {
  return grant.transport == block.transport && block.ports.contains(grant.ports);
}
inline bool lies_on(const Grant& grant, const BlockPorts& block) {
  return grant.transport == block.transport && block.ports.overlaps(grant.ports);
}
inline BlockPorts ports_of(const Grant& grant) { return {grant.transport, grant.ports}; }

// Nothing when the ports lie in two blocks.
std::optional<BlockPorts> block_around(const BlockPorts& ports, const Layout& layout);

// Where what is wanted is written.
enum class Where : std::uint8_t {
  list,
  block,      // the one in `blocks`
  cut,        // it lies on `blocks`, and in none of them: they must be taken back
  new_block,  // `handed_on` first
};
struct Site {
  Where where = Where::list;
  std::vector<Grant> blocks{};  // of the list: those that it lies on
  BlockPorts handed_on{};
};
// Cost: the list.
Site site_of(std::span<const Grant> list, const Grant& wanted, const Layout& layout);

// A block that shall have a list of its own.
struct NewBlock {
  BlockPorts block{};
  std::vector<Grant> grants{};
};
struct LaidOut {
  std::vector<Grant> list{};
  std::vector<NewBlock> blocks{};
};
// The list without what lies in these blocks, each of which no grant of it cuts.
LaidOut handed_on(std::vector<Grant> list, std::span<const BlockPorts> blocks);
// Grants that stand nowhere yet. Those that would make the list long go into blocks, where nothing
// cuts them.
LaidOut laid_out(std::vector<Grant> grants, const Layout& layout);

// By port, as lists are written.
void sort_by_port(std::vector<Grant>& grants);

}  // namespace berth::ledger
