// The questions that users of bcs-ingress-controller ask, on a simulated Tencent Cloud: each thing
// that the cloud has against us is on the objects and in `berth explain`, in its words and with the
// remedy, and goes by itself when the cause does. (Those that no cloud has a part in: src/report.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <set>

#include "app/modules.h"
#include "base/file.h"
#include "base/log.h"
#include "clb_cloud.h"
#include "report/explain.h"
#include "report/status.h"
#include "sim/world/world.h"

namespace berth::scenario {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using wire::Value;
using world::World;
using world::WorldOptions;
using namespace std::chrono_literals;

const std::string kGroup = "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/";
const std::string kPods = "/api/v1/namespaces/games/pods";
const std::string kHooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
// What has to be mended at the cloud is tried again every few minutes at the latest.
constexpr Duration kPatience = 30min;

// Where people look.
enum class Place : std::uint8_t { listener, pool, ingress, pod, refusal, event, status };
std::string_view to_string(Place place) {
  constexpr std::array<std::string_view, 7> kNames{
      "the Listener",         "the PortPool", "the Ingress", "berth explain pod",
      "the refusal of a Pod", "an event",     "berth status"};
  return kNames.at(static_cast<std::size_t>(place));
}

// The world is not there yet when something breaks.
using Deed = std::function<void(ClbCloud& cloud, World* world)>;

struct Question {
  std::string name;
  std::string words;   // as the cloud says it, and as the guide has it
  std::string remedy;  // what to do
  Deed breaks;
  Deed mends;
  std::set<Place> places;
  std::string lb = "lb-demo";
  std::int64_t segment = 1;
};
void PrintTo(const Question& question, std::ostream* out) { *out << question.name; }

void set_account(ClbCloud& cloud, const std::function<void(sim::tencent::Account&)>& change) {
  ASSERT_TRUE(cloud.cloud().edit_account("100000000001", change));
}
// Where Pods are, and how.
Deed network(sim::tencent::Network network) {
  return [network](ClbCloud& cloud, World*) {
    set_account(cloud, [&](sim::tencent::Account& account) { account.networks = {network}; });
  };
}
Deed account(void (*change)(sim::tencent::Account&)) {
  return [change](ClbCloud& cloud, World*) { set_account(cloud, change); };
}
Deed permissions(sim::tencent::Policy policy) {
  return [policy](ClbCloud& cloud, World*) { cloud.give_key(policy); };
}

constexpr auto kBound = {Place::listener, Place::ingress, Place::pod, Place::event, Place::status};
constexpr auto kMade = {Place::listener, Place::pool,  Place::ingress,
                        Place::refusal,  Place::event, Place::status};
constexpr auto kKnown = {Place::pool, Place::ingress, Place::refusal, Place::status};

const std::vector<Question>& questions() {
  static const std::string kHere{kClbRegion};
  static const std::vector<Question> all{
      {"WrongVpc", "is not add to global route", "use one of the cluster's VPC",
       network({kHere, "vpc-9", "10.0.0.0/8"}), network({kHere, "vpc-1", "10.0.0.0/8"}), kBound},
      {"NoPermission", "clb:CreateListener", "grant what docs/tencent.md lists",
       permissions({"clb:Describe*"}), permissions({"clb:*"}), kMade},
      {"PortRangeWhitelist", "not allow to create port range listener",
       "the account on a whitelist", account([](auto& one) { one.port_ranges = false; }),
       account([](auto& one) { one.port_ranges = true; }), kMade, "lb-demo", 4},
      {"BandwidthShift", "is not network shift up", "bandwidth shifted up",
       [](ClbCloud& cloud, World*) {
         set_account(cloud, [](sim::tencent::Account& one) {
           one.networks = {{std::string(kClbRegion), "vpc-1", "10.0.0.0/8", true}};
           one.network_shift_up = false;
         });
       },
       account([](auto& one) { one.network_shift_up = true; }), kBound},
      {"InvalidHeader", "invalid header field value", "base64 of the text without a line break",
       [](ClbCloud& cloud, World*) { cloud.sign_with("example-key\n"); },
       [](ClbCloud& cloud, World* world) {
         cloud.sign_with("example-key");
         world->crash_all();  // a Secret that is mended needs a new Pod, whose variables it is
       },
       kKnown},
      {"SecretNotBase64", "AuthFailure", "base64 of the text without a line break",
       [](ClbCloud& cloud, World*) { cloud.sign_with("ZXhhbXBsZS1rZXk="); },
       [](ClbCloud& cloud, World* world) {
         cloud.sign_with("example-key");
         world->crash_all();
       },
       kKnown},
      {"LoadBalancerNotFound", "loadbalancer not found", "ap-xxx:lb-xxx",
       [](ClbCloud& cloud, World*) { cloud.remove_load_balancer("lb-demo"); },
       [](ClbCloud& cloud, World*) { cloud.add_load_balancer("lb-demo", {.vpc_id = "vpc-1"}); },
       kKnown},
      {"SnatPro", "before enable SnatPro", "switch on SnatPro",
       network({kHere, "vpc-1", "10.0.0.0/8"}),
       [](ClbCloud& cloud, World*) {
         cloud.edit("lb-far", [](sim::tencent::LoadBalancer& lb) {
           lb.snat_pro = true;
           lb.snat_ips = {"10.9.0.2"};
         });
       },
       kBound, "ap-shanghai:lb-far"}};
  return all;
}

class Faq : public ::testing::TestWithParam<Question> {
 protected:
  Faq() { set_log_level(LogLevel::error); }
  ~Faq() override { world_.reset(); }

