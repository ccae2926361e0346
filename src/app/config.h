// The configuration of a controller process, under the name by which the composition root is given
// it.
#pragma once

#include "module/config.h"

namespace berth::app {

using module::Config;
using module::kDefaultClusterId;

}  // namespace berth::app
