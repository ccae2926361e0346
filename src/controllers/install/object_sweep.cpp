#include "controllers/install/object_sweep.h"

#include <algorithm>
#include <boost/json.hpp>
#include <memory>

#include "api/keys.h"

namespace berth::controllers::install {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::size_t kPage = 500;
// Requests at a time: a small API server has a few hundred seats, and others need them too.
constexpr std::size_t kParallel = 8;
constexpr Duration kPatience = std::chrono::seconds{30};
constexpr Duration kPause = std::chrono::milliseconds{100};

// Objects of former installations may carry the second one.
bool is_ours(std::string_view finalizer) {
  return finalizer == api::kFinalizer || finalizer == "uptimecheck.bkbcs.tencent.com" ||
         finalizer.starts_with("berth.dev/");
}

struct Finalizers {
  Array all{};
  Array others{};
};

Finalizers finalizers_of(const Value& object) {
  Finalizers out;
  const Array* all = wire::array_at(object, "/metadata/finalizers");
  if (all == nullptr) return out;
  out.all = *all;
  std::ranges::copy_if(*all, std::back_inserter(out.others), [](const Value& one) {
    return one.is_string() && !is_ours(one.get_string());
  });
  return out;
}

// What happened to one object. Neither: it changed under our hands, or the server is busy; the next
// round sees.
struct Outcome {
  bool moved = false;
  std::string stuck{};
  std::optional<Error> error{};
};

bool may_pass(const Error& error) {
  return is_retryable(error) || error.code == Code::conflict || error.code == Code::precondition ||
         error.code == Code::internal;  // a webhook that was removed a moment ago
}

Outcome judge(const Result<>& result, const std::string& shown) {
  if (result || result.error().code == Code::not_found) return {.moved = true};
  if (may_pass(result.error())) return {.stuck = shown + ": " + result.error().to_string()};
  return {.error = result.error()};
}

Outcome release(const Context& context, kube::Client& client, const kube::ResourceType& type,
                const Value& object) {
  const kube::ObjectKey key{std::string(wire::string_at(object, "/metadata/namespace")),
                            std::string(wire::string_at(object, "/metadata/name"))};
  const std::string shown = type.kind + " " + key.to_string();
  Outcome outcome;
  // First the deletion: no finalizer can be added after it.
  if (wire::string_at(object, "/metadata/deletionTimestamp").empty()) {
    outcome = judge(client.remove(context, type, key), shown);
    if (!outcome.moved) return outcome;
  }
  const Finalizers finalizers = finalizers_of(object);
  if (finalizers.others.size() < finalizers.all.size()) {
    const std::string path = "/metadata/finalizers";
    const Array patch{Object{{"op", "test"}, {"path", path}, {"value", finalizers.all}},
                      Object{{"op", "replace"}, {"path", path}, {"value", finalizers.others}}};
    const Result<Value> written = client.patch(context, type, key, kube::PatchType::json, patch);
    return judge(written ? Result<>{} : Result<>(fail(written.error())), shown);
  }
  if (!finalizers.others.empty()) {
    outcome.stuck =
        fmt::format("{} waits for {}, which is not ours", shown, wire::to_json(finalizers.others));
  }
  return outcome;
}

}  // namespace

Result<std::size_t> ObjectSweep::run(const Context& context) {
  Instant moved_at = context.tasks.now();
  for (;;) {
    Result<Round> round = one_round(context);
    if (!round) return pass(round);
    if (round->empty) return removed_;
    if (round->moved > 0) moved_at = context.tasks.now();
    const bool patient = context.tasks.now() - moved_at < kPatience;
    if (!patient) {
      return fail(
          error_of(Code::timeout, "{}", round->stuck.empty() ? "objects do not go" : round->stuck)
              .about(type_.plural)
              .with_hint("whoever put the finalizer there must take it off"));
    }
    if (!sleep_for(context.tasks, kPause, context.stop) || context.expired())
      return fail(context.end_error());
  }
}

Result<ObjectSweep::Round> ObjectSweep::one_round(const Context& context) {
  Round round;
  kube::ListOptions options{.limit = kPage};
  do {
    Result<kube::ListPage> page = client_.list(context, type_, options);
    if (!page && page.error().code == Code::unsupported) return round;
    // The list is too old to go on with: the next round begins a new one.
    if (!page && page.error().code == Code::expired) return round;
    if (!page) return pass(page);
    round.empty = round.empty && page->items.empty();
    if (Result<> done = one_page(context, page->items, round); !done) return pass(done);
    options.continue_token = page->continue_token;
    if (!options.continue_token.empty() && tell_) tell_(removed_);
  } while (!options.continue_token.empty());
  return round;
}

Result<> ObjectSweep::one_page(const Context& context, const std::vector<Value>& objects,
                               Round& round) {
  std::vector<Outcome> outcomes(objects.size());
  {
    std::vector<std::unique_ptr<Task>> workers;
    const std::size_t count = std::min(kParallel, objects.size());
    for (std::size_t worker = 0; worker < count; ++worker) {
      workers.push_back(context.tasks.spawn("sweep", [&, worker](std::stop_token) {
        for (std::size_t i = worker; i < objects.size() && !context.expired(); i += count)
          outcomes[i] = release(context, client_, type_, objects[i]);
      }));
    }
    for (const auto& worker : workers) worker->join();
  }
  for (Outcome& outcome : outcomes) {
    if (outcome.error) return fail(std::move(*outcome.error));
    round.moved += outcome.moved ? 1 : 0;
    removed_ += outcome.moved ? 1 : 0;
    if (!outcome.stuck.empty()) round.stuck = std::move(outcome.stuck);
  }
  return {};
}

Result<std::size_t> count_objects(const Context& context, kube::Client& client,
                                  const kube::ResourceType& type) {
  std::size_t count = 0;
  kube::ListOptions options{.limit = kPage};
  do {
    Result<kube::ListPage> page = client.list(context, type, options);
    if (!page && page.error().code == Code::unsupported) return count;
    if (!page) return pass(page);
    count += page->items.size();
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  return count;
}

}  // namespace berth::controllers::install
