#include "admission/port_wishes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/host_ports.h"

namespace berth::admission {
namespace {

using ::testing::HasSubstr;
using wire::Array;
using wire::Object;
using wire::Value;

// A Pod that declares 8000 for TCP and UDP and 9000 for TCP.
Object pod_asking(std::string_view ports) {
  return {{"metadata", Object{{"name", "room-0"},
                              {"annotations", Object{{api::kPortPoolsAnnotation, "true"},
                                                     {api::kPortsAnnotation, ports}}}}},
          {"spec",
           Object{{"containers",
                   Array{Object{
                       {"name", "room"},
                       {"ports", Array{Object{{"containerPort", 8000}},
                                       Object{{"containerPort", 8000}, {"protocol", "UDP"}},
                                       Object{{"containerPort", 9000}, {"name", "voice"}}}}}}}}}};
}

void set(Object& pod, std::string_view pointer, Value value) {
  Value whole(pod);
  ASSERT_TRUE(wire::set_at(whole, pointer, std::move(value)));
  pod = whole.as_object();
}

// "fine", or why not.
std::string answer(const Object& pod) {
  kube::AdmissionRequest request;
  request.operation = "CREATE";
  request.resource = "pods";
  request.ns = "games";
  request.name = "room-0";
  request.object = pod;
  const Result<PortWishes> wishes = wishes_of(request);
  return wishes ? "fine" : wishes.error().to_string();
}

TEST(HostPortWishes, NeedAPortOfTheNode) {
  Object pod = pod_asking("rooms TCP 8000/hostport");
  EXPECT_THAT(answer(pod), HasSubstr("port 8000 has no hostPort, and /hostport asks for it "
                                     "(hint: set hostPort in spec.containers[].ports, or leave"));
  set(pod, "/spec/containers/0/ports/0/hostPort", 28000);
  EXPECT_EQ(answer(pod), "fine");
}

TEST(HostPortWishes, NeedOneForEachProtocol) {
  Object pod = pod_asking("rooms TCP_UDP 8000/hostport");
  set(pod, "/spec/containers/0/ports/0/hostPort", 28000);
  EXPECT_THAT(answer(pod), HasSubstr("port 8000 has no hostPort for UDP"));
  set(pod, "/spec/containers/0/ports/1/hostPort", 28001);
  EXPECT_EQ(answer(pod), "fine");
}

// It asks for random host ports, and not for this one: it would wait for ever.
TEST(HostPortWishes, ARandomHostPortIsForThePortsThatItNames) {
  const std::string annotations = "/metadata/annotations/";
  Object pod = pod_asking("rooms TCP 8000/hostport");
  set(pod, annotations + std::string(api::kHostPortAnnotation), "true");
  set(pod, annotations + std::string(api::kHostPortPortsAnnotation), "9000");
  EXPECT_THAT(answer(pod), HasSubstr("port 8000 has no hostPort, and"));
  EXPECT_THAT(answer(pod), HasSubstr("name it in the annotation ports.randhostport"));
  set(pod, annotations + std::string(api::kHostPortPortsAnnotation), "9000,8000");
  EXPECT_EQ(answer(pod), "fine");
  set(pod, annotations + std::string(api::kPortsAnnotation), "rooms TCP voice/hostport");
  EXPECT_EQ(answer(pod), "fine");
}

TEST(HostPortWishes, OnTheNodesNetworkEveryPortIsOne) {
  Object pod = pod_asking("rooms TCP_UDP 9000/hostport");
  set(pod, "/spec/hostNetwork", true);
  EXPECT_EQ(answer(pod), "fine");
}

// TLS ends before the container, which declares TCP.
TEST(TlsWishes, LeadToAContainerPortOfTcp) {
  Object pod = pod_asking("rooms TCP_SSL 8000/hostport");
  set(pod, "/spec/containers/0/ports/1/hostPort", 28000);
  EXPECT_THAT(answer(pod), HasSubstr("port 8000 has no hostPort for TCP, and /hostport asks"));
  set(pod, "/spec/containers/0/ports/0/hostPort", 28000);
  EXPECT_EQ(answer(pod), "fine");
  kube::AdmissionRequest request;
  request.ns = "games";
  request.object = pod_asking("rooms TCP_SSL 8000\nrooms TCP_SSL voice");
  const Result<PortWishes> wishes = wishes_of(request);
  ASSERT_TRUE(wishes) << wishes.error().to_string();
  EXPECT_EQ(wishes->ports[1].protocols, std::vector{model::Protocol::tls});
  EXPECT_EQ(wishes->ports[1].pod_port.port, 9000);
  EXPECT_TRUE(wishes->doubts.empty()) << wishes->doubts.front();
}

}  // namespace
}  // namespace berth::admission
