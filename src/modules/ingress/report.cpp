// What `berth status` shows of Ingresses.
#include <array>
#include <boost/json.hpp>

#include "api/decode.h"
#include "modules/ingress/explain.h"
#include "modules/ingress/module.h"
#include "report/cluster.h"
#include "report/status.h"

namespace berth::modules::ingress {
namespace {

using wire::Array;
using wire::Object;

std::vector<const api::KindInfo*> kinds() { return {&api::ingress_kind()}; }

std::string addresses_of(const api::Ingress& ingress) {
  std::string out;
  for (const api::LoadBalancerBrief& one : ingress.status.load_balancers) {
    for (const std::string& ip : one.ips) out += (out.empty() ? "" : ",") + ip;
    if (one.ips.empty() && !one.dns_name.empty()) out += (out.empty() ? "" : ",") + one.dns_name;
  }
  return out;
}

void add_status(const report::ClusterView& view, report::Status& status) {
  std::vector<std::vector<std::string>> rows{{"INGRESS", "STATUS", "ADDRESS", "MESSAGE"}};
  Array list;
  for (const api::Ingress& ingress :
       report::objects_of(view, api::ingress_kind(), api::decode_ingress)) {
    const std::string key = ingress.meta.key().to_string();
    const bool is_ready = ingress.status.status == api::kReady;
    const std::string message = ingress.status.message.empty() && !is_ready
                                    ? "no controller has looked at it yet"
                                    : ingress.status.message;
    const std::string_view word = is_ready ? api::kReady : api::kNotReady;
    const std::string addresses = addresses_of(ingress);
    rows.push_back({key, std::string(word), addresses, message});
    list.push_back(
        Object{{"ingress", key}, {"status", word}, {"address", addresses}, {"message", message}});
    if (!is_ready)
      status.problems.push_back(fmt::format("Ingress {} is {}: {}", key, word, message));
  }
  if (list.empty()) return;
  status.text[report::Place::first] += report::columns(rows);
  status.json["ingresses"] = std::move(list);
}

constexpr std::array<std::string_view, 2> kWords{"ingress", "bcsingress"};
constexpr report::ExplainedKind kExplained[] = {
    {.kind = api::ingress_kind, .words = kWords, .read = read_around, .tell = tell}};

}  // namespace

const report::Part kReport{.module = kName,
                           .kinds = kinds,
                           .add_status = add_status,
                           .listeners_of = listeners_of,
                           .explained = kExplained};

}  // namespace berth::modules::ingress
