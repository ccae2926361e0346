#include "sim/cloud/tencent/page.h"

#include <array>
#include <boost/json.hpp>

#include "sim/cloud/tencent/encode.h"

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

Array dump_targets(const Rule& rule) {
  Array out;
  for (const Target& target : rule.targets) {
    out.push_back(Object{{"ip", target.ip},
                         {"port", target.port},
                         {"weight", target.weight},
                         {"type", target.type}});
  }
  return out;
}

Array dump_rules(const Listener& listener) {
  Array out;
  for (const Rule& rule : listener.rules) {
    Object one{{"scheduler", rule.scheduler},
               {"sessionSeconds", rule.session_seconds},
               {"healthCheck", rule.health_check},
               {"certificate", encode_certificate(rule.certificate)},
               {"targets", dump_targets(rule)}};
    if (!rule.id.empty()) {
      one["id"] = rule.id;
      one["domain"] = rule.domain();
      one["url"] = rule.url;
      one["defaultServer"] = rule.default_server;
      one["forwardType"] = rule.forward_type;
      one["http2"] = rule.http2;
      one["quic"] = rule.quic;
    }
    out.push_back(std::move(one));
  }
  return out;
}

using Traffic = std::map<std::string, std::string>;  // by listener

Object dump_load_balancer(const LoadBalancer& lb, const Traffic& traffic) {
  Array listeners;
  for (const auto& [id, listener] : lb.listeners) {
    Object one{{"id", id},
               {"name", listener.name},
               {"protocol", listener.protocol},
               {"port", listener.port},
               {"endPort", listener.end_port},
               {"certificate", encode_certificate(listener.certificate)},
               {"sni", listener.sni},
               {"keepalive", listener.keepalive},
               {"sessionType", listener.session_type},
               {"maxCps", listener.max_cps},
               {"rules", dump_rules(listener)}};
    if (const auto told = traffic.find(id); told != traffic.end()) one["traffic"] = told->second;
    listeners.push_back(std::move(one));
  }
  return {{"id", lb.id},
          {"name", lb.name},
          {"account", lb.account},
          {"region", lb.region},
          {"type", lb.type},
          {"vpc", lb.vpc_id},
          {"vips", texts_to_json(lb.vips)},
          {"normal", lb.normal},
          {"snatPro", lb.snat_pro},
          {"snatIps", texts_to_json(lb.snat_ips)},
          {"listeners", std::move(listeners)}};
}

std::string_view name_of(TaskStatus status) {
  switch (status) {
    case TaskStatus::done: return "done";
    case TaskStatus::failed: return "failed";
    case TaskStatus::running: return "running";
  }
  return "";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string text_of(const Value& value) {
  return escaped(value.is_string() ? std::string(value.get_string()) : wire::to_json(value));
}

// Rows of objects that have the same members, as a table.
std::string to_table(const Array& rows, std::initializer_list<std::string_view> columns) {
  std::string out = "<table border=1 cellpadding=3><tr>";
  for (const std::string_view column : columns) out.append("<th>").append(column);
  for (const Value& row : rows) {
    out += "<tr>";
    for (const std::string_view column : columns) {
      const Value* cell = row.get_object().if_contains(column);
      out.append("<td>").append(cell == nullptr ? "" : text_of(*cell));
    }
  }
  return out + "</table>";
}

std::string to_page(const Value& dump) {
  std::string out =
      "<!doctype html><meta charset=utf-8><title>berth sim tencent</title>"
      "<h1>Simulated Tencent Cloud</h1><p><a href=/dump>as JSON</a>";
  for (const Value& lb : *wire::array_at(dump, "/loadBalancers")) {
    out += fmt::format("<h2>{} {} ({}, {})</h2>", escaped(wire::string_at(lb, "/id")),
                       escaped(wire::string_at(lb, "/name")),
                       escaped(wire::string_at(lb, "/region")), text_of(*wire::find(lb, "/vips")));
    out += to_table(*wire::array_at(lb, "/listeners"),
                    {"id", "name", "protocol", "port", "endPort", "rules", "traffic"});
  }
  out += "<h2>Running tasks</h2>";
  out +=
      to_table(*wire::array_at(dump, "/runningTasks"), {"id", "action", "loadBalancers", "ends"});
  return out + "<h2>Calls</h2><pre>" + escaped(wire::to_pretty_json(*wire::find(dump, "/calls"))) +
         "</pre>";
}

}  // namespace

Object dump_state(const State& state, const TaskBook& tasks) {
  Array accounts;
  for (const auto& [uin, account] : state.accounts) accounts.push_back(Object{{"uin", uin}});
  Array lbs;
  for (const auto& [id, lb] : state.load_balancers) {
    const auto traffic = state.traffic.find(id);
    lbs.push_back(
        dump_load_balancer(lb, traffic == state.traffic.end() ? Traffic{} : traffic->second));
  }
  Array running;
  Object by_status{{"done", 0}, {"failed", 0}, {"running", 0}};
  for (const auto& [id, task] : tasks.all()) {
    wire::Value& count = by_status[name_of(task.status)];
    count = count.as_int64() + 1;
    if (task.status != TaskStatus::running) continue;
    running.push_back(Object{{"id", id},
                             {"action", task.action},
                             {"loadBalancers", texts_to_json(task.load_balancers)},
                             {"ends", format_rfc3339_micro(task.ends)}});
  }
  return {{"accounts", std::move(accounts)},
          {"loadBalancers", std::move(lbs)},
          {"runningTasks", std::move(running)},
          {"tasks", std::move(by_status)}};
}

net::Reply show_state(const Value& dump, bool as_page) {
  net::Reply out;
  out.headers.add("Content-Type", as_page ? "text/html; charset=utf-8" : "application/json");
  out.body = as_page ? to_page(dump) : wire::to_pretty_json(dump) + "\n";
  return out;
}

std::string http_date(WallTime at) {
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const std::string time = format_rfc3339(at).substr(11, 8);
  return fmt::format("{}, {:02} {} {:04} {} GMT", kDays[std::chrono::weekday{day}.c_encoding()],
                     static_cast<unsigned>(date.day()),
                     kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), time);
}

}  // namespace berth::sim::tencent
