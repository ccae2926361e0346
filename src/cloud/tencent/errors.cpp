#include "cloud/tencent/errors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace berth::cloud::tencent {
namespace {

// The first row that fits counts. A code fits itself and what begins with it and a dot; an empty
// code fits all, and so does an empty text of the message.
struct Row {
  std::string_view code;
  std::string_view text;
  Code meaning;
  std::string_view hint = {};
  bool concerns_entries = false;  // of a batch; beside those whose meaning says so
};

constexpr std::string_view kVpcHint =
    "the load balancer is in another VPC than the cluster: use one of the cluster's VPC and "
    "region, or bind across regions (docs/tencent.md)";
constexpr std::string_view kPermissionHint =
    "the SecretId lacks a permission: grant what docs/tencent.md lists; nothing has to be "
    "restarted";
constexpr std::string_view kKeyHint =
    "SecretId or SecretKey is wrong: in a Kubernetes Secret both are base64 of the text without "
    "a line break (echo -n)";
constexpr std::string_view kRegionHint =
    "loadbalancer not found: no such load balancer in this region: check --region, or write the "
    "reference as ap-xxx:lb-xxx";

constexpr std::string_view kCertificateHint =
    "check certID and certCaID: they are ids of SSL certificates of this account, and a client's "
    "authority is a CA certificate";

constexpr std::array kRows{
    // What users of the quick start met, by the words that they see.
    Row{"", "is not add to global route", Code::forbidden, kVpcHint, true},
    Row{"", "before enable SnatPro", Code::forbidden,
        "the target is in another region or VPC: use a load balancer of the cluster's VPC and "
        "region, or switch on SnatPro and give it SNAT addresses (docs/tencent.md)",
        true},
    Row{"", "not network shift up", Code::forbidden,
        "Pods can be bound directly only by accounts whose bandwidth is counted at the load "
        "balancer (bandwidth shifted up): ask Tencent's support",
        true},
    Row{"", "not allow to create port range listener", Code::forbidden,
        "listeners of port ranges need the account on a whitelist: ask Tencent's support", true},
    Row{"", "has no permission", Code::forbidden, kPermissionHint},
    Row{"InvalidParameter.LBIdNotFound", "", Code::not_found, kRegionHint},
    Row{"", "LoadBalancer not exist", Code::not_found, kRegionHint},
    Row{"", "LB not exist", Code::not_found, kRegionHint},

    Row{"RequestLimitExceeded", "", Code::throttled},
    Row{"FailedOperation.ResourceInOperating", "", Code::unavailable},
    Row{"FailedOperation.ResourceInCloning", "", Code::unavailable},
    Row{"InternalError", "", Code::unavailable},

    Row{"AuthFailure.SignatureExpire", "", Code::forbidden,
        "the clock of this machine and the cloud's differ by more than five minutes"},
    Row{"AuthFailure.UnauthorizedOperation", "", Code::forbidden, kPermissionHint},
    Row{"AuthFailure", "", Code::forbidden, kKeyHint},
    Row{"UnauthorizedOperation", "", Code::forbidden, kPermissionHint},
    Row{"OperationDenied", "", Code::forbidden},

    Row{"InvalidParameter.ListenerIdNotFound", "", Code::not_found},
    Row{"InvalidParameter", "some ListenerId", Code::not_found},
    Row{"InvalidParameter.LocationNotFound", "", Code::not_found},
    Row{"ResourceNotFound", "", Code::not_found},
    Row{"InvalidParameter.PortCheckFailed", "", Code::already_exists},
    Row{"", "PortCheckFailed", Code::already_exists},
    Row{"InvalidParameterValue.Duplicate", "", Code::already_exists},
    Row{"InvalidParameter.RegionNotFound", "", Code::invalid,
        "there is no such region: check --region and the part before the colon"},
    Row{"UnsupportedRegion", "", Code::invalid,
        "there is no such region: check --region and the part before the colon"},

    Row{"LimitExceeded", "", Code::exhausted,
        "a quota of the account or of the load balancer is reached: have it raised, or use "
        "another load balancer"},
    Row{"ResourceInsufficient", "", Code::exhausted},
    Row{"ResourcesSoldOut", "", Code::exhausted},
    Row{"FailedOperation.InsufficientBalance", "", Code::exhausted,
        "the account has not enough money"},
    Row{"FailedOperation.TargetNumCheckRisk", "", Code::forbidden},
    Row{"FailedOperation.TrafficCheckRisk", "", Code::forbidden},
    Row{"FailedOperation.FrequencyCheckRisk", "", Code::forbidden},
    Row{"FailedOperation.EipTrafficCheckRisk", "", Code::forbidden},
    Row{"FailedOperation", "ertificate", Code::conflict, kCertificateHint},
    Row{"FailedOperation", "", Code::conflict},
    Row{"ResourceInUse", "", Code::conflict},

    Row{"InvalidParameter", "ertificate", Code::invalid, kCertificateHint},
    Row{"InvalidParameterValue", "ertificate", Code::invalid, kCertificateHint},
    Row{"InvalidParameter", "", Code::invalid},
    Row{"InvalidParameterValue", "", Code::invalid},
    Row{"InvalidParameterCombination", "", Code::invalid},
    Row{"MissingParameter", "", Code::invalid},
    Row{"UnknownParameter", "", Code::invalid},
    Row{"UnsupportedOperation", "", Code::unsupported},
    Row{"UnsupportedProtocol", "", Code::unsupported},
    Row{"InvalidAction", "", Code::unsupported},
    Row{"NoSuchVersion", "", Code::unsupported},
};

constexpr std::string_view kTaskOf = "the task of ";

// What the cloud gives no time for.
constexpr std::chrono::seconds kPauseWhenThrottled{1};

bool fits(const Row& row, std::string_view code, std::string_view message) {
  const bool has_code =
      row.code.empty() || code == row.code ||
      (code.starts_with(row.code) && code.size() > row.code.size() && code[row.code.size()] == '.');
  return has_code && (row.text.empty() || message.find(row.text) != std::string_view::npos);
}

const Row* find_row(std::string_view code, std::string_view message) {
  const auto it =
      std::ranges::find_if(kRows, [&](const Row& row) { return fits(row, code, message); });
  return it == kRows.end() ? nullptr : &*it;
}

Error made_of(Code code, std::string message, const Row* row, std::string_view request_id) {
  Error error{.code = code, .message = std::move(message)};
  if (row) error.hint = row->hint;
  error.request_id = request_id;
  if (code == Code::throttled) error.retry_after = kPauseWhenThrottled;
  return error;
}

}  // namespace

