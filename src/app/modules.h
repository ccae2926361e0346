// The modules that there are.
#pragma once

#include <span>

#include "app/config.h"
#include "module/platform.h"
#include "report/part.h"

namespace berth::app {

// The core first.
std::span<const module::Module> all_modules();

// Of all of them, whether on or off.
module::Declarations all_declarations(const Config& config = {});
report::Parts all_report_parts();

}  // namespace berth::app
