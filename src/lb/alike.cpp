#include "lb/alike.h"

namespace berth::lb {

bool are_alike(const model::ListenerSpec& a, const model::ListenerSpec& b) {
  if (a.ports.size() > 1 || b.ports.size() > 1) return false;
  if (a.protocol != b.protocol || a.attributes != b.attributes) return false;
  // Those of layer 7 come without their rules.
  if (model::is_layer7(a.protocol)) return true;
  const auto of = [](const model::ListenerSpec& spec) {
    return spec.rules.empty() ? model::RuleAttributes{} : spec.rules.front().attributes;
  };
  return of(a) == of(b);
}

}  // namespace berth::lb
