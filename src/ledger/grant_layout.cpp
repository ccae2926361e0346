#include "ledger/grant_layout.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace berth::ledger {
namespace {

// The blocks that a grant lies on without lying in one of them cannot be handed on.
bool cuts(const Grant& grant, const BlockPorts& block) {
  return lies_on(grant, block) && (!lies_in(grant, block) || is_block(grant));
}

}  // namespace

std::optional<BlockPorts> block_around(const BlockPorts& ports, const Layout& layout) {
  const std::uint32_t size = std::max<std::uint32_t>(layout.block_ports, 1);
  const std::uint32_t first = ports.ports.first / size * size;
  const std::uint32_t last = std::min<std::uint32_t>(first + size - 1, 65535);
  if (ports.ports.last > last) return std::nullopt;
  return BlockPorts{ports.transport,
                    {static_cast<model::Port>(std::max<std::uint32_t>(first, 1)),
                     static_cast<model::Port>(last)}};
}

Site site_of(std::span<const Grant> list, const Grant& wanted, const Layout& layout) {
  Site out;
  std::size_t direct = 0;
  std::size_t beside = 0;  // in the same block
  const std::optional<BlockPorts> around = block_around(ports_of(wanted), layout);
  bool is_cut = !around;
  for (const Grant& grant : list) {
    if (!is_block(grant)) ++direct;
    if (is_block(grant) && lies_on(grant, ports_of(wanted))) out.blocks.push_back(grant);
    is_cut = is_cut || cuts(grant, *around);
    if (around && lies_in(grant, *around)) ++beside;
  }
  const bool is_crowded = direct >= layout.noticeable_list && beside >= layout.crowded_block;
  if (!out.blocks.empty()) {
    const bool inside = out.blocks.size() == 1 && lies_in(wanted, ports_of(out.blocks.front()));
    out.where = inside ? Where::block : Where::cut;
  } else if (!is_cut && (direct >= layout.long_list || is_crowded)) {
    out.where = Where::new_block;
    out.handed_on = *around;
  }
  return out;
}

LaidOut handed_on(std::vector<Grant> list, std::span<const BlockPorts> blocks) {
  LaidOut out;
  for (const BlockPorts& block : blocks) out.blocks.push_back({block, {}});
  for (Grant& grant : list) {
    const auto home = std::ranges::find_if(
        out.blocks, [&](const NewBlock& one) { return lies_in(grant, one.block); });
    (home == out.blocks.end() ? out.list : home->grants).push_back(std::move(grant));
  }
  return out;
}

LaidOut laid_out(std::vector<Grant> grants, const Layout& layout) {
  if (grants.size() <= layout.long_list) return {.list = std::move(grants)};
  std::map<BlockPorts, std::vector<Grant>> inside;
  LaidOut out;
  for (Grant& grant : grants) {
    const auto block = block_around(ports_of(grant), layout);
    (block ? inside[*block] : out.list).push_back(std::move(grant));
  }
  // What lies in no block cuts all that it lies on.
  const std::vector<Grant> wide = out.list;
  for (auto& [block, own] : inside) {
    const bool is_cut = std::ranges::any_of(
        wide, [&ports = block](const Grant& grant) { return lies_on(grant, ports); });
    // One for one would make nothing shorter.
    if (is_cut || own.size() < 2) {
      std::ranges::move(own, std::back_inserter(out.list));
    } else {
      out.blocks.push_back({block, std::move(own)});
    }
  }
  sort_by_port(out.list);
  return out;
}

void sort_by_port(std::vector<Grant>& grants) {
  std::ranges::sort(grants, {}, [](const Grant& grant) {
    return std::tuple(grant.ports.first, grant.transport);
  });
}

}  // namespace berth::ledger
