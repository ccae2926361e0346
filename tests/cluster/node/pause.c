/* The first process of every Pod: it holds the Pod's namespaces, and collects processes that
 * nobody waits for. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_end(int number) {
  (void)number;
  _exit(0);
}

static void on_child(int number) {
  (void)number;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGINT, on_end);
  signal(SIGTERM, on_end);
  signal(SIGCHLD, on_child);
  for (;;) pause();
}