  void open(const Question& question) {
    cloud_ = std::make_unique<ClbCloud>();
    cloud_->add_load_balancer("lb-demo", {.vpc_id = "vpc-1"});
    cloud_->add_load_balancer("ap-shanghai:lb-far", {.vpc_id = "vpc-2"});
    WorldOptions options;
    options.config.without = {"host-ports"};
    options.config.load_balancers = clb_defaults();
    options.cloud = cloud_.get();
    question.breaks(*cloud_, nullptr);
    world_ = std::make_unique<World>(1, options);
    ASSERT_TRUE(cluster().run_until([this] {
      const auto hooks = cluster().list(kHooks);
      return world_->leaders() == 1 && hooks && !hooks->empty() &&
             cluster().list(kGroup + "ingresses");
    }));
    ASSERT_TRUE(come_to_be(objects(question)));
    ASSERT_TRUE(runs_until([this] { return say_ready("web-0"); }));
  }
  // What its node says of it.
  bool say_ready(const std::string& pod) {
    const wire::Object condition{{"type", "ContainersReady"}, {"status", "True"}};
    const Result<Value> found = cluster().ask("GET", kPods + "/" + pod);
    if (!found || wire::string_at(*found, "/status/podIP").empty()) return false;
    return cluster()
        .ask("PATCH", kPods + "/" + pod + "/status",
             wire::Object{{"status", wire::Object{{"conditions", wire::Array{condition}}}}})
        .has_value();
  }

  static std::string objects(const Question& question) {
    const bool wide = question.segment > 1;
    const std::string pool = fmt::format(
        "{{itemName: item1, loadBalancerIDs: [\"{}\"], protocol: TCP, startPort: 30000, endPort: "
        "30008, segmentLength: {}}}",
        question.lb, question.segment);
    const std::string ingress =
        wide ? fmt::format(
                   "{{portMappings: [{{workloadKind: StatefulSet, workloadName: web, "
                   "workloadNamespace: games, protocol: TCP, startPort: 31000, startIndex: 0, "
                   "endIndex: 1, segmentLength: {}}}]}}",
                   question.segment)
             : "{rules: [{port: 8080, protocol: TCP, services: [{serviceName: web, servicePort: "
               "80, isDirectConnect: true}]}]}";
    return fmt::format(R"(
apiVersion: v1
kind: Namespace
metadata: {{name: games, labels: {{bcs-ingress-controller-inject: "true"}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: web, namespace: games}}
spec: {{selector: {{app: web}}, ports: [{{protocol: TCP, port: 80, targetPort: 8000}}]}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: games
  labels: {{app: web}}
  ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: uid-of-web, controller: true}}]
spec: {{containers: [{{name: main, image: main}}]}}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata: {{name: web, namespace: games, annotations: {{networkextension.bkbcs.tencent.com/lbids: "{}"}}}}
spec: {}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {{name: rooms, namespace: games}}
spec: {{poolItems: [{}]}}
)",
                       question.lb, ingress, pool);
  }

  // As a person tries.
  bool come_to_be(const std::string& yaml) {
    return runs_until([&] { return cluster().create_missing(yaml).has_value(); });
  }
  // The room is created when the API server lets it in; until then its refusal is what is told.
  bool create_room() {
    if (cluster().ask("GET", kPods + "/room-0")) {
      refusal_.clear();
      return true;
    }
    const Result<> made = cluster().create_missing(R"(
apiVersion: v1
kind: Pod
metadata:
  name: room-0
  namespace: games
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "rooms TCP 8000"
spec: {containers: [{name: main, image: main, ports: [{containerPort: 8000}]}]}
)");
    refusal_ = made ? std::string() : made.error().to_string();
    return made.has_value();
  }

  world::Cluster& cluster() { return world_->cluster(); }
  bool runs_until(const std::function<bool()>& done) {
    const Instant patience = world_->kernel().now() + kPatience;
    bool came = false;
    while (!came && world_->kernel().now() < patience && cluster().run_for(5s)) came = done();
    return came;
  }
  std::string texts(const std::string& plural, std::string_view pointer) {
    std::string out;
    const auto found = cluster().list(kGroup + plural);
    for (const Value& one : found ? *found : std::vector<Value>{})
      out += std::string(wire::string_at(one, pointer)) + "\n";
    return out;
  }
  std::string events() {
    std::string out;
    const auto found = cluster().list("/api/v1/namespaces/games/events");
    for (const Value& one : found ? *found : std::vector<Value>{})
      if (wire::string_at(one, "/type") == "Warning")
        out += std::string(wire::string_at(one, "/message")) + "\n";
    return out;
  }

  // A person with the command: everything that is read goes through the API server.
  void look(const std::function<void(const Context&, kube::Client&)>& deed) {
    bool done = false;
    sim::Process& person = world_->kernel().start_process("person", sim::Crashable::no);
    const std::unique_ptr<net::Transport> network = cluster().connect(person);
    kube::Client client(*network, kube::fixed_config(world::Cluster::kServerUrl, {}));
    const std::unique_ptr<Task> task = person.spawn("look", [&](std::stop_token stop) {
      deed({.tasks = person, .stop = stop}, client);
      done = true;
    });
    ASSERT_TRUE(cluster().run_until([&] { return done; }));
    world_->kernel().crash(person);
  }
  std::string explained(const std::string& kind, const std::string& name, bool* ready = nullptr) {
    std::string out;
    look([&](const Context& context, kube::Client& client) {
      const auto view = report::read_for_explain(context, client, app::all_report_parts(), "", kind,
                                                 {"games", name});
      if (!view) {
        out = view.error().to_string();
        return;
      }
      const report::Explanation told = report::explain(*view);
      if (ready) *ready = told.ready();
      out = report::to_text(told);
    });
    return out;
  }
  report::Status status() {
    report::Status out;
    look([&](const Context& context, kube::Client& client) {
      const auto view = report::read_cluster(context, client, app::all_report_parts(), "");
      ASSERT_TRUE(view) << view.error().to_string();
      out = report::make_status(*view);
    });
    return out;
  }

  std::string told(Place place) {
    switch (place) {
      case Place::listener: return texts("listeners", "/status/msg");
      case Place::pool: return texts("portpools", "/status/poolItems/0/message");
      case Place::ingress:
        return texts("ingresses", "/status/message") + explained("Ingress", "web");
      case Place::pod: return explained("Pod", "room-0");
      case Place::refusal: return refusal_;
      case Place::event: return events();
      case Place::status: break;
    }
    return report::to_text(status());
  }
  bool all_is_well() {
    bool pod = false;
    bool ingress = false;
    if (!create_room()) return false;
    (void)explained("Pod", "room-0", &pod);
    (void)explained("Ingress", "web", &ingress);
    return pod && ingress && status().well();
  }

  std::unique_ptr<ClbCloud> cloud_;
  std::unique_ptr<World> world_;
  std::string refusal_;
};

