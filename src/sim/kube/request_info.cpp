#include "sim/kube/request_info.h"

#include <algorithm>
#include <vector>

#include "base/encoding.h"

namespace berth::sim::kube {

namespace {

Outcome<std::vector<std::string>> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  while (!path.empty()) {
    path.remove_prefix(path.starts_with('/') ? 1 : 0);
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) {
      Result<std::string> step = url_decode(path.substr(0, end));
      if (!step) return refuse(bad_request("the path is not valid: " + step.error().message));
      steps.push_back(std::move(*step));
    }
    path.remove_prefix(end);
  }
  return steps;
}

// Resources of a namespace itself; anything else after its name lies inside the namespace.
bool is_namespace_subresource(std::string_view step) {
  return step == "status" || step == "finalize";
}

std::string verb_of(const std::string& method, const RequestInfo& info) {
  const bool collection = info.name.empty();
  if (method == "GET") {
    if (!collection) return "get";
    return info.flag("watch") ? "watch" : "list";
  }
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return collection ? "deletecollection" : "delete";
  return {};
}

void read_resource(RequestInfo& info, std::vector<std::string> rest) {
  if (rest.size() >= 2 && rest[0] == "namespaces" &&
      !(rest.size() == 3 && is_namespace_subresource(rest[2]))) {
    if (rest.size() > 2) {
      info.ns = rest[1];
      rest.erase(rest.begin(), rest.begin() + 2);
    }
  }
  info.resource = rest[0];
  if (rest.size() > 1) info.name = rest[1];
  if (rest.size() > 2) info.subresource = rest[2];
  // A namespace is inside itself for whoever decides about access to it.
  if (info.group.empty() && info.resource == "namespaces") info.ns = info.name;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

}  // namespace

std::string_view RequestInfo::parameter(std::string_view key) const {
  for (const auto& [name_of, value] : query) {
    if (name_of == key) return value;
  }
  return {};
}

bool RequestInfo::flag(std::string_view key) const {
  const std::string_view value = parameter(key);
  return value == "true" || value == "1";
}

Outcome<RequestInfo> parse_request(const net::Request& request) {
  const net::Target target = net::split_target(request.url);
  RequestInfo info;
  info.path = target.path;
  Result<net::QueryList> query = net::parse_query(target.query);
  if (!query) return refuse(bad_request(query.error().message));
  info.query = std::move(*query);
  info.verb = lower(request.method);

  Outcome<std::vector<std::string>> steps = steps_of(target.path);
  if (!steps) return refuse(steps);
  const std::size_t head = !steps->empty() && steps->front() == "api"    ? 2
                           : !steps->empty() && steps->front() == "apis" ? 3
                                                                         : 0;
  if (head == 0 || steps->size() <= head) return info;
  if (head == 3) info.group = (*steps)[1];
  info.version = (*steps)[head - 1];
  info.is_resource = true;
  read_resource(info, {steps->begin() + static_cast<std::ptrdiff_t>(head), steps->end()});
  info.verb = verb_of(request.method, info);
  if (info.verb.empty()) return refuse(method_not_allowed());
  return info;
}

}  // namespace berth::sim::kube
