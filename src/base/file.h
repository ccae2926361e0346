// Small files, read and written whole. Any thread may call; a write of the same path by two is one
// of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

// Fails with the path in the message: not_found, forbidden, or invalid for a folder or for more
// than `max_bytes`. Pipes are read to their end.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

// Readers see the old content or the new, never a part: written beside the file, synced, renamed
// over it. The mode (0600 for secrets) holds from the first byte on, whatever the umask.
Result<> write_file(const std::string& path, std::string_view content, unsigned mode);

}  // namespace berth
