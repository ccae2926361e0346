// The reflector through an Informer of Pods, against a scripted server and a virtual clock.
#include "kube/cache/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/cache/informer.h"
#include "kube/cache/pod.h"
#include "kube/cache/test_scripted_transport.h"
#include "kube/client/test_proto_writer.h"
#include "metrics/registry.h"
#include "sim/kernel/kernel.h"

namespace berth::kube {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using End = ScriptedAnswer::End;

std::string pod(std::string_view name, int version, std::string_view uid = "u1") {
  return fmt::format(
      R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{}","namespace":"games",)"
      R"("uid":"{}","resourceVersion":"{}"}}}})",
      name, uid, version);
}

std::string pod_list(int version, const std::vector<std::string>& pods,
                     std::string_view token = "") {
  return fmt::format(R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{}",)"
                     R"("continue":"{}"}},"items":[{}]}})",
                     version, token, fmt::join(pods, ","));
}

std::string event(std::string_view type, std::string_view object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

std::string bookmark(int version) {
  return event("BOOKMARK", fmt::format(R"({{"kind":"Pod","apiVersion":"v1","metadata":)"
                                       R"({{"resourceVersion":"{}","creationTimestamp":null}},)"
                                       R"("spec":{{"containers":null}},"status":{{}}}})",
                                       version));
}

std::string status_object(int code, std::string_view reason) {
  return fmt::format(R"({{"kind":"Status","apiVersion":"v1","status":"Failure",)"
                     R"("message":"refused","reason":"{}","code":{}}})",
                     reason, code);
}

ScriptedAnswer refused_status(int code, std::string_view reason) {
  return {.status = code, .chunks = {status_object(code, reason)}};
}

class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest() {
    set_log_sink([this](std::string_view line) { logged += std::string(line) + "\n"; });
    informer.store().on_change([this](const Change<Pod>& change) {
      const char* what = !change.before ? "+" : !change.after ? "-" : "~";
      changes.push_back(what + change.object().meta.name);
    });
  }
  ~ReflectorTest() override { set_log_sink({}); }

  void list_then_watch(int version, const std::vector<std::string>& pods) {
    server.push({.chunks = {pod_list(version, pods)}});
    server.push({.end = End::open});
    informer.start(stop.get_token());
    run_until_opened(2);
    changes.clear();
  }
  void run_until(const std::function<bool()>& done) {
    auto ran = kernel.run_until(done);
    ASSERT_TRUE(ran) << ran.error().to_string() << "\n" << logged;
  }
  void run_until_opened(std::size_t count) {
    run_until([&] { return server.opened().size() >= count; });
    settle();
  }
  // Lets what is ready run, without moving the clock by much.
  void settle() { ASSERT_TRUE(kernel.run_until_quiescent(Duration{})); }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& one : informer.store().all()) all.push_back(one->meta.name);
    return all;
  }
  double metric(const std::string& name) {
    return registry.counter(name, "", {{"resource", "pods"}}).value();
  }

  std::string logged;
  std::vector<std::string> changes;
  metrics::Registry registry;
  sim::Kernel kernel{7};
  sim::Process& tasks = kernel.start_process("berth");
  ScriptedTransport server{tasks};
  Client client{server, fixed_config("http://server", {})};
  std::stop_source stop;
  Informer<Pod> informer{tasks, client, pod_projection(), Random(7), {.registry = &registry}};
};

TEST_F(ReflectorTest, ListsFromTheCacheThenWatchesFromTheListsVersion) {
  server.push({.chunks = {pod_list(10, {pod("a", 3), pod("b", 4)})}});
  server.push({.end = End::open});
  informer.start(stop.get_token());
  ASSERT_TRUE(informer.wait_synced(Context{.tasks = tasks}));
  EXPECT_THAT(names(), UnorderedElementsAre("a", "b"));
  run_until_opened(2);
  EXPECT_EQ(server.opened()[0], "/api/v1/pods?resourceVersion=0&limit=500");
  EXPECT_THAT(server.opened()[1],
              StartsWith("/api/v1/pods?resourceVersion=10&watch=true&allowWatchBookmarks=true&"
                         "timeoutSeconds="));
  EXPECT_EQ(server.accepts()[0], "application/vnd.kubernetes.protobuf,application/json");
  EXPECT_THAT(server.accepts()[1], HasSubstr(";stream=watch"));
}

