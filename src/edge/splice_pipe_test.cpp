#include "edge/splice_pipe.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using namespace testing;

// Two ends of a connection.
struct Ends {
  Ends() {
    const model::Target at{Edge::room_ip(), Edge::fresh_port()};
    const Fd listener = listen_tcp(at).value();
    near = connect_tcp(at).value();
    while (!far.valid()) far = accept_tcp(listener);
  }
  Fd near;
  Fd far;
};

TEST(SplicePipe, BytesGoThroughUnchanged) {
  Ends from, to;
  SplicePipe pipe;
  ASSERT_TRUE(pipe.valid());
  const std::string said = random_bytes(100'000, 1);
  ASSERT_TRUE(Client(std::move(from.near)).send(said));
  std::string heard;
  Client reader(std::move(to.far));
  while (heard.size() < said.size()) {
    const ssize_t n = pipe.fill(from.far, 64u << 10);
    if (n < 0) continue;  // under way
    ASSERT_EQ(pipe.pour(to.near), n);
    heard += reader.read(static_cast<std::size_t>(n));
  }
  EXPECT_TRUE(heard == said);
  EXPECT_EQ(pipe.fill(from.far, 1), 0) << "the sender has closed";
}

TEST(SplicePipe, WhatDoesNotFitIsTakenOut) {
  Ends from, to;
  SplicePipe pipe;
  const int small = 4096;
  ::setsockopt(to.near.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  ::setsockopt(to.far.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  const std::string said = random_bytes(512u << 10, 2);
  Client writer(std::move(from.near));
  Client reader(std::move(to.far));
  std::jthread writing([&] { (void)writer.send(said); });
  std::string heard;
  bool was_full = false;
  while (heard.size() < said.size()) {
    const ssize_t n = pipe.fill(from.far, 256u << 10);
    if (n < 0) continue;
    const ssize_t poured = pipe.pour(to.near);
    ASSERT_GE(poured, 0);
    const std::string rest = pipe.take_rest();
    ASSERT_EQ(static_cast<std::size_t>(n - poured), rest.size());
    was_full = was_full || !rest.empty();
    heard += reader.read(static_cast<std::size_t>(poured)) + rest;
  }
  EXPECT_TRUE(heard == said);
  EXPECT_TRUE(was_full) << "nothing was left over: the test does not test";
}

TEST(SplicePipe, AConnectionThatIsGoneIsAnErrorAndThePipeCanBeUsedAgain) {
  sigset_t pipe_signal{}, before{};
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  Ends from, to;
  SplicePipe pipe;
  Client writer(std::move(from.near));
  Client(std::move(to.far)).reset();
  const auto fill = [&] {
    ASSERT_TRUE(writer.send("ahoy"));
    while (pipe.fill(from.far, 100) < 0) std::this_thread::yield();
  };
  // The first error is the reset, and every further one a broken pipe.
  for (int i = 0; i < 2; ++i) {
    fill();
    EXPECT_EQ(pipe.pour(to.near), -1);
    EXPECT_EQ(pipe.take_rest(), "ahoy");
  }
  // What the kernel raised for this thread goes with the test.
  const timespec at_once{};
  (void)sigtimedwait(&pipe_signal, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Ends other;
  fill();
  EXPECT_EQ(pipe.pour(other.near), 4);
}

}  // namespace
}  // namespace berth::edge
