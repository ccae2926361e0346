// The refusals of an API server: what kube-apiserver answers as a `Status` object, with the same
// reasons, codes and sentences. Plain values; any thread.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/value.h"

namespace berth::sim::kube {

// A resource as refusals name it: "pods", "deployments.apps".
struct GroupResource {
  std::string group{};
  std::string resource{};

  std::string qualified() const { return group.empty() ? resource : resource + "." + group; }
  friend auto operator<=>(const GroupResource&, const GroupResource&) = default;
};

// One entry of details.causes.
struct Cause {
  std::string reason{};
  std::string message{};
  std::string field{};
};
using Causes = std::vector<Cause>;

// The kinds of field errors and their sentences ("Invalid value: 70000: must be ...").
Cause required_value(std::string field, std::string_view detail = {});
Cause invalid_value(std::string field, const wire::Value& value, std::string_view detail);
Cause forbidden_value(std::string field, std::string_view detail);
Cause unsupported_value(std::string field, const wire::Value& value,
                        const std::vector<std::string>& supported);
// A value as field errors print it: text in quotes, everything else as JSON.
std::string shown_value(const wire::Value& value);

struct [[nodiscard]] ApiError {
  int code = 500;
  std::string reason{};
  std::string message{};
  bool has_details = false;
  std::string name{};  // details.name
  GroupResource about{};
  Causes causes{};
  int retry_after_seconds = 0;
  std::string continue_token{};  // metadata.continue of an expired page
  bool plain_text = false;       // the message is the whole body
  // Instead of the details above: what a webhook gave.
  std::optional<wire::Value> given_details{};

  wire::Value to_status() const;
};

template <class T = void>
class [[nodiscard]] Outcome : public std::expected<T, ApiError> {
 public:
  using std::expected<T, ApiError>::expected;
};
using Refusal = std::unexpected<ApiError>;

inline Refusal refuse(ApiError error) { return Refusal(std::move(error)); }
template <class T>
Refusal refuse(Outcome<T>& outcome) {
  return Refusal(std::move(outcome.error()));
}

ApiError bad_request(std::string message);
ApiError unauthorized();
ApiError forbidden(const GroupResource& resource, std::string_view name, std::string_view why);
ApiError page_not_found();
ApiError unknown_resource();
ApiError not_found(const GroupResource& resource, std::string_view name);
ApiError method_not_allowed();
ApiError already_exists(const GroupResource& resource, std::string_view name);
ApiError conflict(const GroupResource& resource, std::string_view name, std::string_view why);
ApiError modified_meanwhile(const GroupResource& resource, std::string_view name);
ApiError expired(std::string message);
ApiError unsupported_media_type(std::string message, bool with_details = true);
// `kind.resource` holds the kind ("Pod"), as these refusals are worded.
ApiError invalid(const GroupResource& kind, std::string_view name, Causes causes);
ApiError invalid_patch();
ApiError too_many_requests(int retry_after_seconds);
ApiError internal_error(std::string message);
ApiError too_large_version(std::uint64_t asked, std::uint64_t current);

}  // namespace berth::sim::kube
