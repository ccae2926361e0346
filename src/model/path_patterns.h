// Whether rules of a provider may have regular expressions for paths, beside how paths begin. Plain
// values.
#pragma once

#include "model/provider.h"

namespace berth::model {

bool has_path_patterns(Provider provider);

}  // namespace berth::model
