// What `berth status` shows of port pools: their items, bindings that are not Ready, and claims.
#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <optional>

#include "api/decode.h"
#include "api/keys.h"
#include "claims/exhausted.h"
#include "modules/port_pools/report.h"
#include "report/status.h"

namespace berth::modules::port_pools {
namespace {

using report::OpenLine;
using report::Place;
using wire::Array;
using wire::Object;

struct ItemLine {
  std::string pool{};
  std::string item{};
  std::string status{};
  std::string message{};  // of an item that is not Ready
  std::size_t ports = 0;  // slots; TCP and UDP count apart
  std::size_t ready = 0;
  std::size_t used = 0;
};

// In lower case, as a person would write it.
std::string name_of(ledger::SlotState state) {
  if (state == ledger::SlotState::claimed) return "unbound";
  std::string name(ledger::to_string(state));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// When it came to be as it is: its status says when it changed, and a new one when it was made.
std::optional<WallTime> changed_at(const api::PortBinding& binding) {
  for (const std::string_view text :
       {std::string_view(binding.status.update_time),
        kube::get(binding.meta.annotations, api::kUnreadySinceAnnotation)}) {
    if (const auto at = parse_rfc3339(text)) return *at;
  }
  return std::nullopt;
}

class Maker {
 public:
  Maker(const report::ClusterView& view, report::Status& out) : view_(view), out_(out) {}

  void make() {
    for (const api::PortPool& pool :
         report::objects_of(view_, api::port_pool_kind(), api::decode_port_pool))
      look_at_pool(pool);
    for (const api::PortBinding& binding :
         report::objects_of(view_, api::port_binding_kind(), api::decode_port_binding))
      look_at_binding(binding);
    look_at_claims();
    show();
  }

 private:
  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    out_.problems.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void look_at_pool(const api::PortPool& pool) {
    const std::string key = pool.meta.key().to_string();
    for (const api::PortPoolItem& item : pool.spec.pool_items) {
      const auto found = std::ranges::find(pool.status.pool_items, item.item_name,
                                           &api::PortPoolItemStatus::item_name);
      ItemLine line{.pool = key, .item = item.item_name, .status = std::string(api::kNotReady)};
      if (found != pool.status.pool_items.end()) {
        line.status = found->status;
        if (line.status != api::kReady) line.message = found->message;
      }
      const auto protocols = api::protocols_of(item);
      line.ports =
          static_cast<std::size_t>(api::slot_count(item)) * (protocols ? protocols->size() : 1);
      count_slots(pool.meta.key(), line);
      if (line.status.empty()) line.status = std::string(api::kNotReady);
      // From its first moment on: nobody gets a port of it, whatever the reason.
      if (line.status != api::kReady)
        problem("PortPool {} item {} is {}: {}", key, item.item_name, line.status,
                line.message.empty() ? "no controller has looked at it yet" : line.message);
      items_.push_back(std::move(line));
    }
    look_for_room(pool.meta.key());
  }

  // TCP and UDP run out apart; a Pod that asks for both needs both.
  void look_for_room(const kube::ObjectKey& pool) {
    std::map<std::string, std::vector<claims::ListenerPtr>> taken;  // by protocol
    std::map<std::string, std::size_t> all;
    for (const claims::ListenerPtr& listener : view_.listeners) {
      if (!claims::is_lock(*listener) || claims::pool_of(*listener) != pool) continue;
      ++all[listener->spec.protocol];
      if (!claims::claim_text(*listener).empty())
        taken[listener->spec.protocol].push_back(listener);
    }
    for (const auto& [protocol, listeners] : taken) {
      if (listeners.size() < all[protocol]) continue;
      problem("PortPool {} is full: {} of {} {} ports are in use{}", pool.to_string(),
              listeners.size(), all[protocol], protocol, claims::takers_of(listeners).to_string());
    }
  }

  void count_slots(const kube::ObjectKey& pool, ItemLine& line) const {
    for (const claims::ListenerPtr& listener : view_.listeners) {
      if (!claims::is_lock(*listener) || claims::item_of(*listener) != line.item ||
          claims::pool_of(*listener) != pool)
        continue;
      if (!listener->status.listener_id.empty()) ++line.ready;
      if (!claims::claim_text(*listener).empty()) ++line.used;
    }
  }

  void look_at_binding(const api::PortBinding& binding) {
    const std::string& status = binding.status.status;
    if (status == api::kReady || status == api::kCleaned) return;
    OpenLine line{.object = "PortBinding " + binding.meta.key().to_string(),
                  .what = status.empty() ? std::string(api::kNotReady) : status,
                  .since = view_.now - binding.meta.created};
    const auto changed = changed_at(binding);
    if (changed) line.since = view_.now - *changed;
    if (line.since > report::kPatience && changed)
      problem("{} is {} since {}", line.object, line.what, report::age(line.since));
    if (line.since > report::kPatience && !changed)
      problem("{} is {}, created {} ago", line.object, line.what, report::age(line.since));
    bindings_.push_back(std::move(line));
  }

  void look_at_claims() {
    for (const char* state : {"unbound", "bound", "draining", "kept", "quarantined"})
      claims_[state] = 0;
    for (const claims::ListenerPtr& listener : view_.listeners) {
      if (claims::claim_text(*listener).empty()) continue;
      const auto claim = claims::claim_of(*listener);
      if (!claim) {
        ++claims_["unreadable"];
        problem("the claim of Listener {} cannot be read", listener->meta.key().to_string());
        continue;
      }
      const bool unbound = claim->state == ledger::SlotState::claimed;
      ++claims_[name_of(claim->state)];
      const Duration since = view_.now - claim->since;
      if (unbound && since > 2 * ledger::kUnboundClaimLifetime)
        problem("the claim of Listener {} has no Pod since {}", listener->meta.key().to_string(),
                report::age(since));
    }
  }

  void show() {
    std::vector<std::vector<std::string>> rows{
        {"POOL", "ITEM", "STATUS", "PORTS", "READY", "USED", "MESSAGE"}};
    Array items;
    for (const ItemLine& line : items_) {
      rows.push_back({line.pool, line.item, line.status, std::to_string(line.ports),
                      std::to_string(line.ready), std::to_string(line.used), line.message});
      items.push_back(Object{{"pool", line.pool},
                             {"item", line.item},
                             {"status", line.status},
                             {"message", line.message},
                             {"ports", line.ports},
                             {"ready", line.ready},
                             {"used", line.used}});
    }
    std::string counts;
    Object claims;
    for (const auto& [state, count] : claims_) {
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, state);
      claims[state] = count;
    }
    out_.text[Place::first] += report::columns(rows);
    out_.text[Place::open] += report::open_table("NOT READY", bindings_);
    out_.text[Place::last] += fmt::format("claims: {}\n\n", counts);
    out_.json["items"] = std::move(items);
    out_.json["bindingsNotReady"] = report::open_json(bindings_);
    out_.json["claims"] = std::move(claims);
  }

  const report::ClusterView& view_;
  report::Status& out_;
  std::vector<ItemLine> items_;
  std::vector<OpenLine> bindings_;
  std::map<std::string, std::size_t> claims_;  // by state
};

}  // namespace

void add_status(const report::ClusterView& view, report::Status& status) {
  Maker(view, status).make();
}

}  // namespace berth::modules::port_pools
