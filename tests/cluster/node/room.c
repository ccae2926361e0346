/* A room: says back what it hears at port 8000, over TCP and UDP, until it is told to go. A process
 * for each connection, so that one that does not read holds up nobody else. */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { port = 8000, backlog = 1024 };

static void on_end(int number) {
  (void)number;
  _exit(0);
}

static int serve_at(int type) {
  const int on = 1;
  const int fd = socket(AF_INET, type, 0);
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof any) != 0) {
    perror("room");
    exit(1);
  }
  return fd;
}

static void echo_datagrams(int fd) {
  static char buffer[65536];
  for (;;) {
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    const ssize_t got = recvfrom(fd, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &size);
    if (got >= 0) sendto(fd, buffer, (size_t)got, 0, (struct sockaddr *)&from, size);
  }
}

static void echo_stream(int fd) {
  static char buffer[65536];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) _exit(0);
    for (ssize_t at = 0; at < got;) {
      const ssize_t sent = write(fd, buffer + at, (size_t)(got - at));
      if (sent <= 0) _exit(0);
      at += sent;
    }
  }
}

int main(void) {
  /* Said, because the first process of a container hears no signal that it does not ask for. */
  signal(SIGTERM, on_end);
  signal(SIGINT, on_end);
  /* Then the kernel collects children. */
  signal(SIGCHLD, SIG_IGN);
  const int datagrams = serve_at(SOCK_DGRAM);
  const int listener = serve_at(SOCK_STREAM);
  if (listen(listener, backlog) != 0) return 1;
  puts("room: open");
  fflush(stdout);
  if (fork() == 0) echo_datagrams(datagrams);
  for (;;) {
    const int fd = accept(listener, 0, 0);
    if (fd < 0) continue;
    if (fork() == 0) echo_stream(fd);
    close(fd);
  }
}
