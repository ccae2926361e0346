// Fields lie inside the input, one behind the other, and reading ends.
#include "check.h"
#include "wire/proto_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view bytes = fuzz::as_text(data, size);
  const char* last = bytes.data();
  std::size_t fields = 0;
  wire::ProtoReader in(bytes);
  while (in.next()) {
    fuzz::check(++fields <= size, "each field takes at least a byte");
    fuzz::check(in->number > 0, "fields have numbers");
    if (in->type != 2) continue;
    fuzz::check(in->bytes.data() >= last, "fields come in order");
    last = in->bytes.data() + in->bytes.size();
    fuzz::check(last <= bytes.data() + bytes.size(), "fields lie inside the input");
  }
  fuzz::check(!in.next(), "the end stays the end");
  return 0;
}
