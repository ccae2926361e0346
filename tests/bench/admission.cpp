// Admission: how long the webhook takes for a Pod that asks for a port, the claim written in
// between. Beside the bare write.

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/json.hpp>
#include <map>

#include "admission/webhooks.h"
#include "api/listener.h"
#include "api/port_pool.h"
#include "bench.h"
#include "house.h"
#include "ledger/claim.h"
#include "ledger/slot_table.h"

namespace berth::bench {
namespace {

constexpr std::array kPoolSizes{100, 4000, 40000};
constexpr int kAdmissionRounds = 40;
constexpr int kAdmissionsPerRound = 50;
// Of a 99th percentile.
constexpr std::size_t kFewestAdmissions = 500;
constexpr int kAdmittersAtOnce = 4;

// Frees what admissions without Pods have claimed.
Result<> free_claims(House& house, const std::string& pool) {
  const kube::ResourceType& type = api::listener_kind().type;
  const auto page = house.client().list_all(
      house.patiently(), type, {.ns = "games", .label_selector = "owner-name=" + pool});
  if (!page) return fail(page.error());
  const std::string path =
      "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation);
  std::vector<kube::ObjectKey> taken;
  for (const wire::Value& object : page->items) {
    if (!wire::string_at(object, path).empty())
      taken.push_back({"games", std::string(wire::string_at(object, "/metadata/name"))});
  }
  std::atomic<int> failures{0};
  on_threads(kWriters, static_cast<int>(taken.size()), [&](int i) {
    const wire::Array patch{wire::Object{{"op", "replace"}, {"path", path}, {"value", ""}}};
    if (!house.client().patch(house.patiently(), type, taken[static_cast<std::size_t>(i)],
                              kube::PatchType::json, patch))
      ++failures;
  });
  if (failures > 0) return fail(Code::internal, "{} claims were not freed", failures.load());
  return {};
}

// Milliseconds of each admission: from the review to the answer, the claim written in between.
Result<std::vector<double>> admissions(House& house, const std::string& pool, int count) {
  std::vector<double> times(static_cast<std::size_t>(count));
  std::atomic<int> refused{0};
  Mutex mu;
  std::string last;
  on_threads(kAdmittersAtOnce, count, [&](int i) {
    const net::Request request{
        .method = "POST",
        .url = house.app().webhook_path(admission::kPodPortsPath),
        .body = review_of(room(fmt::format("room-{}", i), pool + " TCP 8000"))};
    const Instant sent = house.tasks().now();
    const net::Reply reply = house.app().admit(request, {});
    times[static_cast<std::size_t>(i)] = milliseconds(house.tasks().now() - sent);
    if (reply.body.find("\"allowed\":true") != std::string::npos) return;
    ++refused;
    const MutexLock lock(mu);
    last = reply.body;
  });
  if (refused > 0)
    return fail(Code::internal, "{} admissions were refused: {}", refused.load(), last);
  return times;
}

// Microseconds of one choice in a pool that is full but for its last port.
double choice_in(std::uint32_t slots) {
  constexpr int kChoices = 20'000;
  constexpr model::Protocol kTcp[] = {model::Protocol::tcp};
  ledger::SlotTable table(
      {{.name = "item", .first_port = 1, .slots = slots, .protocols = {kTcp[0]}}},
      ledger::Policy::in_order);
  table.set_listener({0, kTcp[0], slots - 1}, 0, {.made = true, .empty = true});
  ThreadTasks tasks;
  const Instant begin = tasks.now();
  std::uint64_t found = 0;
  for (int i = 0; i < kChoices; ++i)
    found += table.choose("", kTcp, static_cast<std::uint32_t>(i)).has_value() ? 1 : 0;
  const double took = to_seconds(tasks.now() - begin) * 1e6 / kChoices;
  return found == kChoices ? took : 0;
}

Result<std::vector<Line>> slot_choice(Environment&) {
  return std::vector<Line>{{"slot-choice",
                            "choosing the last free of 40,000 ports in memory, beside the aim",
                            choice_in(40'000), 5, "us", "lower"}};
}

std::string pool_of(int ports) { return fmt::format("pool{}", ports); }

struct AdmissionTimes {
  std::map<int, std::vector<double>> by_ports;
  std::vector<double> bare;
};

// Pools take turns, so that what else happens on the machine happens to all of them.
Result<AdmissionTimes> admissions_in_turn(House& house) {
  AdmissionTimes out;
  for (int i = 0; i < kAdmissionRounds; ++i) {
    for (const int ports : kPoolSizes) {
      Result<std::vector<double>> times = admissions(house, pool_of(ports), kAdmissionsPerRound);
      if (!times) return pass(times);
      std::vector<double>& all = out.by_ports[ports];
      all.insert(all.end(), times->begin(), times->end());
    }
    const auto bare =
        bare_patches(house, pool_of(kPoolSizes[0]), kAdmittersAtOnce, kAdmissionsPerRound);
    if (!bare) return fail(bare.error());
    out.bare.insert(out.bare.end(), bare->times_ms.begin(), bare->times_ms.end());
    // The others have room for all rounds.
    if (Result<> freed = free_claims(house, pool_of(kPoolSizes[0])); !freed) return pass(freed);
  }
  return out;
}

Result<bool> is_filled(House& house, const std::string& pool) {
  const auto found =
      house.client().get(house.patiently(), api::port_pool_kind().type, {"games", pool});
  if (!found) return fail(found.error());
  return wire::string_at(*found, "/status/status") == api::kReady;
}

Result<std::vector<double>> admissions_while_creating(House& house) {
  const std::string pool = pool_of(kPoolSizes[0]);
  std::vector<double> out;
  if (Result<> begun = house.create_pool("large", 4000, "", {"lb-large"}); !begun)
    return pass(begun);
  for (int i = 0; i < kAdmissionRounds; ++i) {
    Result<std::vector<double>> times = admissions(house, pool, kAdmissionsPerRound);
    if (!times) return times;
    const Result<bool> filled = is_filled(house, "large");
    if (!filled) return fail(filled.error());
    if (*filled) break;
    out.insert(out.end(), times->begin(), times->end());
    if (Result<> freed = free_claims(house, pool); !freed) return pass(freed);
  }
  if (out.size() < kFewestAdmissions)
    return fail(Code::internal, "the pool was created before there were {} admissions",
                kFewestAdmissions);
  if (Result<> filled = house.wait_for_pool("large"); !filled) return pass(filled);
  return out;
}

Result<std::vector<Line>> admission(Environment& environment) {
  Model model;
  Result<std::unique_ptr<House>> house = embedded_house(environment, model.drivers);
  if (!house) return pass(house);
  for (const int ports : kPoolSizes)
    if (Result<> made = (*house)->need_pool(pool_of(ports), ports); !made) return pass(made);
  (*house)->wait_until_quiet();
  const Result<AdmissionTimes> times = admissions_in_turn(**house);
  if (!times) return fail(times.error());
  std::vector<Line> lines;
  for (const int ports : kPoolSizes) {
    const std::vector<double>& mine = times->by_ports.at(ports);
    lines.push_back({fmt::format("admission-p99-{}", ports),
                     fmt::format("admission of a Pod, pool of {} ports, 4 at a time (p50 {:.2f} "
                                 "ms), beside one bare patch (p50 {:.2f} ms)",
                                 ports, percentile(mine, 0.5), percentile(times->bare, 0.5)),
                     percentile(mine, 0.99), percentile(times->bare, 0.99), "ms", "lower"});
  }
  const Result<std::vector<double>> busy = admissions_while_creating(**house);
  if (!busy) return fail(busy.error());
  lines.push_back({"admission-p99-while-creating",
                   fmt::format("pool of 100 while 8,000 Listeners are created (p50 {:.2f} ms), "
                               "beside none",
                               percentile(*busy, 0.5)),
                   percentile(*busy, 0.99), percentile(times->by_ports.at(kPoolSizes[0]), 0.99),
                   "ms", "lower"});
  return lines;
}

}  // namespace

std::vector<Bench> admission_benches() {
  return {{{"slot-choice"}, slot_choice},
          {{"admission-p99-100", "admission-p99-4000", "admission-p99-40000",
            "admission-p99-while-creating"},
           admission}};
}

}  // namespace berth::bench
