// The objects of a file that somebody wants to apply. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "base/result.h"
#include "kube/client/resource.h"
#include "wire/value.h"

namespace berth::preview {

// A PortPool or an Ingress, as it is written.
struct Document {
  const api::KindInfo* kind = nullptr;
  kube::ObjectKey key{};
  wire::Value object{};

  std::string to_string() const { return kind->type.kind + " " + key.to_string(); }
};

struct Documents {
  std::vector<Document> ours{};
  std::vector<std::string> others{};  // "Service games/web": they cost nothing here
};

// `ns` is that of objects that name none. `invalid`: not YAML, an object without kind or name, a
// kind of our group that there is not, a field that there is not, or nothing that would cost
// anything.
Result<Documents> parse_documents(std::string_view text, const std::string& ns);

}  // namespace berth::preview
