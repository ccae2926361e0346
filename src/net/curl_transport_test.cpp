#include "net/curl_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "base/random.h"
#include "net/test_support.h"

namespace berth::net {
namespace {

using namespace std::chrono_literals;
using testing::context;
using testing::RawServer;
using testing::RawSocket;
using testing::start_server;

std::string url_of(const Server& server, std::string_view path = "/") {
  return fmt::format("http://127.0.0.1:{}{}", server.port(), path);
}

Reply echo(const Request& request, const Peer&, std::stop_token) {
  return {.status = 201,
          .headers = {{"X-Method", request.method},
                      {"X-Url", request.url},
                      {"X-Agent", std::string(request.headers.get("User-Agent"))},
                      {"X-Sent", std::string(request.headers.get("X-Sent"))},
                      {"X-Length", std::string(request.headers.get("Content-Length"))},
                      {"X-Type", std::string(request.headers.get("Content-Type"))}},
          .body = request.body};
}

void wait_for_stop(const std::stop_token& stop) {
  std::mutex mu;
  std::condition_variable_any never;
  std::unique_lock lock(mu);
  never.wait(lock, stop, [] { return false; });
}

Result<std::string> read_to_end(Stream& stream) {
  std::string all;
  for (;;) {
    auto piece = stream.read(context());
    if (!piece) return pass(piece);
    if (!*piece) return all;
    EXPECT_FALSE((*piece)->empty());
    all += **piece;
  }
}

TEST(CurlTransport, CarriesARequestAndItsAnswer) {
  const auto server = start_server(echo);
  CurlTransport transport;
  const auto response = transport.call(context(), {.method = "PATCH",
                                                   .url = url_of(*server, "/a%20b/../c?d=e"),
                                                   .headers = {{"X-Sent", "yes"}},
                                                   .body = "the body"});
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "the body");
  EXPECT_EQ(response->headers.get("X-Method"), "PATCH");
  EXPECT_EQ(response->headers.get("X-Url"), "/a%20b/../c?d=e");
  EXPECT_EQ(response->headers.get("X-Agent"), "berth/0.1");
  EXPECT_EQ(response->headers.get("X-Sent"), "yes");
  EXPECT_EQ(response->headers.get("X-Type"), "") << "none was set";
}

TEST(CurlTransport, EveryMethodWithAndWithoutBody) {
  const auto server = start_server(echo);
  CurlTransport transport;
  for (const std::string method : {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}) {
    for (const std::string body : {"", "content"}) {
      if (method == "HEAD" && !body.empty()) continue;
      const auto response =
          transport.call(context(), {.method = method, .url = url_of(*server), .body = body});
      ASSERT_TRUE(response) << method << " " << response.error().to_string();
      EXPECT_EQ(response->headers.get("X-Method"), method);
      EXPECT_EQ(response->body, body) << method;
      if (body.empty() && (method == "POST" || method == "PUT")) {
        EXPECT_EQ(response->headers.get("X-Length"), "0") << method;
      }
    }
  }
}

TEST(CurlTransport, LargeBodiesPassBothWays) {
  const auto server = start_server(echo);
  CurlTransport transport;
  std::string body;
  for (int i = 0; body.size() < (5u << 20); ++i) body += std::to_string(i);
  const auto response =
      transport.call(context(), {.method = "POST", .url = url_of(*server), .body = body});
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_TRUE(response->body == body);
}

TEST(CurlTransport, AnErrorStatusIsAnAnswer) {
  const auto server = start_server([](const Request&, const Peer&, std::stop_token) {
    return Reply{.status = 503, .headers = {{"Retry-After", "7"}}, .body = "later"};
  });
  CurlTransport transport;
  const auto response = transport.call(context(), {.url = url_of(*server)});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(response->headers.get("retry-after"), "7");
  EXPECT_EQ(response->body, "later");
}

TEST(CurlTransport, RefusesWhatCannotBeSent) {
  CurlTransport transport;
  const auto code = [&](const Request& request) {
    const auto response = transport.call(context(), request);
    return response ? Code::internal : response.error().code;
  };
  EXPECT_EQ(code({.url = "file:///etc/hostname"}), Code::invalid);
  EXPECT_EQ(code({.url = "127.0.0.1:80"}), Code::invalid);
  EXPECT_EQ(code({.method = "GET / HTTP/1.1\r\nX: y", .url = "http://127.0.0.1:1/"}),
            Code::invalid);
  EXPECT_EQ(code({.url = "http://127.0.0.1:1/", .headers = {{"X-A", "1\r\nX-B: 2"}}}),
            Code::invalid);
}

TEST(CurlTransport, PasswordInAUrlIsRefusedAndNotRepeated) {
  CurlTransport transport;
  const auto response = transport.call(context(), {.url = "http://me:hidden@127.0.0.1:1/"});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::invalid);
  EXPECT_EQ(response.error().to_string().find("hidden"), std::string::npos);
}

