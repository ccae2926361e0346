// A body in protobuf: an object that says what it is and is written so that it reads the same, or a
// refusal that says why.
#include <boost/json.hpp>

#include "check.h"
#include "sim/kube/protobuf_body.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto decoded = sim::kube::decode_protobuf(fuzz::as_text(data, size));
  if (!decoded) {
    fuzz::check(!decoded.error().message.empty(), "a refusal says why");
    return 0;
  }
  fuzz::check(!wire::string_at(*decoded, "/kind").empty(), "an object has a kind");
  // A document within may be nested as deeply as readers allow: with what is around it, too deeply.
  const auto again = wire::parse_json(wire::to_json(*decoded));
  fuzz::check(!again || *again == *decoded, "an object is written as it was read");
  return 0;
}
