// Annotations come from anybody who may create a Pod: any text gives requests, bindings or a
// duration that make sense, or an error that names the annotation.
#include <string>

#include "api/go_duration.h"
#include "api/pod_ports.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using fuzz::check;
  const std::string_view text = fuzz::as_text(data, size);

  const auto requests = api::parse_port_requests(text, "games");
  check(requests || !requests.error().field.empty(), "a refusal names the annotation");
  if (requests) {
    check(!requests->empty() && requests->size() <= api::kMaxPortRequests, "as many as allowed");
    for (const api::PortRequest& request : *requests) {
      check(!request.pool.name.empty() && !request.pool.ns.empty(), "a pool is named");
      check(request.port_name.empty() == (request.port != 0), "a port by name or by number");
      check(request.protocols.size() <= 2, "TCP, UDP, both or the container's");
    }
  }

  const auto bindings = api::decode_pool_bindings(text);
  check(bindings || !bindings.error().field.empty(), "a refusal names the annotation");
  if (bindings) {
    const auto again = api::decode_pool_bindings(api::encode_pool_bindings(*bindings));
    check(again && *again == *bindings, "what was read can be written and read again");
    for (const api::PortBindingItem& item : *bindings)
      check(!api::public_address(item).empty(), "a port has an address");
  }

  const auto duration = api::parse_go_duration(text);
  if (!duration) check(duration.error().message.find(text) != std::string::npos, "quotes the text");
  return 0;
}