TEST(CurlTransport, NobodyListens) {
  std::uint16_t port = 0;
  {
    port = start_server(echo)->port();
  }
  CurlTransport transport;
  const auto response =
      transport.call(context(), {.url = fmt::format("http://127.0.0.1:{}/x?token=hidden", port)});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::unavailable);
  EXPECT_EQ(response.error().object, fmt::format("GET http://127.0.0.1:{}/x", port));
  EXPECT_EQ(response.error().to_string().find("hidden"), std::string::npos);
}

TEST(CurlTransport, DeadlineEndsACallAndItsHandler) {
  std::promise<void> handler_stopped;
  const auto server = start_server([&](const Request&, const Peer&, std::stop_token stop) {
    wait_for_stop(stop);
    handler_stopped.set_value();
    return Reply{};
  });
  CurlTransport transport;
  const auto response = transport.call(context().within(50ms), {.url = url_of(*server)});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::timeout);
  EXPECT_EQ(handler_stopped.get_future().wait_for(testing::kPatience), std::future_status::ready);
}

TEST(CurlTransport, StopEndsACallThatIsNeverAnswered) {
  std::promise<void> arrived;
  const auto server = start_server([&](const Request&, const Peer&, std::stop_token stop) {
    arrived.set_value();
    wait_for_stop(stop);
    return Reply{};
  });
  CurlTransport transport;
  std::stop_source source;
  const std::jthread stopper([&] {
    arrived.get_future().wait();
    source.request_stop();
  });
  const auto response = transport.call({.tasks = testing::tasks(), .stop = source.get_token()},
                                       {.url = url_of(*server)});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::stopped);
}

TEST(CurlTransport, NothingIsSentOnceStopped) {
  const auto server = start_server(echo);
  CurlTransport transport;
  std::stop_source source;
  source.request_stop();
  const auto response = transport.call({.tasks = testing::tasks(), .stop = source.get_token()},
                                       {.url = url_of(*server)});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::stopped);
  EXPECT_EQ(server->statistics().requests, 0u);
}

TEST(CurlTransport, ConnectionsAreUsedAgain) {
  const auto server = start_server(echo);
  CurlTransport transport;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(transport.call(
        context(), {.method = i % 2 ? "PUT" : "GET", .url = url_of(*server), .body = "x"}));
  }
  EXPECT_EQ(server->statistics().accepted, 1u);
  for (int i = 0; i < 5; ++i) {
    auto stream = transport.open(context(), {.url = url_of(*server)});
    ASSERT_TRUE(stream);
    ASSERT_TRUE(read_to_end(**stream));
  }
  EXPECT_LE(server->statistics().accepted, 1u + 5u);
}

TEST(CurlTransport, ManyTasksCallAtOnce) {
  const auto server = start_server(echo);
  CurlTransport transport({.max_connections_per_host = 4});
  std::atomic<int> right = 0;
  std::vector<std::jthread> callers;
  for (int c = 0; c < 16; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 25; ++i) {
        const auto body = fmt::format("{}/{}", c, i);
        const auto response =
            transport.call(context(), {.method = "POST", .url = url_of(*server), .body = body});
        right += response && response->body == body ? 1 : 0;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(right, 16 * 25);
  EXPECT_LE(server->statistics().accepted, 4u);
}

TEST(CurlTransport, AnswerPastTheBoundIsRefused) {
  const auto server = start_server([](const Request&, const Peer&, std::stop_token) {
    return Reply{.body = std::string(1001, 'x')};
  });
  CurlTransport transport({.max_response_bytes = 1000});
  const auto response = transport.call(context(), {.url = url_of(*server)});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::exhausted);
  EXPECT_EQ(response.error().message, "the answer is larger than 1000 bytes");
}

TEST(CurlTransport, PeerThatClosesInTheMiddle) {
  for (const auto* reply : {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}) {
    const RawServer server([&](RawSocket& peer, int) {
      (void)peer.read_until("\r\n\r\n");
      peer.send(reply);
    });
    CurlTransport transport;
    const auto response = transport.call(context(), {.url = server.url()});
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::unavailable);
    EXPECT_TRUE(response.error().message.starts_with("the answer is truncated after 3 bytes"))
        << response.error().message;

    auto stream = transport.open(context(), {.url = server.url()});
    ASSERT_TRUE(stream) << stream.error().to_string();
    const auto first = (*stream)->read(context());
    ASSERT_TRUE(first);
    EXPECT_EQ(*first, "abc");
    const auto second = (*stream)->read(context());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::unavailable);
  }
}

