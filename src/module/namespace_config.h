// The kind ControllerConfig of bcs-ingress-controller: where a namespace may have its keys of a
// cloud instead of in its Secret. It is read by name, where somebody has installed that kind.
#pragma once

#include <string_view>

#include "kube/client/resource.h"

namespace berth::module {

inline constexpr std::string_view kNamespaceConfig =
    "ingress-config.networkextension.bkbcs.tencent.com";

inline kube::ResourceType controller_config_type() {
  return {"networkextension.bkbcs.tencent.com", "v1", "controllerconfigs", "ControllerConfig"};
}

}  // namespace berth::module
