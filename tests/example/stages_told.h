// What people see of Stages beside their status: lines of `berth status`, and `berth stages`. What
// a front end can do without, and most have.
#pragma once

#include "report/part.h"
#include "stages.h"

namespace berth::example::stages {

extern const report::Part kReport;
module::Command list_command();
// The module with its subcommand: what `declare` says once a front end has one.
module::Declaration declare_with_command(const module::Config& config);

}  // namespace berth::example::stages
