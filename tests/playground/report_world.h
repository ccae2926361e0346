// A fixture: a playground, and what `berth status` and `berth explain` say about it.
#pragma once

#include <gmock/gmock.h>

#include "app/modules.h"
#include "report/explain.h"
#include "report/status.h"
#include "world.h"

namespace berth {

inline std::string workload(const std::string& kind, const std::string& ns, const std::string& own,
                            const std::string& of_template, int replicas = 1) {
  return fmt::format(R"(
apiVersion: apps/v1
kind: {}
metadata:
  name: lobby
  namespace: {}
  annotations: {{{}}}
spec:
  replicas: {}
  serviceName: lobby
  selector: {{matchLabels: {{app: lobby}}}}
  template:
    metadata:
      labels: {{app: lobby}}
      annotations: {{{}}}
    spec:
      containers: [{{name: a, image: i, ports: [{{containerPort: 8000}}]}}]
)",
                     kind, ns, own, replicas, of_template);
}

inline std::string asking_for(const std::string& ports) {
  return fmt::format(R"(portpools.networkextension.bkbcs.tencent.com: "true", )"
                     R"(ports.portpools.networkextension.bkbcs.tencent.com: "{}")",
                     ports);
}

class Report : public World {
 protected:
  report::ExplainView view_of(const std::string& target, const std::string& ns) {
    const auto parsed = report::parse_target(target, app::all_report_parts());
    EXPECT_TRUE(parsed) << parsed.error().to_string();
    auto view =
        report::read_for_explain(context_.within(120s), play_->client(), app::all_report_parts(),
                                 "", parsed->first, {ns, parsed->second});
    EXPECT_TRUE(view) << view.error().to_string();
    return view ? std::move(*view) : report::ExplainView{};
  }
  // What the last step says, with its remedy.
  static std::string last(const report::Explanation& told) {
    if (told.steps.empty()) return "nothing";
    const report::Step& step = told.steps.back();
    return step.what + (step.fix.empty() ? "" : " -> " + step.fix);
  }
  std::string explained(const std::string& target, const std::string& ns) {
    return last(report::explain(view_of(target, ns)));
  }
  bool comes_to_say(const std::string& target, const std::string& ns, const std::string& text) {
    return eventually([&] { return explained(target, ns).find(text) != std::string::npos; });
  }
  Result<report::ClusterView> read_cluster(const std::string& ns) {
    return report::read_cluster(context_.within(120s), play_->client(), app::all_report_parts(),
                                ns);
  }
  report::Status status() {
    auto view = read_cluster("");
    EXPECT_TRUE(view) << view.error().to_string();
    return report::make_status(*view);
  }
};

}  // namespace berth
