#include "net/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>

#include "net/test_support.h"

namespace berth::net {
namespace {

using namespace std::chrono_literals;
using testing::RawSocket;
using testing::start_server;

// Answers with what it was asked.
Reply echo(const Request& request, const Peer&, std::stop_token) {
  return {.headers = {{"X-Method", request.method}, {"X-Url", request.url}}, .body = request.body};
}

// Blocks until the request is stopped.
void wait_for_stop(const std::stop_token& stop) {
  std::mutex mu;
  std::condition_variable_any never;
  std::unique_lock lock(mu);
  never.wait(lock, stop, [] { return false; });
}

std::string ask(const Server& server, std::string_view bytes) {
  auto client = RawSocket::connect(server.port());
  client.send(bytes);
  return client.read_all();
}

std::string status_of(const std::string& reply) { return reply.substr(0, 12); }

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kLastGet = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

TEST(Server, AnswersAndKeepsTheConnection) {
  const auto server = start_server(echo);
  auto client = RawSocket::connect(server->port());
  for (int i = 0; i < 3; ++i) {
    client.send("PUT /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    const auto reply = client.read_until("hello");
    EXPECT_EQ(status_of(reply), "HTTP/1.1 200");
    EXPECT_NE(reply.find("X-Method: PUT\r\nX-Url: /a?b=c\r\n"), std::string::npos) << reply;
    EXPECT_NE(reply.find("Content-Length: 5\r\n"), std::string::npos) << reply;
    EXPECT_NE(reply.find("\r\nDate: "), std::string::npos) << reply;
  }
  EXPECT_EQ(server->statistics().accepted, 1u);
  EXPECT_EQ(server->statistics().requests, 3u);
}

TEST(Server, ChunkedBodyArrivesWhole) {
  const auto server = start_server(echo);
  const auto reply = ask(*server,
                         "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_TRUE(reply.ends_with("\r\n\r\nabcde")) << reply;
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  const auto server = start_server(echo);
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests += fmt::format("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", i);
  }
  const auto replies = ask(*server, requests + std::string(kLastGet));
  std::size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = replies.find(fmt::format("X-Url: /{}\r\n", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(Server, ClientThatSendsAheadLosesNothing) {
  const auto server = start_server(echo);
  auto client = RawSocket::connect(server->port());
  const auto request = [](int i) { return fmt::format("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", i); };
  std::string replies;
  client.send(request(0));
  for (int i = 0; i < 2000; ++i) {
    client.send(request(i + 1));  // arrives while the one before is being answered, or after
    const auto wanted = fmt::format("X-Url: /{}\r\n", i);
    while (replies.find(wanted) == std::string::npos) {
      const auto more = client.read_some();
      ASSERT_FALSE(more.empty()) << i;
      replies += more;
    }
    replies.erase(0, replies.find(wanted));
  }
}

TEST(Server, HeadAndNoContentHaveNoBody) {
  const auto server = start_server([](const Request& request, const Peer&, std::stop_token) {
    return Reply{.status = request.url == "/empty" ? 204 : 200, .body = "body"};
  });
  const auto head = ask(*server, "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: 4\r\n"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  const auto none = ask(*server, "GET /empty HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(none.find("Content-Length"), std::string::npos) << none;
  EXPECT_TRUE(none.ends_with("\r\n\r\n")) << none;
}

TEST(Server, OldClientsGetALengthAndAClose) {
  const auto server = start_server(echo);
  const auto reply = ask(*server, "GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status_of(reply), "HTTP/1.1 200");
  EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos);
}

TEST(Server, UrlOfAProxyIsReducedToItsPath) {
  const auto server = start_server(echo);
  const auto reply =
      ask(*server, "GET http://h/a?b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(reply.find("X-Url: /a?b\r\n"), std::string::npos) << reply;
}

TEST(Server, WhatIsNotHttpGets400) {
  const auto server = start_server(echo);
  EXPECT_EQ(status_of(ask(*server, "\x16\x03\x01 this is no HTTP\r\n\r\n")), "HTTP/1.1 400");
  EXPECT_EQ(status_of(ask(*server, "GET / HTTP/1.1\r\n\r\n")), "HTTP/1.1 400") << "no Host";
  EXPECT_EQ(status_of(ask(*server, "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n")),
            "HTTP/1.1 400");
  EXPECT_EQ(status_of(ask(*server,
                          "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
            "HTTP/1.1 400")
      << "two lengths: a proxy in front may believe the other one";
  EXPECT_EQ(server->statistics().requests, 0u);
}

TEST(Server, TooLargeHeadersGet431) {
  const auto server = start_server(echo, {.max_header_bytes = 1024});
  const std::string large(4096, 'x');
  EXPECT_EQ(status_of(ask(*server, "GET / HTTP/1.1\r\nHost: h\r\nX-A: " + large)), "HTTP/1.1 431");
}

TEST(Server, LargeHeadersPassBelowTheBound) {
  const auto server = start_server(echo, {.max_header_bytes = 512 << 10});
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n";
  for (int i = 0; i < 30; ++i) many += "X-A: " + std::string(10 << 10, 'x') + "\r\n";
  EXPECT_EQ(status_of(ask(*server, many + "\r\n")), "HTTP/1.1 200");
  const std::string one(100 << 10, 'x');
  EXPECT_EQ(status_of(ask(*server, "GET / HTTP/1.1\r\nHost: h\r\nX-A: " + one + "\r\n\r\n")),
            "HTTP/1.1 431")
      << "one header has a bound of its own";
}

TEST(Server, TooLargeBodyGets413) {
  const auto server = start_server(echo, {.max_body_bytes = 1024});
  // The client reads the answer although the server takes none of this.
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(status_of(ask(*server,
                          "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1048576\r\n\r\n" + large)),
            "HTTP/1.1 413");
  EXPECT_EQ(status_of(ask(*server,
                          "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "100000\r\n" +
                              large)),
            "HTTP/1.1 413");
}

TEST(Server, SlowHeadersGet408) {
  const auto server = start_server(echo, {.header_timeout = 50ms});
  EXPECT_EQ(status_of(ask(*server, "GET / HTTP/1.1\r\nHos")), "HTTP/1.1 408");
}

TEST(Server, SlowBodyGets408) {
  const auto server = start_server(echo, {.body_timeout = 50ms});
  EXPECT_EQ(status_of(ask(*server, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc")),
            "HTTP/1.1 408");
}

TEST(Server, IdleConnectionIsClosedWithoutAWord) {
  const auto server = start_server(echo, {.header_timeout = 50ms, .idle_timeout = 50ms});
  EXPECT_EQ(ask(*server, ""), "");
  const auto reply = ask(*server, kGet);
  EXPECT_EQ(status_of(reply), "HTTP/1.1 200");
  EXPECT_TRUE(reply.ends_with("\r\n\r\n")) << reply;
}

TEST(Server, ExpectContinueIsAnsweredBeforeTheBody) {
  const auto server = start_server(echo);
  auto client = RawSocket::connect(server->port());
  client.send(
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n"
      "Connection: close\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_TRUE(client.read_all().ends_with("\r\n\r\nhello"));
}

TEST(Server, ExpectContinueOfATooLargeBodyIsRefused) {
  const auto server = start_server(echo, {.max_body_bytes = 4});
  EXPECT_EQ(status_of(ask(*server,
                          "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n"
                          "Expect: 100-continue\r\n\r\n")),
            "HTTP/1.1 413");
}

TEST(Server, DefectsOfAHandlerBecome500) {
  const auto server = start_server([](const Request& request, const Peer&, std::stop_token) {
    if (request.url == "/throw") throw std::runtime_error("defect");
    return Reply{.headers = {{"X-A", "1\r\nX-B: 2"}}};
  });
  set_log_sink([](std::string_view) {});
  for (const auto* path : {"/throw", "/header"}) {
    const auto reply =
        ask(*server, fmt::format("GET {} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", path));
    EXPECT_EQ(status_of(reply), "HTTP/1.1 500");
    EXPECT_EQ(reply.find("X-B"), std::string::npos);
  }
  set_log_sink({});
}

TEST(Server, FullQueueGets503WithRetryAfter) {
  std::promise<void> started;
  const auto server = start_server(
      [&](const Request& request, const Peer&, std::stop_token stop) {
        if (request.url == "/first") {
          started.set_value();
          wait_for_stop(stop);
        }
        return Reply{};
      },
      {.handler_threads = 1, .max_queued_requests = 1});
  auto first = RawSocket::connect(server->port());
  first.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n");
  started.get_future().wait();
  auto second = RawSocket::connect(server->port());
  second.send(kLastGet);
  while (server->statistics().requests < 2) std::this_thread::yield();
  const auto reply = ask(*server, kLastGet);
  EXPECT_EQ(status_of(reply), "HTTP/1.1 503");
  EXPECT_NE(reply.find("Retry-After: 1\r\n"), std::string::npos) << reply;
  first.close();  // stops the handler, and the second one gets its turn
  EXPECT_EQ(status_of(second.read_all()), "HTTP/1.1 200");
}

TEST(Server, ClientThatClosedItsSendingHalfGetsItsReply) {
  std::promise<void> started;
  const auto server = start_server([&](const Request&, const Peer&, std::stop_token stop) {
    started.set_value();
    wait_for_stop(stop);
    return Reply{.body = "still here"};
  });
  auto client = RawSocket::connect(server->port());
  client.send(kGet);
  started.get_future().wait();
  client.end_sending();
  EXPECT_TRUE(client.read_all().ends_with("still here"));
}

TEST(Server, HandlerOfAClientThatWentAwayIsStopped) {
  std::promise<void> started;
  std::promise<void> stopped;
  const auto server = start_server([&](const Request&, const Peer&, std::stop_token stop) {
    started.set_value();
    wait_for_stop(stop);
    stopped.set_value();
    return Reply{};
  });
  auto client = RawSocket::connect(server->port());
  client.send(kGet);
  started.get_future().wait();
  client.close();
  EXPECT_EQ(stopped.get_future().wait_for(testing::kPatience), std::future_status::ready);
}

TEST(Server, StreamIsSentAsItIsWritten) {
  const auto pipe = std::make_shared<BytePipe>(1 << 20);
  const auto server = start_server(
      [&](const Request&, const Peer&, std::stop_token) { return Reply{.stream = pipe}; });
  auto client = RawSocket::connect(server->port());
  client.send(kGet);
  EXPECT_NE(client.read_until("\r\n\r\n").find("Transfer-Encoding: chunked\r\n"),
            std::string::npos);
  EXPECT_TRUE(pipe->write("one"));
  EXPECT_EQ(client.read_until("one\r\n"), "3\r\none\r\n");
  EXPECT_TRUE(pipe->write(std::string(20, 'x')));
  EXPECT_EQ(client.read_until("x\r\n"), "14\r\nxxxxxxxxxxxxxxxxxxxx\r\n");
  pipe->close();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  client.send(kLastGet);  // the connection goes on; this pipe has ended already
  EXPECT_TRUE(client.read_all().ends_with("\r\n\r\n0\r\n\r\n"));
}

TEST(Server, BrokenStreamHasNoLastChunk) {
  const auto server = start_server([&](const Request&, const Peer&, std::stop_token) {
    auto pipe = std::make_shared<BytePipe>(100);
    EXPECT_TRUE(pipe->write("some"));
    pipe->close(error_of(Code::internal, "broke"));
    return Reply{.stream = pipe};
  });
  const auto reply = ask(*server, kGet);
  EXPECT_TRUE(reply.ends_with("4\r\nsome\r\n")) << reply;
}

TEST(Server, PipeIsAbandonedWhenTheReaderGoesAway) {
  const auto pipe = std::make_shared<BytePipe>(100);
  std::promise<void> told;
  std::stop_token token;
  std::promise<void> handled;
  const auto server = start_server([&](const Request&, const Peer&, std::stop_token stop) {
    token = std::move(stop);
    pipe->on_space([&, once = std::make_shared<std::atomic<bool>>(false)] {
      if (pipe->abandoned() && !once->exchange(true)) told.set_value();
    });
    handled.set_value();
    return Reply{.stream = pipe};
  });
  {
    auto client = RawSocket::connect(server->port());
    client.send(kGet);
    (void)client.read_until("\r\n\r\n");
  }
  ASSERT_EQ(told.get_future().wait_for(testing::kPatience), std::future_status::ready);
  EXPECT_FALSE(pipe->write("x"));
  handled.get_future().wait();
  while (!token.stop_requested()) std::this_thread::yield();
}

TEST(Server, StreamToAnOldClientIsRefused) {
  const auto pipe = std::make_shared<BytePipe>(100);
  const auto server = start_server(
      [&](const Request&, const Peer&, std::stop_token) { return Reply{.stream = pipe}; });
  EXPECT_EQ(status_of(ask(*server, "GET / HTTP/1.0\r\n\r\n")), "HTTP/1.1 505");
  EXPECT_TRUE(pipe->abandoned());
}

TEST(Server, ReaderThatStandsStillIsCutOff) {
  const auto pipe = std::make_shared<BytePipe>(16 << 20);
  EXPECT_TRUE(pipe->write(std::string(16 << 20, 'x')));  // more than sockets hold
  const auto server = start_server(
      [&](const Request&, const Peer&, std::stop_token) { return Reply{.stream = pipe}; },
      {.body_timeout = 100ms});
  auto client = RawSocket::connect(server->port());
  client.send(kGet);
  while (server->statistics().accepted == 0 || server->statistics().open > 0) {
    std::this_thread::sleep_for(1ms);  // the server counts a real timeout
  }
}

TEST(Server, StopLetsARunningRequestFinish) {
  std::promise<void> started;
  std::promise<void> finish;
  auto done = finish.get_future();
  const auto server = start_server(
      [&](const Request&, const Peer&, std::stop_token) {
        started.set_value();
        done.wait();
        return Reply{.body = "finished"};
      },
      {.drain = testing::kPatience});
  auto idle = RawSocket::connect(server->port());
  auto busy = RawSocket::connect(server->port());
  busy.send(kGet);
  started.get_future().wait();
  std::jthread stopping([&] { server->stop(); });
  EXPECT_EQ(idle.read_all(), "") << "an idle connection is closed at once";
  finish.set_value();
  const auto reply = busy.read_all();
  EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos) << reply;
  EXPECT_TRUE(reply.ends_with("finished")) << reply;
  busy.close();
}

TEST(Server, StopEndsWhatOutlastsTheDrain) {
  std::promise<void> started;
  std::atomic<bool> was_stopped = false;
  const auto server = start_server(
      [&](const Request&, const Peer&, std::stop_token stop) {
        started.set_value();
        wait_for_stop(stop);
        was_stopped = true;
        return Reply{};
      },
      {.drain = 10ms});
  auto client = RawSocket::connect(server->port());
  client.send(kGet);
  started.get_future().wait();
  server->stop();
  EXPECT_TRUE(was_stopped);
  EXPECT_EQ(client.read_all(), "");
  EXPECT_EQ(server->statistics().open, 0u);
}

TEST(Server, WriterMayOutliveTheServer) {
  const auto pipe = std::make_shared<BytePipe>(100);
  auto server = start_server(
      [&](const Request&, const Peer&, std::stop_token) { return Reply{.stream = pipe}; },
      {.drain = 0ms});
  auto client = RawSocket::connect(server->port());
  client.send(kGet);
  (void)client.read_until("\r\n\r\n");
  std::jthread writer([&] {
    while (pipe->write("x") || !pipe->abandoned()) std::this_thread::yield();
  });
  server.reset();
  writer.join();
  pipe->close();
}

TEST(Server, SaysWhyItCannotListen) {
  const auto server = start_server(echo);
  const auto second = Server::start({.port = server->port()}, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            fmt::format("cannot listen on 127.0.0.1:{}: Address already in use", server->port()));
  const auto third = Server::start({.address = "nowhere"}, echo);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::invalid);
}

TEST(Server, SeveralIoThreadsServeManyClients) {
  const auto server = start_server(echo, {.io_threads = 3});
  std::vector<std::jthread> clients;
  std::atomic<int> right = 0;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      auto client = RawSocket::connect(server->port());
      for (int i = 0; i < 50; ++i) {
        const auto text = fmt::format("<{}/{}>", c, i);
        client.send(fmt::format("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}",
                                text.size(), text));
        right += client.read_until(text).ends_with(text) ? 1 : 0;
      }
    });
  }
  clients.clear();
  EXPECT_EQ(right, 8 * 50);
}

}  // namespace
}  // namespace berth::net
