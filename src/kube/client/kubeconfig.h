// Kubeconfig files as values: parsed, merged, and one context of them selected. Pure functions; the
// files that a kubeconfig names are read by `credentials.h`.
//
// No error and no log line shows a value that may be secret: errors name file and field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "wire/value.h"

namespace berth::kube {

// Where in which file something was set, for errors.
struct Origin {
  std::string file{};
  std::string field{};

  Error&& mark(Error&& error) const {
    error.object = file;
    error.field = field;
    return std::move(error);
  }
};

// PEM text that was given directly or as a file; the direct one wins.
struct Material {
  Secret data{};
  std::string file{};
  Origin origin{};

  bool empty() const { return data.empty() && file.empty(); }
};

struct ClusterEntry {
  std::string name{};
  Origin origin{};
  std::string server{};
  std::string tls_server_name{};
  std::string proxy_url{};
  Material authority{};
  bool insecure = false;
  wire::Value exec_config{};  // the extension that exec plugins are shown
};

struct ExecEntry {
  Origin origin{};
  std::string command{};
  std::vector<std::string> args{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::string api_version{};
  std::string install_hint{};
  std::string interactive_mode{};
  bool provide_cluster_info = false;
};

struct UserEntry {
  std::string name{};
  Origin origin{};
  Material certificate{};
  Material key{};
  Secret token{};
  std::string token_file{};
  std::string username{};
  Secret password{};
  std::optional<ExecEntry> exec{};
  std::string
      unsupported{};  // a field we know and do not serve: an error when the user is selected

  bool anonymous() const {
    return certificate.empty() && token.empty() && token_file.empty() && username.empty() && !exec;
  }
};

struct ContextEntry {
  std::string name{};
  Origin origin{};
  std::string cluster{};
  std::string user{};
  std::string ns{};
};

struct Kubeconfig {
  std::vector<ClusterEntry> clusters{};
  std::vector<UserEntry> users{};
  std::vector<ContextEntry> contexts{};
  std::string current_context{};
};

// Relative paths in it are resolved against the folder of `file`. Empty text is an empty config.
Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file);

// Adds what `first` does not have: an entry of the same name is not mixed, the first stays.
void merge_kubeconfig(Kubeconfig& first, Kubeconfig next);

struct Selection {
  ContextEntry context{};
  ClusterEntry cluster{};
  UserEntry user{};
};

// The named context, or the current one when the name is empty; checked, so that what comes out can
// be used.
Result<Selection> select_context(const Kubeconfig& config, std::string_view name);

}  // namespace berth::kube
