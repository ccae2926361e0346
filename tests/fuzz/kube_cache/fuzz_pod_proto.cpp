// Any bytes as a Pod in protobuf: an error or a sound Pod.
#include "pod_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view bytes = fuzz::as_text(data, size);
  fuzz::check_pod(fuzz::pods().from_protobuf(bytes), fuzz::pods().from_protobuf(bytes));
  static wire::JsonReader reader;
  (void)kube::identify(kube::Encoding::protobuf, reader, bytes);
  return 0;
}
