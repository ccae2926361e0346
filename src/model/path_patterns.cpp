#include "model/path_patterns.h"

namespace berth::model {

bool has_path_patterns(Provider provider) { return provider == Provider::tencent; }

}  // namespace berth::model
