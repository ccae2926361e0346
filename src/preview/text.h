// A preview for people and for programs. Pure.
#pragma once

#include <string>

#include "preview/preview.h"
#include "wire/value.h"

namespace berth::preview {

std::string to_text(const Preview& preview);
wire::Value to_json(const Preview& preview);

}  // namespace berth::preview
