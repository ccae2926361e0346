// The caches of a process: one for each kind that a module which is on reads, holding what any of
// them reads of it. Nobody asks for it: nobody watches it.
//
// Modules ask while they are built; before the Manager runs. Owned by the composition root.
#pragma once

#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/log.h"
#include "kube/cache/informer.h"
#include "kube/runtime/manager.h"
#include "module/declaration.h"

namespace berth::module {

class Caches {
 public:
  // `active` are the modules that are on. All of them outlive it.
  Caches(Tasks& tasks, kube::Client& client, kube::Manager& manager, const Declarations& active,
         Random random, metrics::Registry& registry)
      : tasks_(tasks),
        client_(client),
        manager_(manager),
        active_(active),
        random_(random),
        registry_(registry) {}

  // Of a kind of ours: everything of it is kept.
  template <class T>
  kube::Informer<T>& of(kube::Projection<T> (*project)()) {
    return hold(project());
  }
  // Of any other kind: what the declarations say of it.
  template <class T>
  kube::Informer<T>& of(kube::Projection<T> (*project)(kube::MetaRules, kube::Selection)) {
    const kube::ResourceType type = project({}, {}).type;
    if (const auto read = read_of(active_, type)) return hold(project(read->meta, read->selection));
    return hold(project({}, {}));
  }

  // Kinds that somebody reads and no module that is on declares: a defect, which a test looks for.
  const std::vector<std::string>& undeclared() const { return undeclared_; }

 private:
  struct Held {
    kube::ResourceType type;
    const std::type_info* object;
    std::shared_ptr<void> informer;
  };

  template <class T>
  kube::Informer<T>& hold(kube::Projection<T> projection) {
    for (const Held& held : held_)
      if (held.type == projection.type && *held.object == typeid(T))
        return *static_cast<kube::Informer<T>*>(held.informer.get());
    const kube::ResourceType type = projection.type;
    if (!read_of(active_, type)) {
      log_error("a kind is read that no module declares to read", {{"resource", type.plural}});
      undeclared_.push_back(type.plural);
    }
    auto informer =
        std::make_shared<kube::Informer<T>>(tasks_, client_, std::move(projection), random_.fork(),
                                            kube::InformerOptions{.registry = &registry_});
    manager_.add(informer->core());
    held_.push_back({type, &typeid(T), informer});
    return *informer;
  }

  Tasks& tasks_;
  kube::Client& client_;
  kube::Manager& manager_;
  const Declarations& active_;
  Random random_;
  metrics::Registry& registry_;
  std::vector<Held> held_;
  std::vector<std::string> undeclared_;
};

}  // namespace berth::module