TEST(CurlTransport, PeerThatAnswersNothingOrNonsense) {
  for (const auto* reply : {"", "SSH-2.0-server\r\n\r\n", "HTTP/1.1 "}) {
    const RawServer server([&](RawSocket& peer, int) {
      (void)peer.read_until("\r\n\r\n");
      peer.send(reply);
    });
    CurlTransport transport;
    const auto response = transport.call(context(), {.url = server.url()});
    ASSERT_FALSE(response) << reply;
    EXPECT_EQ(response.error().code, Code::unavailable) << reply;
  }
}

TEST(CurlTransport, ContinueBeforeTheAnswerIsSkipped) {
  const RawServer server([&](RawSocket& peer, int) {
    (void)peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 103 Early Hints\r\nX-A: early\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nX-A: late\r\nContent-Length: 2\r\n\r\nok");
  });
  CurlTransport transport;
  const auto response = transport.call(context(), {.url = server.url()});
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->headers.all("X-A"), (std::vector<std::string_view>{"late"}));
}

// Answers the first request of the first connection, then closes it on the second.
struct Dropper {
  std::atomic<int> requests = 0;
  RawServer server{[this](RawSocket& peer, int connection) {
    for (int i = 0; !peer.read_until("\r\n\r\n").empty(); ++i) {
      ++requests;
      if (connection == 0 && i == 1) return;
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
  }};
};

TEST(CurlTransport, WriteIsNotSentAgainByItself) {
  Dropper dropper;
  CurlTransport transport;
  ASSERT_TRUE(transport.call(context(), {.url = dropper.server.url()}));
  const auto response = transport.call(
      context(), {.method = "POST", .url = dropper.server.url(), .body = "create one"});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::unavailable);
  EXPECT_EQ(dropper.requests, 2);
}

// Where that was asked for, one without a body has no kept connection that could turn out to be
// closed: only then curl would send it again.
TEST(CurlTransport, AWriteWithoutABodyHasItsOwnConnectionWhereThatWasAskedFor) {
  const auto connections = [](bool never_twice) {
    const auto server = start_server(echo);
    CurlTransport transport({.never_twice = never_twice});
    for (const char* method : {"GET", "DELETE", "GET"})
      EXPECT_TRUE(transport.call(context(), {.method = method, .url = url_of(*server)}));
    return server->statistics().accepted;
  };
  EXPECT_EQ(connections(false), 1u);
  EXPECT_EQ(connections(true), 2u);
}

TEST(CurlTransport, ReadOnABrokenKeptConnectionIsSentAgain) {
  Dropper dropper;
  CurlTransport transport;
  ASSERT_TRUE(transport.call(context(), {.url = dropper.server.url()}));
  const auto response = transport.call(context(), {.url = dropper.server.url()});
  EXPECT_TRUE(response) << response.error().to_string();
}

TEST(CurlTransport, GoesThroughAProxy) {
  const auto proxy = start_server([](const Request& request, const Peer&, std::stop_token) {
    return Reply{.body = std::string(request.headers.get("Host")) + request.url};
  });
  CurlTransport transport;
  const auto response = transport.call(
      context(), {.url = "http://far-away.invalid/x?y", .proxy = url_of(*proxy, "")});
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->body, "far-away.invalid/x?y");
}

// Writes the text of `next` into the pipe as fast as it takes it, until `next` has no more.
std::jthread produce(std::shared_ptr<BytePipe> pipe,
                     std::function<std::optional<std::string>()> next) {
  auto space = std::shared_ptr<Signal>(testing::tasks().signal());
  pipe->on_space([space] { space->notify(); });
  return std::jthread([pipe, space, next = std::move(next)](const std::stop_token& stop) {
    while (auto chunk = next()) {
      while (!pipe->write(*chunk)) {
        if (pipe->abandoned() || !testing::tasks().wait(*space, kNever, stop)) return;
      }
    }
    pipe->close();
  });
}

