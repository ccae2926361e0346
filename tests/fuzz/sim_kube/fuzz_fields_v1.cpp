// The text of a set of fields, from us or from a client, and the list that carries it: what is
// taken is written again as it was, and counting beside another set agrees with parsing.
#include <boost/json.hpp>

#include "check.h"
#include "sim/kube/managed_entries.h"

using namespace berth;
using sim::kube::FieldSet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const std::optional<FieldSet> own = FieldSet::parse(text);
  if (own) {
    fuzz::check(own->text() == text, "what is taken is canonical");
    fuzz::check(FieldSet::shared_members(text, *own) == own->size(), "it shares all with itself");
    (void)own->paths();
  }
  if (const auto json = wire::parse_json(text)) {
    if (const auto set = FieldSet::from_json(*json)) {
      fuzz::check(FieldSet::parse(set->text()) == set,
                  "a client's set is written so that we read it");
    }
    if (const auto entries = sim::kube::decode_entries(*json); entries && !entries->empty()) {
      wire::Value object = wire::Object{{"metadata", wire::Object{}}};
      sim::kube::store_entries(object, *entries);
      const auto again = sim::kube::decode_entries(*sim::kube::managed_list(&object));
      fuzz::check(again && again->size() == entries->size(), "a client's list is read again");
    }
  }
  // As a stored text: any answer, but one.
  (void)sim::kube::decode_entries(wire::Value(text));
  return 0;
}
