// Kubeconfigs come from users' disks: any text gives a configuration or an error that names the
// file. Nothing that a kubeconfig points to is opened here.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/client/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto config = parse_kubeconfig(text, "/folder/config");
  if (!config) {
    if (config.error().object != "/folder/config") std::abort();
    return 0;
  }
  // Merging a file with itself changes nothing.
  const auto counts = [&] {
    return std::array{config->clusters.size(), config->users.size(), config->contexts.size()};
  };
  const auto before = counts();
  merge_kubeconfig(*config, *config);
  if (counts() != before) std::abort();
  (void)select_context(*config, "");
  for (const ContextEntry& context : config->contexts) {
    const auto selected = select_context(*config, context.name);
    if (selected && selected->cluster.server.empty()) std::abort();
  }
  return 0;
}
