// What a request asks for, read from its method and URL. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"
#include "net/url.h"
#include "sim/kube/api_error.h"

namespace berth::sim::kube {

struct RequestInfo {
  // get, list, watch, create, update, patch, delete, deletecollection; the method in lower case
  // when it is not about a resource.
  std::string verb{};
  std::string path{};
  net::QueryList query{};

  bool is_resource = false;
  std::string group{};
  std::string version{};
  std::string resource{};
  std::string ns{};
  std::string name{};
  std::string subresource{};

  GroupResource group_resource() const { return {group, resource}; }
  // "pods/status".
  std::string full_resource() const {
    return subresource.empty() ? resource : resource + "/" + subresource;
  }
  // Empty when missing.
  std::string_view parameter(std::string_view key) const;
  // "true" and "1".
  bool flag(std::string_view key) const;
};

Outcome<RequestInfo> parse_request(const net::Request& request);

}  // namespace berth::sim::kube
