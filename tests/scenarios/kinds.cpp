#include "kinds.h"

#include <algorithm>

#include "app/modules.h"

namespace berth::scenario {
namespace {

std::vector<kube::ResourceType> declared(bool by_users) {
  std::vector<kube::ResourceType> out;
  for (const module::Kind& kind : module::kinds_of(app::all_declarations()))
    if (kind.made_by_users == by_users) out.push_back(kind.info->type);
  return out;
}

const std::vector<kube::ResourceType>& all_types() {
  static const std::vector<kube::ResourceType> all = [] {
    std::vector<kube::ResourceType> out{kube::types::kPod, kube::types::kService,
                                        kube::types::kSecret};
    for (const auto* const more : {&types_of_users(), &types_of_ours()})
      out.insert(out.end(), more->begin(), more->end());
    return out;
  }();
  return all;
}

template <class Member>
const kube::ResourceType* find(Member member, std::string_view text) {
  const auto it = std::ranges::find(all_types(), text, member);
  return it == all_types().end() ? nullptr : &*it;
}

}  // namespace

const kube::ResourceType* type_called(std::string_view plural) {
  return find(&kube::ResourceType::plural, plural);
}

const kube::ResourceType* type_of_kind(std::string_view kind) {
  return find(&kube::ResourceType::kind, kind);
}

const std::vector<kube::ResourceType>& types_in_namespaces() {
  static const std::vector<kube::ResourceType> some = [] {
    std::vector<kube::ResourceType> out = all_types();
    std::erase_if(out, [](const kube::ResourceType& type) { return !type.namespaced; });
    return out;
  }();
  return some;
}

const std::vector<kube::ResourceType>& types_of_users() {
  static const std::vector<kube::ResourceType> some = declared(true);
  return some;
}

const std::vector<kube::ResourceType>& types_of_ours() {
  static const std::vector<kube::ResourceType> some = declared(false);
  return some;
}

bool is_served(world::World& world, const kube::ResourceType& type) {
  return world.cluster().server().objects(type.group, type.plural).has_value();
}

bool has_some(world::World& world, const kube::ResourceType& type) {
  const auto found = world.cluster().server().objects(type.group, type.plural);
  return found && !found->empty();
}

}  // namespace berth::scenario
