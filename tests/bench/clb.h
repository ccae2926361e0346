// Lines of port pools on Tencent's load balancers.
#pragma once

#include <vector>

#include "bench.h"

namespace berth::bench {

std::vector<Bench> clb_benches();

}  // namespace berth::bench
