#include "hands.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>

#include "kinds.h"

namespace berth::scenario {
namespace {

using wire::Object;
using wire::Value;

constexpr std::size_t kShownLines = 40;
constexpr std::size_t kShownBody = 240;

// Names of moves, when only some shall be made.
std::string_view only_moves() {
  const char* const text = std::getenv("BERTH_SCENARIO_HANDS");
  return text ? text : "";
}

std::vector<HandMove> moves_of(world::World& world, world::Role role) {
  std::vector<HandMove> out(tenant_moves().begin(), tenant_moves().end());
  const auto add = [&](std::span<const HandMove> more) {
    out.insert(out.end(), more.begin(), more.end());
  };
  if (role != world::Role::tenant) add(operator_moves());
  if (role == world::Role::administrator) add(administrator_moves());
  // What there is nothing of in this house, nobody lays hands on.
  std::erase_if(out, [&world](const HandMove& move) {
    return !move.about.empty() && !has_some(world, *type_called(move.about));
  });
  if (!only_moves().empty()) {
    std::erase_if(out, [](const HandMove& move) {
      return fmt::format(",{},", only_moves()).find(fmt::format(",{},", move.name)) ==
             std::string::npos;
    });
  }
  return out;
}

}  // namespace

std::string path_in(std::string_view ns, std::string_view plural, std::string_view name) {
  return type_called(plural)->path(ns, name);
}

std::string name_of(const Value& object) {
  return std::string(wire::string_at(object, "/metadata/name"));
}

std::string path_of(const Value& object) {
  return type_of_kind(wire::string_at(object, "/kind"))
      ->path(wire::string_at(object, "/metadata/namespace"), name_of(object));
}

Object fresh_copy(const Value& object, std::string_view ns, std::string_view name) {
  Object copy = object.as_object();
  Object& metadata = copy["metadata"].as_object();
  for (const char* key : {"uid", "resourceVersion", "creationTimestamp", "managedFields",
                          "deletionTimestamp", "deletionGracePeriodSeconds", "generation"})
    metadata.erase(key);
  metadata["namespace"] = ns;
  metadata["name"] = name;
  return copy;
}

void Diary::write(const std::string& line) {
  lines_.push_back(fmt::format("{:9.3f} {}", to_seconds(kernel_.now().time_since_epoch()), line));
  if (std::getenv("BERTH_SCENARIO_SEED")) fmt::print("{}\n", lines_.back());
}

std::string Diary::recent() const {
  const std::size_t first = lines_.size() > kShownLines ? lines_.size() - kShownLines : 0;
  return fmt::format(
      "{}", fmt::join(lines_.begin() + static_cast<std::ptrdiff_t>(first), lines_.end(), "\n"));
}

Hand::Hand(world::World& world, TrustBook& trust, Diary& diary, world::Person person, Random random)
    : world_(world),
      trust_(trust),
      diary_(diary),
      person_(std::move(person)),
      random_(random),
      moves_(moves_of(world, person_.role)) {
  // Most people have a habit: few moves made often meet each other more than many made once.
  if (!only_moves().empty() || random_.chance(0.2)) return;
  std::erase_if(moves_, [this](const HandMove& move) {
    return move.act != tenant_moves().front().act && random_.chance(0.7);
  });
}

void Hand::act() {
  std::uint64_t sum = 0;
  for (const HandMove& move : moves_) sum += static_cast<std::uint64_t>(move.weight);
  if (sum == 0) return;
  std::uint64_t drawn = random_.below(sum);
  for (const HandMove& move : moves_) {
    const auto weight = static_cast<std::uint64_t>(move.weight);
    if (drawn >= weight) {
      drawn -= weight;
      continue;
    }
    say(std::string(move.name));
    return move.act(*this);
  }
}

void Hand::say(const std::string& what) { diary_.write(fmt::format("{} {}", person_.name, what)); }

Result<Value> Hand::ask(const std::string& method, const std::string& path, const Value& body) {
  net::Request request = world::signed_by(person_.name, world::request_of(method, path, body));
  if (body.is_array()) request.headers.set("Content-Type", "application/json-patch+json");
  Result<Value> answer = world_.cluster().ask(request);
  std::string sent = body.is_null() ? "" : " " + wire::to_json(body);
  if (sent.size() > kShownBody) sent.resize(kShownBody);
  diary_.write(fmt::format("{}   {} {}{}: {}", person_.name, method, path, sent,
                           answer ? "done" : answer.error().to_string()));
  return answer;
}

Result<Value> Hand::patch_meta(const std::string& path, Object metadata) {
  return ask("PATCH", path, Object{{"metadata", std::move(metadata)}});
}

std::string Hand::any_of(std::initializer_list<std::string_view> list) {
  return std::string(*(list.begin() + random_.below(list.size())));
}

Value Hand::any_in(std::string_view ns, std::string_view plural) {
  const auto found = world_.cluster().list(path_in(ns, plural));
  if (!found || found->empty()) return nullptr;
  Value object = (*found)[random_.below(found->size())];
  if (!wire::string_at(object, "/kind").empty()) return object;
  // Items of a list do not say their kind.
  const auto one = world_.cluster().ask("GET", path_in(ns, plural, name_of(object)));
  return one ? *one : nullptr;
}

std::string Hand::own_namespace() {
  if (person_.role == world::Role::tenant)
    return any_of(std::span<const std::string>(person_.namespaces));
  return chance(0.7) ? kGames : kLobby;
}

std::string Hand::any_namespace() { return any_of({kGames, kGames, kCalm, kCalm, kLobby, kAlley}); }

std::shared_ptr<const sim::kube::Backup> Hand::backup() {
  return backups_.empty() ? nullptr : backups_[random_.below(backups_.size())];
}

void Hand::make_backup() { backups_.push_back(world_.cluster().server().backup()); }

}  // namespace berth::scenario
