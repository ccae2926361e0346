// For tests: requests to a server in a line, and answers as documents.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/server.h"
#include "wire/value.h"

namespace berth::sim::kube {

inline constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
inline constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
inline constexpr std::string_view kMergePatch = "application/merge-patch+json";
inline constexpr std::string_view kJsonPatch = "application/json-patch+json";
inline constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";

struct Got {
  int status = 0;
  wire::Value body{};
  std::string text{};
  std::vector<std::string> warnings{};
  std::shared_ptr<net::BytePipe> stream{};
  Duration delay{};

  std::string at(std::string_view pointer) const {
    const wire::Value* value = wire::find(body, pointer);
    if (value == nullptr) return "(none)";
    return value->is_string() ? std::string(value->get_string()) : wire::to_json(*value);
  }
};

// The events that a watch has received since it was last asked.
struct Events {
  std::vector<wire::Value> list{};
  bool ended = false;

  // "ADDED a, MODIFIED b"
  std::string summary() const {
    std::string text;
    for (const wire::Value& event : list) {
      if (!text.empty()) text += ", ";
      text += wire::string_at(event, "/type");
      const std::string_view name = wire::string_at(event, "/object/metadata/name");
      if (!name.empty()) text.append(" ").append(name);
    }
    return text;
  }
};

inline Events read_events(const Got& watch) {
  const net::BytePipe::Read read = watch.stream->read();
  Events events{.ended = read.ended};
  std::string_view rest = read.bytes;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    events.list.push_back(wire::parse_json(rest.substr(0, end)).value());
    rest.remove_prefix(end + 1);
  }
  return events;
}

class TestServer {
 public:
  explicit TestServer(ServerOptions options = {}) : server(std::move(options), now) {}

  Got call(std::string method, std::string url, std::string body = {},
           std::string_view content_type = "application/json", net::Headers headers = {}) {
    net::Request request{.method = std::move(method), .url = std::move(url)};
    request.headers = std::move(headers);
    request.headers.set("Content-Type", std::string(content_type));
    request.body = std::move(body);
    Answer answer = server.handle(request, peer, now);
    Got got{.status = answer.reply.status,
            .text = answer.reply.body,
            .stream = answer.reply.stream,
            .delay = answer.delay};
    for (const auto value : answer.reply.headers.all("Warning")) got.warnings.emplace_back(value);
    if (Result<wire::Value> parsed = wire::parse_json(got.text)) got.body = std::move(*parsed);
    return got;
  }
  Got get(std::string_view url) { return call("GET", std::string(url)); }
  Got post(std::string_view url, std::string body) {
    return call("POST", std::string(url), std::move(body));
  }
  Got put(std::string_view url, std::string body) {
    return call("PUT", std::string(url), std::move(body));
  }
  Got patch(std::string_view url, std::string body, std::string_view type = kMergePatch) {
    return call("PATCH", std::string(url), std::move(body), type);
  }
  Got remove(std::string_view url, std::string body = {}) {
    return call("DELETE", std::string(url), std::move(body));
  }
  Got config_map(std::string_view name, std::string_view labels = "{}") {
    return post(kConfigMaps,
                fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}},"data":{{"k":"v"}}}})",
                            name, labels));
  }

  WallTime now = parse_rfc3339("2026-01-02T03:04:05Z").value();
  net::Peer peer{};
  Server server;
};

inline std::string path(std::string_view collection, std::string_view rest) {
  return std::string(collection).append(rest);
}

}  // namespace berth::sim::kube
