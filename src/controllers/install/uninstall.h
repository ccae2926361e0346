// Takes Berth off a cluster, so that nothing of it is left and nobody is in its way: first it is
// marked, so that no controller puts anything back, wherever it runs; then webhook configurations,
// so that no Pod is refused; then what users made (pools, Ingresses), while the controller can
// still take their listeners off the load balancers; then the controller; then what is left of our
// objects, with our finalizers off; then everything that `manifests` has, the mark last.
//
// Can be stopped at any point and run again. Blocking; used by one task.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controllers/install/manifests.h"
#include "kube/client/client.h"

namespace berth::controllers::install {

struct UninstallOptions {
  // All modules that there are: one that is off now may have been on.
  module::Declarations modules{};
  std::string ns{kDefaultNamespace};
  bool keep_crds = false;
  // Also while Pods hold ports, which they lose.
  bool force = false;
  // For the controller, if one runs, to take its listeners off the load balancers.
  Duration grace = std::chrono::seconds{30};
};

// What is there.
struct Survey {
  std::vector<std::string> objects{};            // "Deployment berth-system/berth"
  std::map<std::string, std::size_t> of_kind{};  // our kinds: how many objects
  std::vector<std::string> holders{};            // Pods that hold ports: "games/room-0"

  bool empty() const { return objects.empty() && of_kind.empty(); }
};

class Uninstaller {
 public:
  // `tell` hears of each step.
  using Tell = std::function<void(const std::string& step)>;
  Uninstaller(kube::Client& client, UninstallOptions options, Tell tell);

  // What `run` would remove. Changes nothing.
  Result<Survey> survey(const Context& context);
  // Refuses while Pods hold ports, unless forced.
  Result<> run(const Context& context);
  // By kind, how many objects are gone.
  const std::map<std::string, std::size_t>& removed() const { return removed_; }

 private:
  struct Doomed {
    kube::ResourceType type;
    kube::ObjectKey key;
    bool must_be_labelled = true;  // one without our label belongs to somebody else

    std::string shown() const { return type.kind + " " + key.to_string(); }
  };
  std::vector<Doomed> doomed() const;
  // The uid of the one that is there and ours to remove; empty when there is none.
  Result<std::string> uid_of(const Context& context, const Doomed& one);
  Result<bool> is_there(const Context& context, const Doomed& one);
  Result<bool> is_running(const Context& context);
  Result<bool> have_none(const Context& context, const kube::ResourceType& type);
  Result<std::vector<std::string>> holders(const Context& context);

  // Somebody may make another of the same name: it is not waited for.
  Result<> remove(const Context& context, const Doomed& one);
  Result<> announce(const Context& context);
  Result<> remove_webhooks(const Context& context);
  Result<> let_go_of_listeners(const Context& context);
  // What users made, of all kinds; how many of each, in words.
  Result<std::string> delete_owners(const Context& context);
  Result<std::size_t> delete_all(const Context& context, const kube::ResourceType& type);
  Result<> stop_controller(const Context& context);
  Result<> wait_for_lease(const Context& context);
  Result<> sweep_objects(const Context& context);
  Result<> remove_rest(const Context& context);
  Result<> remove_namespace(const Context& context);
  Result<> check_nothing_came_back(const Context& context);
  Result<> unmark(const Context& context);

  kube::Client& client_;
  const UninstallOptions options_;
  const Tell tell_;
  std::map<std::string, std::size_t> removed_;
};

}  // namespace berth::controllers::install
