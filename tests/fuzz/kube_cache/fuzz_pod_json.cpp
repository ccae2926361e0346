// Any text as a Pod in JSON: an error or a sound Pod.
#include "pod_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  static wire::JsonReader reader;
  const std::string_view text = fuzz::as_text(data, size);
  const auto pod = fuzz::pods().from_json(reader, text);
  fuzz::check_pod(pod, fuzz::pods().from_json(reader, text));
  const kube::ObjectIdentity who = kube::identify(kube::Encoding::json, reader, text);
  fuzz::check(!pod || who.key == pod->meta.key(), "who decodes is also known by name");
  return 0;
}
