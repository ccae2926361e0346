#include "claims/claim_patch.h"

#include <boost/json.hpp>

#include "api/keys.h"
#include "api/walkers.h"

namespace berth::claims {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

std::string annotation_pointer(std::string_view key) {
  return "/metadata/annotations/" + wire::escape_pointer_step(key);
}
std::string label_pointer(std::string_view key) {
  return "/metadata/labels/" + wire::escape_pointer_step(key);
}

Object test(std::string path, Value value) {
  return {{"op", "test"}, {"path", std::move(path)}, {"value", std::move(value)}};
}
// Replaces as well; does not ask whether the member is there.
Object put(std::string path, Value value) {
  return {{"op", "add"}, {"path", std::move(path)}, {"value", std::move(value)}};
}

// A test for an absent member does not exist in JSON Patch, but `test` against null fails where it
// is present: kube-apiserver takes a missing value for null.
Object test_not_deleting() { return test("/metadata/deletionTimestamp", nullptr); }

void put_source(const api::Listener& listener, const kube::ObjectKey& source, Array& patch) {
  const std::pair<std::string_view, std::string> labels[] = {
      {api::kSourceNamespaceLabel, api::label_value(source.ns)},
      {api::kSourceNameLabel, api::label_value(source.name)}};
  for (const auto& [key, value] : labels) {
    const bool there = kube::has(listener.meta.labels, key);
    if (!source.name.empty()) {
      patch.push_back(put(label_pointer(key), Value(value)));
    } else if (there) {
      patch.push_back(Object{{"op", "remove"}, {"path", label_pointer(key)}});
    }
  }
}

void put_marks(const api::Listener& listener, const Marks& marks, Array& patch) {
  const std::pair<std::string_view, std::string_view> texts[] = {
      {kBalancerAnnotation, marks.balancer},    {kSealAnnotation, marks.seal},
      {kItemAnnotation, marks.identity.item},   {kLockAnnotation, marks.identity.lock},
      {kPeersAnnotation, marks.identity.peers}, {kFoundByAnnotation, marks.identity.found_by}};
  // Somebody may have taken all of them off.
  if (listener.meta.annotations.empty()) patch.push_back(put("/metadata/annotations", Object{}));
  for (const auto& [key, text] : texts) {
    const std::string_view now = kube::get(listener.meta.annotations, key);
    if (now == text) continue;
    patch.push_back(text.empty() ? Object{{"op", "remove"}, {"path", annotation_pointer(key)}}
                                 : put(annotation_pointer(key), Value(text)));
  }
}

void put_belonging(const api::Listener& listener, const ListenerChange::Belonging& belonging,
                   Array& patch) {
  if (listener.meta.labels.empty()) patch.push_back(put("/metadata/labels", Object{}));
  for (const auto& [key, value] : belonging.labels)
    patch.push_back(put(label_pointer(key), Value(value)));
  patch.push_back(put("/metadata/ownerReferences", Array{belonging.owner}));
}

}  // namespace

Array claim_patch(std::string_view uid, std::string_view expected, std::string_view claim) {
  const std::string path = annotation_pointer(ledger::kClaimAnnotation);
  return {test("/metadata/uid", Value(uid)), test_not_deleting(), test(path, Value(expected)),
          put(path, Value(claim))};
}

ListenerPatch change_patch(const api::Listener& listener, const ListenerChange& change) {
  ListenerPatch patch{.tests = tests_of(listener)};
  if (!change.spec) patch.tests.pop_back();  // of the spec, on which nothing depends then
  Array& changes = patch.changes;
  if (change.claim)
    changes.push_back(put(annotation_pointer(ledger::kClaimAnnotation), Value(*change.claim)));
  if (change.no_claim) {
    changes.push_back(
        Object{{"op", "remove"}, {"path", annotation_pointer(ledger::kClaimAnnotation)}});
  }
  if (change.spec) {
    changes.push_back(put("/spec", api::encode(*change.spec)));
    const std::string applied = annotation_pointer(kAppliedAnnotation);
    const std::string still = still_applied(listener, *change.spec);
    // The spec may have been another one meanwhile, and be this one again.
    if (!still.empty())
      patch.tests.push_back(
          test(applied, Value(kube::get(listener.meta.annotations, kAppliedAnnotation))));
    changes.push_back(put(applied, Value(still)));
    changes.push_back(put("/status/status", Value(api::kNotSynced)));
  }
  if (change.source) put_source(listener, *change.source, changes);
  if (change.marks) put_marks(listener, *change.marks, changes);
  if (change.belonging) put_belonging(listener, *change.belonging, changes);
  return patch;
}

}  // namespace berth::claims
