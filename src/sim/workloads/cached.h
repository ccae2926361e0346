// Cached<T>: a kind that is both watched and written. What the server answers to a write goes into
// the store at once, so that the next plan never misses what the last one did.
//
// Owned by the set of controllers that share it. Any task may write.
#pragma once

#include <functional>
#include <utility>

#include "kube/cache/informer.h"
#include "sim/workloads/write.h"

namespace berth::workloads {

// Writes that are sent side by side at most.
inline constexpr std::size_t kMaxBatch = 8;

// Calls `send(i)` for 0 to count in batches of 1, 2, 4, ... side by side, and starts no batch after
// a failure: where one is refused, the others mostly would be too. The first error.
Result<> slow_start(const Context& context, std::size_t count,
                    const std::function<Result<>(const Context&, std::size_t)>& send);

// An object that is gone or was replaced needs no write any more.
Result<> unless_gone(Result<> written);

template <class T>
class Cached {
 public:
  Cached(Tasks& tasks, kube::Client& client, kube::Projection<T> projection, Random random)
      : client_(client),
        projection_(std::move(projection)),
        informer_(tasks, client, projection_, random) {}

  kube::Store<T>& store() { return informer_.store(); }
  kube::InformerCore& core() { return informer_.core(); }

  Result<> send(const Context& context, const Write& write) {
    if (write.verb == Verb::create)
      return keep(client_.create(context, projection_.type, write.body));
    if (write.verb == Verb::remove) return unless_gone(remove(context, write));
    const bool status = write.verb == Verb::patch_status;
    return unless_gone(
        keep(client_.patch(context, projection_.type, write.key, kube::PatchType::json, write.body,
                           {.subresource = status ? "status" : ""})));
  }

  // Everything but creations first, in order; then creations in slow start.
  Result<> send_all(const Context& context, const Writes& writes) {
    std::vector<const Write*> creations;
    for (const Write& write : writes) {
      if (write.verb == Verb::create) {
        creations.push_back(&write);
      } else if (Result<> sent = send(context, write); !sent) {
        return sent;
      }
    }
    return slow_start(context, creations.size(), [&](const Context& c, std::size_t i) -> Result<> {
      return send(c, *creations[i]);
    });
  }

 private:
  Result<> keep(Result<wire::Value> answer) {
    if (!answer) return pass(answer);
    wire::JsonReader reader;
    Result<T> object = projection_.from_json(reader, wire::to_json(*answer));
    // An object that the patch itself ended (its last finalizer went) comes back as a deletion.
    const bool last = wire::string_at(*answer, "/metadata/deletionTimestamp").empty();
    if (object && last) informer_.store().put(std::move(*object));
    return {};
  }

  // The answer does not say whether it is gone or going, so the server is asked.
  Result<> remove(const Context& context, const Write& write) {
    if (Result<> removed = client_.remove(context, projection_.type, write.key, {.uid = write.uid});
        !removed) {
      return removed;
    }
    const Result<wire::Value> left = client_.get(context, projection_.type, write.key);
    if (left && wire::string_at(*left, "/metadata/uid") == write.uid) {
      wire::JsonReader reader;
      Result<T> object = projection_.from_json(reader, wire::to_json(*left));
      if (object) informer_.store().put(std::move(*object));
    } else if (left || left.error().code == Code::not_found) {
      const auto known = informer_.store().get(write.key);
      if (known) informer_.store().erase(write.key, write.uid, known->meta.resource_version);
    }
    return {};
  }

  kube::Client& client_;
  const kube::Projection<T> projection_;
  kube::Informer<T> informer_;
};

}  // namespace berth::workloads