TEST_F(ReflectorTest, FollowsEventsAcrossChunkBorders) {
  list_then_watch(10, {pod("a", 3)});
  const std::string text = event("ADDED", pod("b", 11)) + event("MODIFIED", pod("a", 12)) +
                           event("DELETED", pod("b", 13));
  for (const char byte : text) server.feed(std::string(1, byte));
  run_until([&] { return informer.store().seen() == 13; });
  EXPECT_THAT(changes, ElementsAre("+b", "~a", "-b"));
}

TEST_F(ReflectorTest, AWatchThatEndsGoesOnFromTheLastVersionWithoutAList) {
  list_then_watch(10, {});
  server.feed(event("ADDED", pod("a", 11)));
  server.feed(bookmark(50));
  server.push({.end = End::open});
  server.end(End::well);
  run_until_opened(3);
  EXPECT_THAT(server.opened()[2], HasSubstr("resourceVersion=50&watch=true"));
  EXPECT_EQ(server.opened_at()[2], server.opened_at()[1]);
}

TEST_F(ReflectorTest, ABrokenStreamThatLivedIsFollowedAtOnce) {
  list_then_watch(10, {});
  ASSERT_TRUE(sleep_for(tasks, seconds(100), {}));
  const Instant broke = tasks.now();
  server.push({.end = End::open});
  server.end(End::broken);
  run_until_opened(3);
  EXPECT_THAT(server.opened()[2], HasSubstr("resourceVersion=10&watch=true"));
  EXPECT_EQ(server.opened_at()[2], broke);
}

TEST_F(ReflectorTest, AStreamThatEndsInsideAnEventIsFollowedByAnotherAndNoList) {
  list_then_watch(10, {});
  server.push({.chunks = {event("ADDED", pod("a", 11))}, .end = End::open});
  server.feed(event("ADDED", pod("a", 11)).substr(0, 40));
  server.end(End::well);
  run_until_opened(3);
  EXPECT_THAT(server.opened()[2], HasSubstr("resourceVersion=10&watch=true"));
  EXPECT_THAT(changes, ElementsAre("+a"));
}

TEST_F(ReflectorTest, ASilentStreamIsOpenedAgain) {
  list_then_watch(10, {});
  const Instant before = tasks.now();
  server.push({.end = End::open});
  run_until_opened(3);
  EXPECT_EQ(server.opened_at()[2] - before, kSilentStreamLimit);
  EXPECT_THAT(server.opened()[2], HasSubstr("&watch=true"));
}

TEST_F(ReflectorTest, AnUnreachableServerIsAskedForTheWatchAgainWithGrowingPauses) {
  list_then_watch(10, {});
  for (int i = 0; i < 8; ++i) {
    server.push({.refused = error_of(Code::unavailable, "connection refused")});
  }
  server.push({.end = End::open});
  ASSERT_TRUE(sleep_for(tasks, seconds(1), {}));
  server.end(End::well);
  run_until_opened(11);
  const auto& at = server.opened_at();
  for (std::size_t i = 3; i < 11; ++i) {
    EXPECT_THAT(server.opened()[i], HasSubstr("&watch=true")) << "no list";
    const double wait = to_seconds(at[i] - at[i - 1]);
    const double least = std::min(0.8 * static_cast<double>(1u << (i - 3)), 30.0);
    EXPECT_GE(wait, least - 1e-6) << i;
    EXPECT_LE(wait, 2 * least + 1e-6) << i;
  }
}

TEST_F(ReflectorTest, AThrottledWatchWaitsAsLongAsTheServerAsks) {
  list_then_watch(10, {});
  server.push({.refused = Error{.code = Code::throttled, .retry_after = seconds(90)}});
  server.push({.end = End::open});
  server.end(End::broken);
  run_until_opened(4);
  EXPECT_GE(server.opened_at()[3] - server.opened_at()[2], seconds(90));
  EXPECT_THAT(server.opened()[3], HasSubstr("&watch=true"));
}

TEST_F(ReflectorTest, AnExpiredWatchLeadsToAConsistentList) {
  list_then_watch(10, {pod("a", 3), pod("b", 4)});
  server.push({.chunks = {pod_list(100, {pod("b", 4), pod("c", 90)})}});
  server.push({.end = End::open});
  server.feed(event("ERROR", status_object(410, "Expired")));
  run_until_opened(4);
  EXPECT_EQ(server.opened()[2], "/api/v1/pods?limit=500");
  EXPECT_THAT(changes, ElementsAre("+c", "-a"));
  EXPECT_THAT(server.opened()[3], HasSubstr("resourceVersion=100&watch=true"));
}