TEST(CurlTransport, TenThousandChunksReachASlowReader) {
  constexpr int kChunks = 10'000;
  constexpr std::uint64_t kSeed = 20'260'102;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::string expected;
  Random random(kSeed);
  int made = 0;
  const auto pipe = std::make_shared<BytePipe>(32 << 10);
  std::jthread producer;
  const auto server = start_server([&](const Request&, const Peer&, std::stop_token) {
    producer = produce(pipe, [&]() -> std::optional<std::string> {
      if (made++ == kChunks) return std::nullopt;
      std::string chunk(1 + random.below(4000), static_cast<char>('a' + made % 26));
      expected += chunk;
      return chunk;
    });
    return Reply{.stream = pipe};
  });
  CurlTransport transport({.max_waiting_bytes = 32 << 10});
  auto stream = transport.open(context(), {.url = url_of(*server)});
  ASSERT_TRUE(stream) << stream.error().to_string();
  std::string all;
  for (;;) {
    auto piece = (*stream)->read(context());
    ASSERT_TRUE(piece) << piece.error().to_string();
    if (!*piece) break;
    EXPECT_LE((*piece)->size(), 64u << 10) << "more waited than the bound and one read of curl";
    all += **piece;
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(all.size(), expected.size());
  EXPECT_TRUE(all == expected);
}

// A server whose stream never says anything.
struct SilentServer {
  std::shared_ptr<BytePipe> pipe = std::make_shared<BytePipe>(100);
  std::promise<void> gone;
  std::unique_ptr<Server> server = start_server(
      [this](const Request&, const Peer&, std::stop_token) {
        pipe->on_space([this, once = std::make_shared<std::atomic<bool>>(false)] {
          if (pipe->abandoned() && !once->exchange(true)) gone.set_value();
        });
        return Reply{.headers = {{"X-A", "1"}}, .stream = pipe};
      },
      {.drain = 10ms});
};

TEST(CurlTransport, OpenReturnsWithTheHead) {
  SilentServer silent;
  CurlTransport transport;
  auto stream = transport.open(context(), {.url = url_of(*silent.server)});
  ASSERT_TRUE(stream) << stream.error().to_string();
  EXPECT_EQ((*stream)->status(), 200);
  EXPECT_EQ((*stream)->headers().get("x-a"), "1");
}

TEST(CurlTransport, StopEndsAReadThatWouldWaitForever) {
  SilentServer silent;
  CurlTransport transport;
  auto stream = transport.open(context(), {.url = url_of(*silent.server)});
  ASSERT_TRUE(stream);
  std::stop_source source;
  const std::jthread stopper([&] { source.request_stop(); });
  const auto piece = (*stream)->read({.tasks = testing::tasks(), .stop = source.get_token()});
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code, Code::stopped);
}

TEST(CurlTransport, ReadThatTimedOutLosesNothing) {
  SilentServer silent;
  CurlTransport transport;
  auto stream = transport.open(context(), {.url = url_of(*silent.server)});
  ASSERT_TRUE(stream);
  const auto nothing = (*stream)->read(context().within(5ms));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::timeout);
  EXPECT_TRUE(silent.pipe->write("late"));
  silent.pipe->close();
  const auto all = read_to_end(**stream);
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(*all, "late");
}

TEST(CurlTransport, DroppedStreamEndsTheServersSide) {
  SilentServer silent;
  CurlTransport transport;
  {
    const auto stream = transport.open(context(), {.url = url_of(*silent.server)});
    ASSERT_TRUE(stream);
  }
  EXPECT_EQ(silent.gone.get_future().wait_for(testing::kPatience), std::future_status::ready);
}

TEST(CurlTransport, StreamMayOutliveTheTransport) {
  SilentServer silent;
  std::unique_ptr<Stream> stream;
  {
    CurlTransport transport;
    auto opened = transport.open(context(), {.url = url_of(*silent.server)});
    ASSERT_TRUE(opened);
    stream = std::move(*opened);
  }
  EXPECT_TRUE(silent.pipe->write("still flowing"));
  silent.pipe->close();
  EXPECT_EQ(*read_to_end(*stream), "still flowing");
}

TEST(CurlTransport, ServerThatStopsBreaksTheStream) {
  SilentServer silent;
  CurlTransport transport;
  auto stream = transport.open(context(), {.url = url_of(*silent.server)});
  ASSERT_TRUE(stream);
  EXPECT_TRUE(silent.pipe->write("before"));
  const auto before = (*stream)->read(context());
  ASSERT_TRUE(before);
  EXPECT_EQ(*before, "before");
  const std::jthread stopping([&] { silent.server->stop(); });
  const auto after = (*stream)->read(context());
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().code, Code::unavailable);
  EXPECT_TRUE(after.error().message.starts_with("the answer is truncated after 6 bytes"))
      << after.error().message;
}

TEST(CurlTransport, CallsGoOnWhileAStreamIsNotRead) {
  const auto pipe = std::make_shared<BytePipe>(1 << 20);
  const auto producer = produce(pipe, [] { return std::string(64 << 10, 'x'); });
  const auto server = start_server(
      [&](const Request& request, const Peer&, std::stop_token) {
        return request.url == "/stream" ? Reply{.stream = pipe} : Reply{.body = "answer"};
      },
      {.drain = 0ms});
  CurlTransport transport;
  auto stream = transport.open(context(), {.url = url_of(*server, "/stream")});
  ASSERT_TRUE(stream);
  for (int i = 0; i < 10; ++i) {
    const auto response = transport.call(context(), {.url = url_of(*server)});
    ASSERT_TRUE(response) << response.error().to_string();
    EXPECT_EQ(response->body, "answer");
  }
}

}  // namespace
}  // namespace berth::net
