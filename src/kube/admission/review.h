// AdmissionReview, v1 and v1beta1: what the API server asks a webhook and what it must hear. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/client/resource.h"
#include "wire/value.h"

namespace berth::kube {

struct AdmissionRequest {
  std::string api_version;  // of the review: the answer has the same
  std::string uid;
  std::string operation;  // CREATE, UPDATE, DELETE, CONNECT
  std::string group;      // of the resource
  std::string version;
  std::string resource;  // plural
  std::string subresource;
  std::string ns;
  std::string name;  // may be empty at a creation with generateName
  std::string user;
  wire::Value object;      // null at a deletion
  wire::Value old_object;  // null at a creation
  bool dry_run = false;

  // "Pod games/room-0", for messages.
  std::string describe() const;
};

struct AdmissionAnswer {
  bool allowed = true;
  wire::Array patch{};                  // JSON Patch; only of a mutating hook
  std::vector<std::string> warnings{};  // shown to the person who sent the request
  // Of a refusal:
  int code = 403;
  std::string reason = "Forbidden";
  std::string message{};
};

// The refusal that says this error.
AdmissionAnswer refuse(const Error& error);

// Errors name what is missing or wrong in the review.
Result<AdmissionRequest> parse_review(std::string_view body);
std::string render_review(const AdmissionRequest& request, const AdmissionAnswer& answer);

}  // namespace berth::kube
