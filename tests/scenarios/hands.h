// People who lay hands on a house of port pools: they edit, delete, copy, forge and re-create its
// objects at moments that a seed chooses, each with the rights that he has and no others.
//
// A move is a named function. Who did what, and what came of it, goes into a diary, so that a
// violation is read and played again by its seed. BERTH_SCENARIO_HANDS="deletes a Listener,edits a
// Pod" lets them make only these moves.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trust_book.h"

namespace berth::scenario {

// Where people are at home. Nobody touches `calm`.
inline const std::string kGames = "games";
inline const std::string kCalm = "calm";    // of those who never do anything
inline const std::string kLobby = "lobby";  // of a tenant, with the label that asks for injection
inline const std::string kAlley = "alley";  // of a tenant, without it

std::string path_in(std::string_view ns, std::string_view plural, std::string_view name = {});

// What was done, in order.
class Diary {
 public:
  explicit Diary(sim::Kernel& kernel) : kernel_(kernel) {}
  void write(const std::string& line);
  // The last lines of it.
  std::string recent() const;

 private:
  sim::Kernel& kernel_;
  std::vector<std::string> lines_;
};

class Hand;
struct HandMove {
  std::string_view name;
  int weight;
  void (*act)(Hand& hand);
  std::string_view about{};  // a plural: only where there are such objects
};

class Hand {
 public:
  Hand(world::World& world, TrustBook& trust, Diary& diary, world::Person person, Random random);

  // One move, drawn from those that the person's role has.
  void act();

  // What moves are made of.
  world::World& world() { return world_; }
  TrustBook& trust() { return trust_; }
  Random& dice() { return random_; }
  const world::Person& person() const { return person_; }
  void say(const std::string& what);
  Result<wire::Value> ask(const std::string& method, const std::string& path,
                          const wire::Value& body = nullptr);
  // A JSON Patch or merge patch is told by its body.
  Result<wire::Value> patch_meta(const std::string& path, wire::Object metadata);
  bool chance(double probability) { return random_.chance(probability); }
  template <class T>
  const T& any_of(std::span<const T> list) {
    return list[random_.below(list.size())];
  }
  std::string any_of(std::initializer_list<std::string_view> list);
  // Null: there is none.
  wire::Value any_in(std::string_view ns, std::string_view plural);
  // A namespace in which this person may write.
  std::string own_namespace();
  // Somebody's, to copy from: reading is not forbidden.
  std::string any_namespace();
  // A backup that somebody made some time ago; null: none yet.
  std::shared_ptr<const sim::kube::Backup> backup();
  void make_backup();

 private:
  world::World& world_;
  TrustBook& trust_;
  Diary& diary_;
  const world::Person person_;
  Random random_;
  std::vector<HandMove> moves_;
  std::vector<std::shared_ptr<const sim::kube::Backup>> backups_;
};

std::span<const HandMove> tenant_moves();
// Beside those of tenants, in all namespaces but the one that nobody touches.
std::span<const HandMove> operator_moves();
// Beside those of operators.
std::span<const HandMove> administrator_moves();

// "/apis/…/listeners/demo-tcp-30000": of an object as the server gave it, of a kind in kinds.h.
std::string path_of(const wire::Value& object);
std::string name_of(const wire::Value& object);
// An object as somebody would send it again: without what the server alone writes.
wire::Object fresh_copy(const wire::Value& object, std::string_view ns, std::string_view name);

}  // namespace berth::scenario
