// Structured log: one JSON object a line with fixed keys (ts, level, msg, then the fields).
// Thread-safe.
//
// The sink is process-wide because a log line may come from anywhere; everything else is passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

enum class LogLevel : std::uint8_t { debug, info, warn, error };

using LogField = std::pair<std::string, std::string>;
using LogFields = std::vector<LogField>;

// Receives whole lines without the newline. An empty sink restores standard error.
using LogSink = std::function<void(std::string_view line)>;
void set_log_sink(LogSink sink);
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);

void log(LogLevel level, std::string_view message, const LogFields& fields = {});
inline void log_debug(std::string_view m, const LogFields& f = {}) { log(LogLevel::debug, m, f); }
inline void log_info(std::string_view m, const LogFields& f = {}) { log(LogLevel::info, m, f); }
inline void log_warn(std::string_view m, const LogFields& f = {}) { log(LogLevel::warn, m, f); }
inline void log_error(std::string_view m, const LogFields& f = {}) { log(LogLevel::error, m, f); }

}  // namespace berth