TEST_F(ReflectorTest, AWatchRefusedWith410LeadsToAConsistentList) {
  list_then_watch(10, {pod("a", 3)});
  server.push(refused_status(410, "Gone"));
  server.push({.chunks = {pod_list(100, {})}});
  server.push({.end = End::open});
  server.feed(bookmark(11));
  server.end(End::well);
  run_until_opened(5);
  EXPECT_EQ(server.opened()[3], "/api/v1/pods?limit=500");
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ReflectorTest, AnyOtherErrorListsNoOlderThanWhatWasSeen) {
  list_then_watch(10, {pod("a", 3)});
  server.push({.chunks = {pod_list(20, {pod("a", 3)})}});
  server.push({.end = End::open});
  server.feed(event("ERROR", status_object(403, "Forbidden")));
  run_until_opened(4);
  EXPECT_EQ(server.opened()[2], "/api/v1/pods?resourceVersion=10");
}

TEST_F(ReflectorTest, AListVersionThatTheServerDoesNotHaveYetIsAskedForAtLatest) {
  list_then_watch(10, {});
  server.push({.refused = error_of(Code::too_new, "too large resource version")});
  server.push({.chunks = {pod_list(20, {})}});
  server.push({.end = End::open});
  server.feed(event("ERROR", status_object(403, "Forbidden")));
  run_until_opened(5);
  EXPECT_EQ(server.opened()[3], "/api/v1/pods?limit=500");
  EXPECT_EQ(server.opened_at()[3], server.opened_at()[2]);
}

TEST_F(ReflectorTest, AListVersionRefusedInWordsThatNobodyReadsIsAskedForAtLatestToo) {
  list_then_watch(10, {});
  server.push({.status = 504,
               .chunks = {proto_document("Status", proto_bytes(4, "Timeout"))},
               .content_type = "application/vnd.kubernetes.protobuf"});
  server.push({.chunks = {pod_list(20, {})}});
  server.push({.end = End::open});
  server.feed(event("ERROR", status_object(403, "Forbidden")));
  run_until_opened(5);
  EXPECT_EQ(server.opened()[2], "/api/v1/pods?resourceVersion=10");
  EXPECT_EQ(server.opened()[3], "/api/v1/pods?limit=500");
}

TEST_F(ReflectorTest, AWatchThatEndsAtOnceAndEmptyIsNotRepeatedInATightLoop) {
  server.push({.chunks = {pod_list(10, {})}});
  server.push({.end = End::well});
  server.push({.chunks = {pod_list(10, {})}});
  server.push({.end = End::open});
  informer.start(stop.get_token());
  run_until_opened(4);
  EXPECT_GE(server.opened_at()[2] - server.opened_at()[1], std::chrono::milliseconds(800));
  EXPECT_THAT(server.opened()[2], Not(HasSubstr("watch")));
}

