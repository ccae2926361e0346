// Lists and watches: selectors, pages, versions, bookmarks, and what happens when history is gone.
#include "base/threads.h"
#include "sim/kube/test_client.h"

namespace berth::sim::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

std::string names_of(const Got& list) {
  std::string names;
  for (const wire::Value& item : *wire::array_at(list.body, "/items")) {
    names.append(names.empty() ? "" : ",").append(wire::string_at(item, "/metadata/name"));
  }
  return names;
}

struct Fixture : TestServer, testing::Test {
  Fixture() {
    config_map("a", R"({"app":"web","tier":"1"})");
    config_map("b", R"({"app":"db"})");
    config_map("c", R"({"app":"web"})");
    config_map("d", R"({})");
  }
  Got list(std::string_view query) { return get(path(kConfigMaps, query)); }
};
using Lists = Fixture;
using Watches = Fixture;

TEST_F(Lists, ShowItemsWithoutTheirType) {
  const Got all = list("");
  EXPECT_EQ(all.at("/kind"), "ConfigMapList");
  EXPECT_EQ(names_of(all), "a,b,c,d");
  EXPECT_EQ(all.at("/items/0/kind"), "(none)");
  EXPECT_EQ(all.at("/items/0/metadata/labels/app"), "web");
  EXPECT_EQ(get(path(kConfigMaps, "/a")).at("/kind"), "ConfigMap");
  EXPECT_EQ(list("").text, all.text);
  EXPECT_EQ(all.at("/metadata/resourceVersion"), std::to_string(server.resource_version()));
  EXPECT_EQ(names_of(get("/api/v1/configmaps")), "a,b,c,d");
  EXPECT_EQ(names_of(get("/api/v1/namespaces/other/configmaps")), "");
}

