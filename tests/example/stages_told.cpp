#include "stages_told.h"

#include <boost/json.hpp>

#include "report/cluster.h"
#include "report/status.h"

namespace berth::example::stages {
namespace {

struct Told {
  std::vector<std::vector<std::string>> rows{{"STAGE", "PORT", "MESSAGE"}};
  wire::Array list{};
  std::vector<std::string> problems{};
};

Told told_of(const std::vector<Stage>& stages) {
  Told out;
  for (const auto& [meta, spec, status] : stages) {
    const std::string key = meta.key().to_string();
    const std::string port = status.public_port ? fmt::format("{}", status.public_port) : "-";
    out.rows.push_back({key, port, status.message});
    out.list.push_back(
        wire::Object{{"stage", key}, {"port", status.public_port}, {"message", status.message}});
    if (status.public_port == 0)
      out.problems.push_back(fmt::format("Stage {} has no port: {}", key, status.message));
  }
  return out;
}

std::vector<const api::KindInfo*> kinds() { return {&kind()}; }

void add_status(const report::ClusterView& view, report::Status& status) {
  Told told = told_of(report::objects_of(view, kind(), decode));
  if (told.list.empty()) return;
  status.text[report::Place::first] += report::columns(told.rows);
  status.json["stages"] = std::move(told.list);
  std::ranges::move(told.problems, std::back_inserter(status.problems));
}

Result<module::CommandReply> list(const module::CommandCall& call) {
  const auto found = call.client.list_all(call.context, kind().type);
  if (!found) return fail(found.error());
  const std::string lb = call.one("load-balancer");
  std::vector<Stage> stages;
  for (const wire::Value& one : found->items) {
    Result<Stage> stage = decode(one);
    if (stage && (lb.empty() || stage->spec.load_balancer_id == lb))
      stages.push_back(std::move(*stage));
  }
  Told told = told_of(stages);
  return module::CommandReply{.text = report::columns(told.rows),
                              .json = std::move(told.list),
                              .well = told.problems.empty()};
}

}  // namespace

const report::Part kReport{.module = "stages", .kinds = kinds, .add_status = add_status};

module::Command list_command() {
  return {.name = "stages",
          .about = "Which Stage has which port. Exits 1 when one has none.",
          .example = "berth stages -l edge:demo -o json",
          .options = {{.name = "-l,--load-balancer", .help = "Of which one.", .value = "ID"}},
          .run = list};
}

module::Declaration declare_with_command(const module::Config& config) {
  module::Declaration out = declare(config);
  out.commands = {list_command()};
  return out;
}

}  // namespace berth::example::stages