TEST_F(ReflectorTest, PagesAreJoinedAndTheFirstPagesVersionCounts) {
  server.push({.chunks = {pod_list(10, {pod("a", 3)}, "page 2")}});
  server.push({.chunks = {pod_list(11, {pod("b", 4)})}});
  server.push({.end = End::open});
  informer.start(stop.get_token());
  run_until_opened(3);
  EXPECT_EQ(server.opened()[1], "/api/v1/pods?limit=500&continue=page%202");
  EXPECT_THAT(names(), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(informer.store().seen(), 10u);
}

TEST_F(ReflectorTest, AContinueTokenThatExpiresLeadsToOneFullList) {
  list_then_watch(10, {pod("old", 3)});
  server.push({.chunks = {pod_list(100, {pod("a", 30)}, "more")}});
  server.push(refused_status(410, "Expired"));
  server.push({.chunks = {pod_list(110, {pod("b", 40)})}});
  server.push({.end = End::open});
  server.feed(event("ERROR", status_object(410, "Expired")));
  run_until_opened(6);
  EXPECT_EQ(server.opened()[4], "/api/v1/pods?");
  EXPECT_THAT(names(), ElementsAre("b")) << "what only the expired pages had is gone too";
}

TEST_F(ReflectorTest, AListThatBreaksIsTriedAgainAndDeletesNothing) {
  list_then_watch(10, {pod("a", 3), pod("b", 4)});
  const std::string whole = pod_list(20, {pod("b", 15)});
  server.push({.chunks = {whole.substr(0, whole.size() - 3)}, .end = End::broken});
  server.push({.chunks = {whole}});
  server.push({.end = End::open});
  server.feed(event("ERROR", status_object(403, "Forbidden")));
  run_until_opened(3);
  EXPECT_EQ(informer.store().size(), 2u);
  EXPECT_EQ(informer.store().seen(), 10u);
  run_until_opened(5);
  EXPECT_THAT(names(), ElementsAre("b"));
}

TEST_F(ReflectorTest, AnObjectThatDoesNotDecodeIsReportedAndNothingElseSuffers) {
  std::string broken = pod("bad", 5);
  broken.replace(broken.find("\"uid\":\"u1\""), 10, "\"uid\":{}  ");
  list_then_watch(10, {pod("a", 3), pod("bad", 4)});
  server.feed(event("MODIFIED", broken) + event("MODIFIED", pod("a", 12)));
  run_until([&] { return informer.store().seen() == 12; });
  EXPECT_THAT(changes, ElementsAre("~a"));
  EXPECT_EQ(informer.store().get("games", "bad")->meta.resource_version, 4u);
  EXPECT_THAT(logged, HasSubstr("games/bad"));
  EXPECT_EQ(metric("reflector_undecodable_objects_total"), 1);
  EXPECT_EQ(informer.undecodable(), 1u);

  server.push({.chunks = {pod_list(20, {pod("a", 12), broken})}});
  server.push({.end = End::open});
  server.feed(event("ERROR", status_object(410, "Expired")));
  run_until_opened(4);
  EXPECT_THAT(names(), UnorderedElementsAre("a", "bad")) << "the last good version stays";
  EXPECT_EQ(metric("reflector_undecodable_objects_total"), 2);
  EXPECT_EQ(informer.undecodable(), 1u) << "counted once";
  server.feed(event("MODIFIED", pod("bad", 21)));
  run_until([&] { return informer.store().seen() == 21; });
  EXPECT_EQ(informer.undecodable(), 0u) << "it can be read again";
}

TEST_F(ReflectorTest, AnEventOfAnotherKindIsIgnored) {
  list_then_watch(10, {});
  std::string other = pod("a", 11);
  other.replace(other.find("Pod"), 3, "Job");
  server.feed(event("ADDED", other) + event("SURPRISE", "{}") + event("ADDED", pod("b", 12)));
  run_until([&] { return informer.store().seen() == 12; });
  EXPECT_THAT(changes, ElementsAre("+b"));
}

TEST_F(ReflectorTest, AnEventThatIsTooLargeLeadsToAList) {
  list_then_watch(10, {});
  server.push({.chunks = {pod_list(20, {})}});
  server.push({.end = End::open});
  server.feed(std::string(wire::kMaxMessageBytes + 1, 'x'));
  run_until_opened(4);
  EXPECT_EQ(server.opened()[2], "/api/v1/pods?resourceVersion=10");
}

TEST_F(ReflectorTest, RelistAtLatestInterruptsTheWatchAndWaitsForAConsistentList) {
  list_then_watch(10, {pod("a", 3)});
  server.push({.chunks = {pod_list(30, {pod("b", 25)})}, .delay = seconds(2)});
  server.push({.end = End::open});
  const Instant before = tasks.now();
  ASSERT_TRUE(informer.relist_at_latest(Context{.tasks = tasks}));
  EXPECT_EQ(tasks.now() - before, seconds(2));
  EXPECT_EQ(server.opened()[2], "/api/v1/pods?limit=500");
  EXPECT_THAT(names(), ElementsAre("b"));
}

TEST_F(ReflectorTest, RelistAtLatestIsNotSatisfiedByAListThatWasUnderWay) {
  server.push({.chunks = {pod_list(10, {pod("a", 3)})}, .delay = seconds(5)});
  server.push({.chunks = {pod_list(30, {pod("b", 25)})}});
  server.push({.end = End::open});
  informer.start(stop.get_token());
  run_until([&] { return server.opened().size() == 1; });
  ASSERT_TRUE(informer.relist_at_latest(Context{.tasks = tasks}));
  EXPECT_THAT(names(), ElementsAre("b"));
}

TEST_F(ReflectorTest, RelistAtLatestDoesNotWaitForAPause) {
  list_then_watch(10, {});
  for (int i = 0; i < 6; ++i) {
    server.push({.refused = error_of(Code::unavailable, "connection refused")});
  }
  server.end(End::broken);
  run_until_opened(8);
  server.push({.chunks = {pod_list(30, {pod("b", 25)})}});
  server.push({.end = End::open});
  const Instant before = tasks.now();
  ASSERT_TRUE(informer.relist_at_latest(Context{.tasks = tasks}));
  EXPECT_EQ(tasks.now(), before);
}

TEST_F(ReflectorTest, RelistAtLatestObeysItsDeadline) {
  list_then_watch(10, {});
  const auto late = informer.relist_at_latest(Context{.tasks = tasks}.within(seconds(20)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::timeout);
}

TEST_F(ReflectorTest, AServerRestoredFromABackupIsFollowed) {
  list_then_watch(1000, {pod("a", 900), pod("b", 950)});
  server.push({.chunks = {pod_list(50, {pod("a", 40)})}});
  server.push({.chunks = {pod_list(50, {pod("a", 40)})}});
  server.push({.end = End::open});
  server.feed(event("ERROR", status_object(410, "Expired")));
  run_until_opened(5);
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_THAT(server.opened()[4], HasSubstr("resourceVersion=50&watch=true"));
}

TEST_F(ReflectorTest, ProtobufListsAndWatchesAreUnderstood) {
  const auto proto_pod = [](std::string_view name, std::string_view version) {
    return proto_bytes(1, proto_bytes(1, name) + proto_bytes(3, "games") + proto_bytes(5, "u1") +
                              proto_bytes(6, version));
  };
  const std::string list = proto_list("PodList", "10", "", {proto_pod("a", "3")});
  const std::string events = proto_frame("ADDED", "Pod", proto_pod("b", "11")) +
                             proto_frame("ADDED", "Job", proto_pod("c", "12")) +
                             proto_frame("BOOKMARK", "Pod", proto_pod("", "20"));
  server.push({.chunks = {list.substr(0, 30), list.substr(30)},
               .content_type = "application/vnd.kubernetes.protobuf"});
  server.push({.chunks = {events.substr(0, 7), events.substr(7)},
               .end = End::open,
               .content_type = "application/vnd.kubernetes.protobuf;stream=watch"});
  informer.start(stop.get_token());
  run_until([&] { return informer.store().seen() == 20; });
  EXPECT_THAT(changes, ElementsAre("+a", "+b"));

  server.push({.chunks = {pod_list(30, {})}});
  const std::string gone =
      proto_bytes(3, "too old") + proto_bytes(4, "Expired") + proto_number(6, 410);
  server.feed(proto_frame("ERROR", "Status", gone));
  run_until([&] { return informer.store().seen() == 30; });
  EXPECT_EQ(server.opened()[2], "/api/v1/pods?limit=500");
}

TEST_F(ReflectorTest, StopsAtOnceWhileItWatches) {
  list_then_watch(10, {});
  const Instant before = tasks.now();
  stop.request_stop();
  settle();
  EXPECT_EQ(server.opened().size(), 2u);
  EXPECT_EQ(tasks.now(), before);
  EXPECT_TRUE(informer.wait_synced(Context{.tasks = tasks})) << "what was synced stays so";
}

TEST_F(ReflectorTest, StopsAtOnceWhileItPauses) {
  server.push({.refused = error_of(Code::unavailable, "connection refused")});
  informer.start(stop.get_token());
  run_until_opened(1);
  stop.request_stop();
  ASSERT_TRUE(kernel.run_until_quiescent(seconds(3600)));
  EXPECT_EQ(server.opened().size(), 1u);
}

TEST_F(ReflectorTest, WaitSyncedSaysWhichCacheIsMissing) {
  server.push({.refused = error_of(Code::unavailable, "connection refused")});
  informer.start(stop.get_token());
  const auto late = informer.wait_synced(Context{.tasks = tasks}.within(seconds(5)));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().to_string(), HasSubstr("pods"));
}

}  // namespace
}  // namespace berth::kube
