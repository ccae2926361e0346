#include "claims/listener_write.h"

#include <boost/json.hpp>

#include "api/clients.h"
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

Result<ListenerPtr> patched(const Context& context, const api::Listeners& listeners,
                            const api::Listener& known, const Array& patch) {
  return listeners.patch(context, known.meta.key(), kube::PatchType::json, patch);
}

// Its version, if it says in other words what we know.
Result<std::string> version_if_same(const Context& context, const api::Listeners& listeners,
                                    const api::Listener& known, bool same_generation) {
  const Result<ListenerPtr> found = listeners.get(context, known.meta.key());
  if (!found) return fail(found.error());
  const bool is_it = *found && is_same(known, **found) &&
                     (!same_generation || known.meta.generation == (*found)->meta.generation);
  if (is_it) return std::to_string((*found)->meta.resource_version);
  return fail(error_of(*found ? Code::precondition : Code::internal, "{}",
                       *found ? "has changed" : "cannot be read")
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
  const api::Listeners listeners = api::listeners(client, store);
  Array tests = patch.tests;
  if (patch.same_generation)
    tests.push_back(test("/metadata/generation", Value(known.meta.generation)));
  Result<ListenerPtr> written = patched(context, listeners, known, joined(tests, patch.changes));
  if (!written && written.error().code == Code::precondition) {
    Result<std::string> version = version_if_same(context, listeners, known, patch.same_generation);
    if (!version) return pass(version);
    written = patched(context, listeners, known,
                      joined({test("/metadata/resourceVersion", Value(*version))}, patch.changes));
  }
  if (!written) return pass(written);
  return {};
}

}  // namespace berth::claims
