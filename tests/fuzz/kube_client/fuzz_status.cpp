// What a server, or whatever stands in between, answers: any body gives a printable error of
// bounded length. The first two bytes choose the HTTP status.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/client/exec_credentials.h"
#include "kube/client/status.h"
#include "kube/client/warnings.h"

namespace {

void check(const berth::Error& error) {
  if (error.message.empty()) std::abort();
  if (error.message.size() > 2 * berth::kube::kMaxStatusMessage) std::abort();
  for (const std::string* text : {&error.message, &error.object, &error.field}) {
    if (std::ranges::any_of(*text, [](char c) { return c >= 0 && c < 0x20; })) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  if (size < 2) return 0;
  const int status = 300 + (data[0] * 256 + data[1]) % 300;
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const net::Headers headers{{"Retry-After", std::string(body.substr(0, 20))}};
  check(kube::error_from_response(status, headers, body));
  if (const auto value = wire::parse_json(body)) check(kube::error_from_status(*value));
  for (const std::string& text : kube::parse_warning(body)) {
    if (text.empty() || text.size() > kube::kMaxStatusMessage) std::abort();
  }
  if (const auto output = kube::parse_exec_output(body, "client.authentication.k8s.io/v1")) {
    if (output->token.empty() && output->certificate_pem.empty()) std::abort();
  }
  return 0;
}
