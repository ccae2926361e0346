// What the driver knows of a site (a listener that HAProxy carries) beside what is wished: the
// bytes of its certificates. Plain values.
#pragma once

#include <map>

#include "edge/haproxy/sites.h"

namespace berth::edge {

struct SiteCertificates {
  haproxy::SiteTls names{};
  haproxy::PemFiles files{};
};

struct SitePart {
  SiteCertificates whole{};
  std::map<model::RuleKey, SiteCertificates> by_rule{};
};

}  // namespace berth::edge