TEST_P(Faq, IsSaidWherePeopleLookAndGoesWithItsCause) {
  const Question& question = GetParam();
  ASSERT_NO_FATAL_FAILURE(open(question));
  const bool has_room = question.places.contains(Place::pod);
  for (const Place place : question.places) {
    std::string said;
    const bool is_said = runs_until([&] {
      if (create_room() != has_room && has_room) return false;
      said = told(place);
      return said.find(question.words) != std::string::npos &&
             said.find(question.remedy) != std::string::npos;
    });
    EXPECT_TRUE(is_said) << to_string(place) << " says:\n" << said;
  }
  question.mends(*cloud_, world_.get());
  EXPECT_TRUE(runs_until([&] { return all_is_well(); }))
      << refusal_ << explained("Pod", "room-0") << explained("Ingress", "web")
      << report::to_text(status());
  for (const Place place : question.places) {
    if (place == Place::event) continue;  // those are of the past
    EXPECT_THAT(told(place), Not(HasSubstr(question.words))) << to_string(place);
  }
}

// The page has them all, and those that no cloud has a part in.
TEST(FaqPage, HasARowForEachQuestion) {
  const char* const source = std::getenv("BERTH_SOURCE_DIR");
  const std::string page =
      read_file(std::string(source ? source : ".") + "/docs/troubleshooting.md", 1u << 20)
          .value_or("");
  const std::size_t begin = page.find("| Question | Known by | Said by |");
  ASSERT_NE(begin, std::string::npos);
  const std::string table = page.substr(begin, page.find("\n\n", begin) - begin);
  EXPECT_EQ(std::ranges::count(table, '\n'), 16) << "a heading, a line, and fifteen questions";
  for (const Question& question : questions()) {
    if (question.name == "NoPermission") continue;  // there the permission itself is named
    EXPECT_THAT(table, HasSubstr(question.words)) << question.name;
  }
  for (const char* const words : {"UnauthorizedOperation", "setenv: invalid argument", "--probe",
                                  "is being deleted", "ImagePullBackOff", "scaled to 0"})
    EXPECT_THAT(table, HasSubstr(words));
}

INSTANTIATE_TEST_SUITE_P(Questions, Faq, ::testing::ValuesIn(questions()),
                         [](const auto& question) { return question.param.name; });

}  // namespace
}  // namespace berth::scenario