TEST_F(Lists, SelectByLabels) {
  EXPECT_EQ(names_of(list("?labelSelector=app%3Dweb")), "a,c");
  EXPECT_EQ(names_of(list("?labelSelector=app%3D%3Dweb,tier%21%3D1")), "c");
  EXPECT_EQ(names_of(list("?labelSelector=app%20in%20(web,%20db),%21tier")), "b,c");
  EXPECT_EQ(names_of(list("?labelSelector=app%20notin%20(web)")), "b,d");
  EXPECT_EQ(names_of(list("?labelSelector=app")), "a,b,c");
  EXPECT_EQ(list("?labelSelector=a%20b%20c").at("/message"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
}

TEST_F(Lists, SelectByFields) {
  EXPECT_EQ(names_of(list("?fieldSelector=metadata.name%3Db")), "b");
  EXPECT_EQ(names_of(list("?fieldSelector=metadata.name%21%3Db,metadata.namespace%3Ddefault")),
            "a,c,d");
  EXPECT_EQ(list("?fieldSelector=foo%3Dbar").at("/message"),
            R"("foo" is not a known field selector: only "metadata.name", "metadata.namespace")");
  post(kPods, R"({"metadata":{"name":"p"},"spec":{"nodeName":"n",)"
              R"("containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(names_of(get(path(kPods, "?fieldSelector=spec.nodeName%3Dn,status.phase%3DPending"))),
            "p");
  EXPECT_EQ(names_of(get(path(kPods, "?fieldSelector=spec.nodeName%3D"))), "");
}

TEST_F(Lists, ComeInPagesOfOneVersion) {
  const Got first = list("?limit=2");
  EXPECT_EQ(names_of(first), "a,b");
  EXPECT_EQ(first.at("/metadata/remainingItemCount"), "2");
  config_map("aa");
  remove(path(kConfigMaps, "/c"));
  const Got second = list("?limit=2&continue=" + first.at("/metadata/continue"));
  EXPECT_EQ(names_of(second), "c,d");
  EXPECT_EQ(second.at("/metadata/continue"), "(none)");
  EXPECT_EQ(second.at("/metadata/resourceVersion"), first.at("/metadata/resourceVersion"));
}

TEST_F(Lists, SayWhenAPageIsTooOld) {
  const Got first = list("?limit=2");
  config_map("cc");
  server.compact();
  const Got late = list("?limit=2&continue=" + first.at("/metadata/continue"));
  EXPECT_EQ(late.status, 410);
  EXPECT_EQ(late.at("/reason"), "Expired");
  EXPECT_EQ(names_of(list("?limit=9&continue=" + late.at("/metadata/continue"))), "c,cc,d");
  EXPECT_EQ(list("?continue=zz").status, 400);
}

TEST_F(Lists, ObeyTheVersionAskedFor) {
  const std::string then = std::to_string(server.resource_version());
  remove(path(kConfigMaps, "/a"));
  patch(path(kConfigMaps, "/b"), R"({"data":{"k":"new"}})");
  EXPECT_EQ(names_of(list("?resourceVersion=" + then)), "b,c,d");
  const Got exact = list("?resourceVersionMatch=Exact&resourceVersion=" + then);
  EXPECT_EQ(names_of(exact), "a,b,c,d");
  EXPECT_EQ(exact.at("/items/1/data/k"), "v");
  EXPECT_EQ(names_of(list("?limit=9&resourceVersion=" + then)), "a,b,c,d");
  EXPECT_EQ(names_of(list("?limit=1&resourceVersion=0")), "b,c,d");
  const Got future = list("?resourceVersion=99999");
  EXPECT_EQ(future.status, 504);
  EXPECT_EQ(future.at("/details/causes/0/reason"), "ResourceVersionTooLarge");
  EXPECT_EQ(list("?resourceVersion=xx").status, 400);
  EXPECT_EQ(list("?resourceVersionMatch=Exact").status, 422);
  server.compact();
  EXPECT_EQ(list("?resourceVersionMatch=Exact&resourceVersion=" + then).status, 410);
}

TEST_F(Lists, CanBeStaleOnDemand) {
  const std::uint64_t then = server.resource_version();
  remove(path(kConfigMaps, "/a"));
  server.faults().serve_stale_lists(then);
  EXPECT_EQ(names_of(list("?resourceVersion=0")), "a,b,c,d");
  EXPECT_EQ(names_of(list("")), "b,c,d");
}

TEST_F(Lists, OfMetadataAlone) {
  const Got got =
      call("GET", path(kConfigMaps, "?labelSelector=tier"), {}, "application/json",
           {{"Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}});
  EXPECT_EQ(got.at("/kind"), "PartialObjectMetadataList");
  EXPECT_EQ(got.at("/items/0/kind"), "PartialObjectMetadata");
  EXPECT_EQ(got.at("/items/0/metadata/name"), "a");
  EXPECT_EQ(got.at("/items/0/data"), "(none)");
}

TEST_F(Watches, BeginWithWhatIsThere) {
  const Got watch = list("?watch=1&labelSelector=app%3Dweb");
  EXPECT_EQ(read_events(watch).summary(), "ADDED a, ADDED c");
  EXPECT_EQ(server.open_watches(), 1u);
}

TEST_F(Watches, ShowChangesAfterAVersion) {
  const std::string then = std::to_string(server.resource_version());
  config_map("e");
  const Got watch = list("?watch=true&resourceVersion=" + then);
  EXPECT_EQ(read_events(watch).summary(), "ADDED e");
  patch(path(kConfigMaps, "/e"), R"({"data":{"k":"w"}})");
  remove(path(kConfigMaps, "/e"));
  post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  const Events events = read_events(watch);
  EXPECT_EQ(events.summary(), "MODIFIED e, DELETED e");
  EXPECT_EQ(wire::string_at(events.list[1], "/object/metadata/resourceVersion"),
            std::to_string(server.resource_version() - 1));
  EXPECT_EQ(wire::string_at(events.list[1], "/object/kind"), "ConfigMap");
  EXPECT_FALSE(events.ended);
}

TEST_F(Watches, ShowObjectsComeAndGoWithTheirLabels) {
  const std::string then = std::to_string(server.resource_version());
  const Got watch = list("?watch=1&labelSelector=app%3Dweb&resourceVersion=" + then);
  patch(path(kConfigMaps, "/a"), R"({"metadata":{"labels":{"app":"db"}}})");
  patch(path(kConfigMaps, "/d"), R"({"metadata":{"labels":{"app":"web"}}})");
  patch(path(kConfigMaps, "/b"), R"({"data":{"x":"y"}})");
  const Events events = read_events(watch);
  EXPECT_EQ(events.summary(), "DELETED a, ADDED d");
  EXPECT_EQ(wire::string_at(events.list[0], "/object/metadata/labels/app"), "web");
}

TEST_F(Watches, EndAtTheirTimeWithABookmark) {
  const Got watch = list("?watch=1&allowWatchBookmarks=true&timeoutSeconds=90");
  read_events(watch);
  server.tick(now + seconds{30});
  EXPECT_EQ(read_events(watch).summary(), "");
  server.tick(now + seconds{61});
  const Events mark = read_events(watch);
  EXPECT_EQ(mark.summary(), "BOOKMARK");
  EXPECT_EQ(wire::string_at(mark.list[0], "/object/metadata/resourceVersion"),
            std::to_string(server.resource_version()));
  server.tick(now + seconds{90});
  const Events last = read_events(watch);
  EXPECT_EQ(last.summary(), "BOOKMARK");
  EXPECT_TRUE(last.ended);
  EXPECT_EQ(server.open_watches(), 0u);
}

TEST_F(Watches, SendTheStateFirstWhenAskedTo) {
  const Got watch = list(
      "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
      "&resourceVersionMatch=NotOlderThan");
  const Events events = read_events(watch);
  EXPECT_EQ(events.summary(), "ADDED a, ADDED b, ADDED c, ADDED d, BOOKMARK");
  EXPECT_EQ(
      wire::string_at(events.list[4], "/object/metadata/annotations/k8s.io~1initial-events-end"),
      "true");
  EXPECT_EQ(list("?watch=1&sendInitialEvents=true").status, 422);
}

TEST_F(Watches, FromForgottenVersionsGetAnErrorEvent) {
  server.compact();
  const Got watch = list("?watch=1&resourceVersion=2");
  EXPECT_EQ(watch.status, 200);
  const Events events = read_events(watch);
  EXPECT_EQ(events.summary(), "ERROR");
  EXPECT_EQ(wire::int_at(events.list[0], "/object/code"), 410);
  EXPECT_EQ(wire::string_at(events.list[0], "/object/reason"), "Expired");
  EXPECT_TRUE(events.ended);
}

TEST_F(Watches, FromTheFutureGetAnErrorEvent) {
  const Got watch = list(
      "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999");
  const Events events = read_events(watch);
  EXPECT_EQ(events.summary(), "ERROR");
  EXPECT_EQ(wire::int_at(events.list[0], "/object/code"), 504);
}

TEST_F(Watches, CanBeDroppedAndGoOnFromTheirVersion) {
  const std::string then = std::to_string(server.resource_version());
  const Got watch = list("?watch=1&resourceVersion=" + then);
  server.drop_watches();
  EXPECT_TRUE(read_events(watch).ended);
  config_map("e");
  EXPECT_EQ(read_events(list("?watch=1&resourceVersion=" + then)).summary(), "ADDED e");
}

TEST_F(Watches, OfReadersThatWentAwayAreForgotten) {
  const Got watch = list("?watch=1");
  watch.stream->abandon();
  server.tick(now + minutes{1});
  EXPECT_EQ(server.open_watches(), 0u);
}

TEST_F(Watches, KeepTheOrderOfManyWriters) {
  constexpr int kWriters = 4;
  constexpr int kEach = 50;
  const Got watch = list("?watch=1&resourceVersion=" + std::to_string(server.resource_version()));
  ThreadTasks tasks;
  {
    std::vector<std::unique_ptr<Task>> writers;
    for (int w = 0; w < kWriters; ++w) {
      writers.push_back(tasks.spawn("writer", [this, w](std::stop_token) {
        for (int i = 0; i < kEach; ++i) {
          const Got made = config_map(fmt::format("w{}-{}", w, i));
          EXPECT_EQ(made.status, 201);
        }
      }));
    }
    for (const auto& writer : writers) writer->join();
  }
  std::uint64_t last = 0;
  const Events events = read_events(watch);
  for (const wire::Value& event : events.list) {
    const std::string version(wire::string_at(event, "/object/metadata/resourceVersion"));
    EXPECT_GT(std::stoull(version), last);
    last = std::stoull(version);
  }
  EXPECT_EQ(events.list.size(), static_cast<std::size_t>(kWriters * kEach));
}

TEST(SlowReaders, LoseTheirWatchButNoEventInBetween) {
  ServerOptions options;
  options.watch_buffer_bytes = 700;
  TestServer kube(std::move(options));
  const Got watch = kube.get(path(kConfigMaps, "?watch=1"));
  for (const char* name : {"a", "b", "c", "d", "e"}) kube.config_map(name);
  const Events events = read_events(watch);
  EXPECT_TRUE(events.ended);
  EXPECT_LT(events.list.size(), 5u);
  EXPECT_GT(events.list.size(), 0u);
  EXPECT_EQ(kube.server.open_watches(), 0u);
}

}  // namespace
}  // namespace berth::sim::kube
