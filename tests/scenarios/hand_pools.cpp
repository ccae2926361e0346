// What people do to pools of their own. What they may not have is what somebody else was granted.
#include <boost/json.hpp>

#include "hand_moves.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Ranges that others have, that nobody has, or both. None that the games' pools may grow into:
// there the first who comes is served.
struct Range {
  std::string_view balancer;
  int first;
  int end;
};
constexpr std::array kRanges{
    Range{"edge:demo", 29998, 30003}, Range{"edge:demo", 30000, 30006},
    Range{"edge:demo", 31000, 31004}, Range{"edge:demo", 31002, 31008},
    Range{"edge:demo", 32000, 32002}, Range{"edge:east", 40000, 40003},
    Range{"edge:west", 40001, 40003}, Range{"edge:east", 43000, 43004},
    Range{"edge:west", 44000, 44006}, Range{"edge:east", 41000, 41009},
    Range{"edge:demo", 34999, 35003}, Range{"edge:east", 35100, 35103},
};

Object any_item(Hand& hand, std::string_view name) {
  const Range& range = hand.any_of(std::span<const Range>(kRanges));
  return {{"itemName", name},
          {"loadBalancerIDs", Array{Value(range.balancer)}},
          {"protocol", hand.any_of({"TCP", "UDP", "TCP,UDP"})},
          {"startPort", range.first},
          {"endPort", range.end}};
}

Value any_pool(Hand& hand) {
  // The games' people administer their pools themselves.
  const std::string ns = hand.own_namespace();
  return ns == kGames ? Value(nullptr) : hand.any_in(ns, "portpools");
}

Array* items_of(Value& pool) {
  Value* const items = wire::find(pool, "/spec/poolItems");
  return items && items->is_array() ? &items->get_array() : nullptr;
}

}  // namespace

void writes_a_pool(Hand& hand) {
  const std::string ns = hand.person().role == world::Role::tenant ? hand.own_namespace() : kLobby;
  (void)hand.ask("POST", path_in(ns, "portpools"),
                 Object{{"apiVersion", "networkextension.bkbcs.tencent.com/v1"},
                        {"kind", "PortPool"},
                        {"metadata", Object{{"namespace", ns},
                                            {"name", hand.any_of({"rooms", "quiet", "more"})}}},
                        {"spec", Object{{"poolItems", Array{any_item(hand, "item1")}}}}});
}

// Other ports under the name of an item, in one write.
void moves_an_item(Hand& hand) {
  Value pool = any_pool(hand);
  Array* const items = items_of(pool);
  if (!items || items->empty()) return;
  Value& item = (*items)[hand.dice().below(items->size())];
  if (hand.chance(0.5)) {
    item = any_item(hand, wire::string_at(item, "/itemName"));
  } else {
    Value& end = item.as_object()["endPort"];
    end = end.to_number<std::int64_t>() + (hand.chance(0.5) ? 2 : -1);
  }
  (void)hand.ask("PUT", path_of(pool), pool);
}

// Takes one out while it is used, and puts it back later with other ports.
void toggles_an_item(Hand& hand) {
  Value pool = any_pool(hand);
  Array* const items = items_of(pool);
  if (!items || items->empty()) return;
  const Value item = items->back();
  items->pop_back();
  if (!hand.ask("PUT", path_of(pool), pool)) return;
  (void)hand.world().cluster().pause(std::chrono::seconds{hand.dice().below(20)}, {});
  Result<Value> now = hand.ask("GET", path_of(pool));
  if (!now || !items_of(*now)) return;
  items_of(*now)->push_back(
      hand.chance(0.4) ? item : Value(any_item(hand, wire::string_at(item, "/itemName"))));
  (void)hand.ask("PUT", path_of(pool), *now);
}

// The same at once, to ports that nobody has, beside a new one: its Listeners are still on their
// way out when the next grant of the load balancer is written.
void swaps_an_item(Hand& hand) {
  Value pool = any_pool(hand);
  Array* const items = items_of(pool);
  if (!items || items->empty()) return;
  Object item = items->back().as_object();
  items->pop_back();
  if (!hand.ask("PUT", path_of(pool), pool)) return;
  Result<Value> now = hand.ask("GET", path_of(pool));
  if (!now || !items_of(*now)) return;
  Object beside = item;
  beside["itemName"] = "beside";
  for (Object* const one : {&item, &beside}) {
    const auto first = (one == &item ? 33000 : 34000) + 10 * static_cast<int>(hand.dice().below(8));
    (*one)["startPort"] = first;
    (*one)["endPort"] = first + 2;
    items_of(*now)->push_back(*one);
  }
  (void)hand.ask("PUT", path_of(pool), *now);
}

void deletes_a_pool(Hand& hand) {
  const Value pool = any_pool(hand);
  if (pool.is_null()) return;
  if (hand.chance(0.4)) (void)hand.patch_meta(path_of(pool), {{"finalizers", nullptr}});
  (void)hand.ask("DELETE", path_of(pool));
}

void edits_a_pool_status(Hand& hand) {
  const Value pool = any_pool(hand);
  const Value other = hand.any_in(hand.any_namespace(), "portpools");
  if (pool.is_null() || other.is_null() || !wire::find(other, "/status")) return;
  (void)hand.ask("PATCH", path_of(pool) + "/status",
                 Object{{"status", *wire::find(other, "/status")}});
}

}  // namespace berth::scenario
