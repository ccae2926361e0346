#include "claims/listener_write.h"

#include <boost/json.hpp>

#include "api/decode.h"
#include "api/walkers.h"

namespace berth::claims {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

Object test(std::string path, Value value) {
  return {{"op", "test"}, {"path", std::move(path)}, {"value", std::move(value)}};
}

Array joined(Array first, const Array& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// All that a patch may test.
bool is_same(const api::Listener& known, const api::Listener& found) {
  const auto same = [&](std::string_view key) {
    return kube::has(known.meta.annotations, key) == kube::has(found.meta.annotations, key) &&
           kube::get(known.meta.annotations, key) == kube::get(found.meta.annotations, key);
  };
  return known.meta.uid == found.meta.uid && known.spec == found.spec &&
         same(ledger::kClaimAnnotation) && same(kAppliedAnnotation);
}

Result<Value> patched(const Context& context, kube::Client& client, const api::Listener& known,
                      const Array& patch) {
  return client.patch(context, api::listener_kind().type, known.meta.key(), kube::PatchType::json,
                      patch);
}

// Its version, if it says in other words what we know.
Result<std::string> version_if_same(const Context& context, kube::Client& client,
                                    ListenerStore& store, const api::Listener& known) {
  const Result<Value> found = client.get(context, api::listener_kind().type, known.meta.key());
  if (!found) return fail(found.error());
  Result<api::Listener> decoded = api::decode_listener(*found);
  if (!decoded) return fail(decoded.error());
  const bool same = is_same(known, *decoded);
  store.put(std::move(*decoded));
  if (same) return std::string(wire::string_at(*found, "/metadata/resourceVersion"));
  return fail(error_of(Code::precondition, "has changed")
                  .about("Listener " + known.meta.key().to_string()));
}

}  // namespace

Array tests_of(const api::Listener& known) {
  const std::string claim =
      "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation);
  // Missing and null are the same to the server's test.
  const Value text = kube::has(known.meta.annotations, ledger::kClaimAnnotation)
                         ? Value(claim_text(known))
                         : Value(nullptr);
  Array out{test("/metadata/uid", Value(known.meta.uid))};
  // Below a member that is not there, nothing can be tested.
  if (!known.meta.annotations.empty()) out.push_back(test(claim, text));
  out.push_back(test("/spec", api::encode(known.spec)));
  return out;
}

Result<> write_listener(const Context& context, kube::Client& client, ListenerStore& store,
                        const api::Listener& known, const ListenerPatch& patch) {
  if (patch.empty()) return {};
  Result<Value> written = patched(context, client, known, joined(patch.tests, patch.changes));
  if (!written && written.error().code == Code::precondition) {
    Result<std::string> version = version_if_same(context, client, store, known);
    if (!version) return pass(version);
    written = patched(context, client, known,
                      joined({test("/metadata/resourceVersion", Value(*version))}, patch.changes));
  }
  if (!written) return pass(written);
  if (Result<api::Listener> next = api::decode_listener(*written)) store.put(std::move(*next));
  return {};
}

}  // namespace berth::claims
