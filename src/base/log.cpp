#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>

#include "base/encoding.h"
#include "base/time.h"

namespace berth {
namespace {

std::atomic<LogLevel> g_level{LogLevel::info};
std::mutex g_sink_mutex;
LogSink g_sink;

constexpr std::string_view kLevelNames[] = {"debug", "info", "warn", "error"};

void write_to_stderr(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

void set_log_sink(LogSink sink) {
  const std::lock_guard lock(g_sink_mutex);
  g_sink = std::move(sink);
}

void set_log_level(LogLevel level) { g_level = level; }
bool log_enabled(LogLevel level) { return level >= g_level.load(std::memory_order_relaxed); }

void log(LogLevel level, std::string_view message, const LogFields& fields) {
  if (!log_enabled(level)) return;
  // Lines carry the wall clock of the process that writes them, also in simulation: they are not
  // part of it.
  const auto now =
      std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
  std::string line = "{\"ts\":\"" + format_rfc3339_micro(now) + "\",\"level\":\"";
  line += kLevelNames[static_cast<std::size_t>(level)];
  line += "\",\"msg\":";
  append_json_string(line, message);
  for (const auto& [key, value] : fields) {
    line += ',';
    append_json_string(line, key);
    line += ':';
    append_json_string(line, value);
  }
  line += '}';

  const std::lock_guard lock(g_sink_mutex);
  if (g_sink) {
    g_sink(line);
  } else {
    write_to_stderr(std::move(line));
  }
}

}  // namespace berth
