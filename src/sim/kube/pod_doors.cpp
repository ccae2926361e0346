#include "sim/kube/pod_doors.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "net/websocket.h"
#include "sim/kube/object_meta.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Channels of the remote command protocol, v4 and v5.
constexpr char kStdout = 1;
constexpr char kStderr = 2;
constexpr char kStatus = 3;
// Clients read messages into buffers of this size.
constexpr std::size_t kMaxMessage = 32u << 10;

Outcome<std::string> container_of(const RequestInfo& info, const Value& pod) {
  std::vector<std::string> names;
  for (const char* list : {"/spec/initContainers", "/spec/containers"}) {
    const Array* containers = wire::array_at(pod, list);
    for (const Value& one : containers ? *containers : Array{}) {
      names.emplace_back(wire::string_at(one, "/name"));
    }
  }
  const std::string wanted(info.parameter("container"));
  if (wanted.empty()) {
    const Array* containers = wire::array_at(pod, "/spec/containers");
    if (containers != nullptr && containers->size() == 1) return names.back();
    return refuse(bad_request(
        fmt::format("a container name must be specified for pod {}, choose one of: [{}]",
                    name_of(pod), fmt::join(names, " "))));
  }
  if (std::ranges::find(names, wanted) != names.end()) return wanted;
  return refuse(
      bad_request(fmt::format("container {} is not valid for pod {}", wanted, name_of(pod))));
}

Outcome<std::optional<std::size_t>> count_of(const RequestInfo& info, const char* key, int least) {
  const std::string_view text = info.parameter(key);
  if (text.empty()) return std::optional<std::size_t>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return refuse(bad_request(fmt::format("{}: \"{}\" is no number", key, text)));
  }
  if (number >= least) return std::optional(static_cast<std::size_t>(number));
  return refuse(invalid({"", "PodLogOptions"}, info.name,
                        {invalid_value(key, Value(number),
                                       least == 0 ? "must be greater than or equal to 0"
                                                  : "must be greater than 0")}));
}

std::string last_lines(std::string text, std::size_t lines) {
  if (lines == 0) return {};
  // The end of the line before the ones to keep.
  std::size_t end = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (; lines > 0; --lines) {
    end = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    if (end == std::string::npos) return text;
  }
  return text.substr(end + 1);
}

void append_channel(std::string& frames, char channel, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kMaxMessage);
    net::append_message(frames, std::string(1, channel).append(part));
    bytes.remove_prefix(part.size());
  }
}

Value exit_status(int code) {
  if (code == 0) return Object{{"metadata", Object{}}, {"status", "Success"}};
  return Object{
      {"metadata", Object{}},
      {"status", "Failure"},
      {"message", fmt::format("command terminated with non-zero exit code: exit status {}", code)},
      {"reason", "NonZeroExitCode"},
      {"details", Object{{"causes", Array{Object{{"reason", "ExitCode"},
                                                 {"message", std::to_string(code)}}}}}}};
}

}  // namespace

Outcome<net::Reply> read_log(const RequestInfo& info, const Value& pod, PodRuntime* runtime) {
  Outcome<std::optional<std::size_t>> tail = count_of(info, "tailLines", 0);
  if (!tail) return refuse(tail);
  Outcome<std::optional<std::size_t>> limit = count_of(info, "limitBytes", 1);
  if (!limit) return refuse(limit);
  Outcome<std::string> container = container_of(info, pod);
  if (!container) return refuse(container);
  if (wire::string_at(pod, "/spec/nodeName").empty()) return net::Reply{.status = 204};
  net::Reply reply{.headers = {{"Content-Type", "text/plain"}}};
  if (runtime == nullptr) return reply;
  Result<std::string> text = runtime->log(pod, *container, info.flag("previous"));
  if (!text) return refuse(bad_request(text.error().message));
  reply.body = *tail ? last_lines(std::move(*text), **tail) : std::move(*text);
  if (*limit && reply.body.size() > **limit) reply.body.resize(**limit);
  return reply;
}

Outcome<net::Reply> run_command(const RequestInfo& info, const net::Request& http, const Value& pod,
                                PodRuntime* runtime) {
  Outcome<std::string> container = container_of(info, pod);
  if (!container) return refuse(container);
  if (wire::string_at(pod, "/spec/nodeName").empty()) {
    return refuse(bad_request(fmt::format("pod {} does not have a host assigned", name_of(pod))));
  }
  const auto protocol = net::offered_protocol(http, {"v5.channel.k8s.io", "v4.channel.k8s.io"});
  if (!protocol) return refuse(bad_request("Upgrade request required"));
  if (runtime == nullptr) return refuse(internal_error("error dialing backend: no node is there"));
  std::vector<std::string> command;
  for (const auto& [key, value] : info.query) {
    if (key == "command") command.push_back(value);
  }
  Result<ExecResult> result = runtime->exec(pod, *container, command);
  if (!result) return refuse(internal_error(result.error().message));
  std::string frames;
  if (info.flag("stdout")) {
    append_channel(frames, kStdout, std::string_view(result->output).substr(0, kMaxExecOutput));
  }
  if (info.flag("stderr")) {
    append_channel(frames, kStderr, std::string_view(result->errors).substr(0, kMaxExecOutput));
  }
  append_channel(frames, kStatus, wire::to_json(exit_status(result->exit_code)));
  net::append_close(frames);
  return net::websocket_reply(http, *protocol, std::move(frames));
}

}  // namespace berth::sim::kube
