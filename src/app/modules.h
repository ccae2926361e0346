// The modules that there are.
#pragma once

#include <span>

#include "app/config.h"
#include "module/platform.h"

namespace berth::app {

// The core first.
std::span<const module::Module> all_modules();

// Of all of them, whether on or off.
module::Declarations all_declarations(const Config& config = {});

}  // namespace berth::app
