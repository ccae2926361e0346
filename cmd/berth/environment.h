// The process's surroundings: environment variables, host name, signals. Only `cmd` looks at them.
#pragma once

#include <memory>
#include <string>

#include "base/context.h"
#include "kube/client/config.h"

namespace berth::cmd {

std::string environment(const char* name);
// Where kubectl would look, with what the flags say on top.
kube::ConfigSource config_source(const std::string& kubeconfig, const std::string& context);
std::string temporary_folder();  // $TMPDIR, or /tmp
std::string absolute_path(const std::string& path);
// Host name and a random part.
std::string process_identity();

// As many file descriptors as the system lets this process have.
void raise_file_limit();

// What a command runs in: threads, and a stop that is requested when the process is told to end
// (SIGINT, SIGTERM, SIGHUP). A second signal ends it at once. One at a time; lives as long as the
// command.
class Foreground {
 public:
  Foreground();
  ~Foreground();
  Foreground(const Foreground&) = delete;
  Foreground& operator=(const Foreground&) = delete;

  Context context();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::cmd
