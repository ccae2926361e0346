#include "preview/text.h"

#include <boost/json.hpp>

#include "report/status.h"

namespace berth::preview {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

std::string list_of(const lb::Calls& calls) {
  std::string out;
  for (const auto& [operation, count] : calls)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", operation, count);
  return out.empty() ? "none" : out;
}

Array texts(const std::vector<std::string>& list) { return Array(list.begin(), list.end()); }

Object calls_json(const lb::Calls& calls) {
  Object out;
  for (const auto& [operation, count] : calls) out[operation] = count;
  return out;
}

}  // namespace

std::string to_text(const Preview& preview) {
  std::vector<std::vector<std::string>> rows{
      {"OBJECT", "LOAD BALANCER", "NEW", "CHANGED", "REMOVED", "SAME", "CALLS"}};
  std::string said;
  for (const ObjectPreview& object : preview.objects) {
    for (const OnBalancer& one : object.balancers)
      rows.push_back({object.object, model::to_string(one.lb), std::to_string(one.created),
                      std::to_string(one.changed), std::to_string(one.removed),
                      std::to_string(one.kept), list_of(one.calls)});
    if (object.refused)
      said += fmt::format("{} would be refused: {}\n", object.object, object.refused->to_string());
    for (const std::string& warning : object.warnings)
      said += fmt::format("Warning: {}\n", warning);
    for (const std::string& note : object.notes)
      said += fmt::format("{}: {}\n", object.object, note);
  }
  std::string out = report::columns(rows) + said;
  for (const std::string& other : preview.others)
    out += fmt::format("not looked at: {}, which costs no listeners\n", other);
  for (const std::string& unseen : preview.unseen)
    out += fmt::format(
        "not looked at: {}, which this user may not read: what is there of it counts "
        "as new\n",
        unseen);
  if (preview.is_refused()) return out + "it would be refused\n";
  out += fmt::format("calls: {}\n", list_of(preview.calls));
  if (preview.calls.empty()) return out;
  return out + (preview.seconds > 0 ? fmt::format("at the least {:.1f} s\n", preview.seconds)
                                    : std::string("no time that is worth telling\n"));
}

Value to_json(const Preview& preview) {
  Array objects;
  for (const ObjectPreview& one : preview.objects) {
    Array balancers;
    for (const OnBalancer& on : one.balancers)
      balancers.push_back(Object{{"loadBalancer", model::to_string(on.lb)},
                                 {"created", on.created},
                                 {"changed", on.changed},
                                 {"removed", on.removed},
                                 {"same", on.kept},
                                 {"calls", calls_json(on.calls)}});
    Object object{{"object", one.object},
                  {"new", one.is_new},
                  {"warnings", texts(one.warnings)},
                  {"notes", texts(one.notes)},
                  {"loadBalancers", std::move(balancers)}};
    if (one.refused) object["refused"] = one.refused->to_string();
    objects.push_back(std::move(object));
  }
  return Object{{"refused", preview.is_refused()},      {"objects", std::move(objects)},
                {"notLookedAt", texts(preview.others)}, {"notReadable", texts(preview.unseen)},
                {"calls", calls_json(preview.calls)},   {"secondsAtLeast", preview.seconds}};
}

}  // namespace berth::preview