Error error_from(const CloudError& refusal, Effect effect, std::string_view action) {
  const Row* const row = find_row(refusal.code, refusal.message);
  Code code = row ? row->meaning : Code::internal;
  if (effect == Effect::write && refusal.code.starts_with("InternalError")) code = Code::timeout;
  Error error =
      made_of(code, fmt::format("{}: {}", refusal.code, refusal.message), row, refusal.request_id);
  if (error.hint == kPermissionHint) error.hint = fmt::format("clb:{}: {}", action, error.hint);
  error.object = action;
  return error;
}

Error failure_of(std::string_view message, std::string_view request_id) {
  const Row* const row = find_row("", message);
  return made_of(
      row ? row->meaning : Code::conflict,
      message.empty() ? "the cloud could not do it and says no reason" : std::string(message), row,
      request_id);
}

Error task_failure_of(std::string_view action, std::string_view message,
                      std::string_view request_id) {
  return failure_of(message, request_id).about(fmt::format("{}{}", kTaskOf, action));
}

bool is_of_task(const Error& error) { return error.object.starts_with(kTaskOf); }

Error refused_together(Error error) {
  error.code = is_of_task(error) ? Code::conflict : Code::unavailable;
  error.message =
      fmt::format("refused together with others, and not tried alone yet: {}", error.message);
  return error;
}

Error in_doubt(Error error) {
  if (error.code != Code::timeout && error.code != Code::stopped) error.code = Code::conflict;
  return error;
}

bool may_concern_some(const Error& error) {
  switch (error.code) {
    case Code::invalid:
    case Code::unsupported:
    case Code::exhausted:  // some may have room
    case Code::already_exists: return true;
    case Code::not_found: return !is_balancer_gone(error);
    case Code::forbidden: {
      const Row* const row = find_row("", error.message);
      return row && row->concerns_entries;
    }
    default: return false;
  }
}

bool is_balancer_gone(const Error& error) {
  constexpr std::array<std::string_view, 3> kTexts{"LBIdNotFound", "LoadBalancer not exist",
                                                   "LB not exist"};
  return error.code == Code::not_found && std::ranges::any_of(kTexts, [&](std::string_view text) {
           return error.message.find(text) != std::string::npos;
         });
}

std::uint32_t told_limit(std::string_view message) {
  constexpr std::string_view kBefore = "frequency limit `";
  const std::size_t at = message.find(kBefore);
  if (at == std::string_view::npos) return 0;
  const std::string_view number = message.substr(at + kBefore.size());
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out);
  return error == std::errc{} && end != number.data() + number.size() && *end == '`' ? out : 0;
}

bool is_busy(std::string_view code) {
  return code == "FailedOperation.ResourceInOperating" ||
         code == "FailedOperation.ResourceInCloning";
}

bool is_clock_error(std::string_view code) { return code == "AuthFailure.SignatureExpire"; }

}  // namespace berth::cloud::tencent
