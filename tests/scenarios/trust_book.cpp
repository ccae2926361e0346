#include "trust_book.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>

#include "api/listener.h"
#include "claims/seal.h"
#include "kinds.h"

namespace berth::scenario {
namespace {

using wire::Value;
using world::author_of;

// Not ours, and not the world's own.
bool is_person(std::string_view author) { return !author.empty() && author != world::kOurUser; }

bool says_ready(const Room& room) { return room.ready || room.gate_open; }

std::string path_of(const net::Request& request, std::string_view name) {
  std::string path = request.url.substr(0, request.url.find('?'));
  if (request.method == "POST") path += "/" + std::string(name);
  return path;
}

std::vector<std::string> listeners_of(const api::PortBindingItem& binding) {
  std::vector<std::string> out;
  const auto protocol = api::parse_pool_protocol(binding.protocol);
  for (const std::string& id : binding.load_balancer_ids) {
    const auto lb = model::parse_load_balancer(id, {});
    if (lb && protocol)
      out.push_back(api::pool_listener_name(*lb, *protocol, api::ports_of(binding)));
  }
  return out;
}

std::vector<Place> places_told(const std::vector<api::PortBindingItem>& told) {
  std::vector<Place> out;
  for (const api::PortBindingItem& binding : told)
    for (const Place& place : places_of(binding)) out.push_back(place);
  return out;
}

// Without its finalizer a Listener may go before its listener at the load balancer does, which an
// audit finds. So may one without its seal, and one that is changed on its way out: what is not
// ours is not acted on.
bool may_leave_its_listener(const net::Request& request, const Value& object) {
  if (request.method == "DELETE") return wire::string_at(object, "/kind") == "Status";
  return request.body.contains(R"("finalizers":null)") ||
         request.body.contains(claims::kSealAnnotation) ||
         !wire::string_at(object, "/metadata/deletionTimestamp").empty();
}

// Every write to the API server and to the load balancers is shown, for who reads one seed.
bool shows_writes() { return std::getenv("BERTH_SCENARIO_WRITES") != nullptr; }

void show(world::World& world, const net::Request& request) {
  for (const char* const noise : {"/leases", "/events"})
    if (request.url.find(noise) != std::string::npos) return;
  fmt::print("{:9.3f} {} {} {} {}\n", to_seconds(world.kernel().now().time_since_epoch()),
             author_of(request), request.method, request.url, request.body);
}

std::string shown_targets(const std::optional<lb::ObservedListener>& listener) {
  if (!listener) return "none";
  std::string out;
  for (const model::WeightedTarget& one : model::targets_of(listener->spec))
    out += one.target.ip + " ";
  return out.empty() ? "nowhere" : out;
}

void show(world::World& world, const sim::lb::Change& change) {
  const lb::ObservedListener& listener = change.before ? *change.before : *change.after;
  fmt::print("{:9.3f} {} {} {}: {} -> {}\n", to_seconds(world.kernel().now().time_since_epoch()),
             model::to_string(change.lb), listener.spec.ports.first, listener.spec.name,
             shown_targets(change.before), shown_targets(change.after));
}

}  // namespace

std::string shown_object(std::string_view kind, std::string_view ns, std::string_view name) {
  return fmt::format("{} {}/{}", kind, ns, name);
}

TrustBook::TrustBook(world::World& world, Duration grace)
    : world_(world), grace_(grace), time_kept_(world.kernel().now()) {
  observing_ = world.cluster().gateway().observe(
      [this](const net::Request& request, const world::SeenReply& reply) { see(request, reply); });
}

void TrustBook::note_upheaval(Duration grace) {
  upheaval_over_ = std::max(upheaval_over_, world_.kernel().now() + grace);
}

void TrustBook::note_place(const Place& place, Duration grace) {
  places_[place] = world_.kernel().now() + grace;
  places_over_ = std::max(places_over_, places_[place]);
}

void TrustBook::note_namespace(const std::string& ns) {
  const std::string key = shown_object("Namespace", ns, ns);
  touched_[key] = moved_[key] = time_led();  // no tenant may end one
}

void TrustBook::keep_time() {
  time_led_ = time_led();
  time_kept_ = world_.kernel().now();
  is_led_ = world_.leaders() > 0;
}

Duration TrustBook::time_led() const {
  return is_led_ ? time_led_ + (world_.kernel().now() - time_kept_) : time_led_;
}

void TrustBook::take_stock() {
  guests_.clear();
  const auto pods = world_.cluster().list("/api/v1/pods");
  for (const Value& pod : pods ? *pods : std::vector<Value>{}) {
    Guest guest{.ns = std::string(wire::string_at(pod, "/metadata/namespace")),
                .room = RoomBook::read(pod)};
    const std::string uid(wire::string_at(pod, "/metadata/uid"));
    guest.has_word = says_ready(guest.room) && given_.contains(uid);
    guest.told = guest.room.bindings;
    guests_[uid] = std::move(guest);
  }
}

void TrustBook::see(const net::Request& request, const world::SeenReply& reply) {
  keep_time();
  if (request.method == "GET" || reply.status() >= 300 ||
      request.url.find("dryRun") != std::string::npos)
    return;
  if (shows_writes()) show(world_, request);
  const bool touches = is_person(author_of(request));
  if (!touches && !request.url.contains("/pods")) return;
  const Value* const object = reply.object();
  if (!object) return;
  if (touches) note_touch(request, *object);
  if (wire::string_at(*object, "/kind") == "Pod") see_pod(request, *object);
}

void TrustBook::note_touch(const net::Request& request, const Value& object) {
  std::string kind(wire::string_at(object, "/kind"));
  std::string name(wire::string_at(object, "/metadata/name"));
  // What is gone at once is told of by its plural.
  if (kind == "Status") {
    kind = wire::string_at(object, "/details/kind");
    name = wire::string_at(object, "/details/name");
    if (const kube::ResourceType* const type = type_called(kind)) kind = type->kind;
  }
  const std::string path = path_of(request, name);
  const std::string_view marker = "/namespaces/";
  const std::size_t at = path.find(marker);
  if (at == std::string::npos) return;
  const std::size_t begin = at + marker.size();
  const std::string ns = path.substr(begin, path.find('/', begin) - begin);
  const std::string key = shown_object(kind, ns, name);
  touched_[key] = time_led();
  if (!tenants_.contains(author_of(request))) moved_[key] = time_led();
  hands_[key] = author_of(request);
  const bool ours = kind == "Listener" || kind == "PortBinding";
  if (ours && request.method == "POST") forged_.insert(path);
  if (kind == "Listener" && request.method != "POST") edited_.insert(path);
  if (kind == "Listener" && may_leave_its_listener(request, object))
    places_over_ = std::max(places_over_, world_.kernel().now() + kAudited);
  // What a Pod was told before its ports were bound is nowhere else: it lives with what somebody
  // wrote there.
  const bool retold = request.body.find(api::kPoolBindingsAnnotation) != std::string::npos;
  if (kind == "Pod" && (request.method == "POST" || retold)) made_pods_.insert(path);
}

void TrustBook::see_pod(const net::Request& request, const Value& pod) {
  const std::string uid(wire::string_at(pod, "/metadata/uid"));
  const bool gone = request.method == "DELETE" &&
                    wire::int_at(pod, "/metadata/deletionGracePeriodSeconds").value_or(0) == 0 &&
                    wire::array_at(pod, "/metadata/finalizers") == nullptr;
  if (gone) {
    guests_.erase(uid);
    return;
  }
  const Guest before = guests_[uid];
  Guest& guest = guests_[uid];
  guest.ns = wire::string_at(pod, "/metadata/namespace");
  guest.room = RoomBook::read(pod);
  const bool ready = says_ready(guest.room);
  const bool news = !says_ready(before.room) || guest.room.bindings != before.room.bindings ||
                    guest.room.gate_open != before.room.gate_open;
  if (!ready) {
    guest.has_word = false;
  } else if (author_of(request) == world::kOurUser && news) {
    guest.has_word = true;
    guest.told = guest.room.bindings;
    given_.insert(uid);
  }
  judge(before, guest);
  // The last finalizer of one that is on its way out.
  if (guest.room.leaving && request.method == "PATCH" &&
      wire::int_at(pod, "/metadata/deletionGracePeriodSeconds").value_or(0) == 0 &&
      wire::array_at(pod, "/metadata/finalizers") == nullptr)
    guests_.erase(uid);
}

void TrustBook::judge(const Guest& before, const Guest& now) {
  if (now.room.ended) return;
  if (now.has_word && !before.has_word) ++words_given_;
  if (now.has_word && (!before.has_word || now.told != before.told)) check_alone();
  if (now.has_word) check_reached(now);
  if (!guarded_.contains(now.ns) || !before.has_word) return;
  if (!now.has_word && !now.room.leaving) complain(now, "lost our word");
  if (now.has_word && places_told(now.told) != places_told(before.told))
    complain(now, "was told of other ports");
}

void TrustBook::see_change(const sim::lb::Change& change) {
  const auto& listener = change.before ? change.before : change.after;
  if (shows_writes()) show(world_, change);
  if (change.before && foreign_.contains(change.before->id))
    world_.kernel().fail(fmt::format("{} of {} is not ours, and was changed",
                                     change.before->spec.name, model::to_string(change.lb)));
  const Place place = place_of(change.lb, *listener);
  for (const auto& [uid, guest] : guests_) {
    if (!guest.has_word || guest.room.ended) continue;
    const bool concerned =
        std::ranges::any_of(guest.told, [&](const api::PortBindingItem& binding) {
          const std::vector<Place> places = places_of(binding);
          return std::ranges::find(places, place) != places.end();
        });
    if (!concerned) continue;
    if (guarded_.contains(guest.ns) && change.before && !change.after && !guest.room.leaving)
      complain(guest, fmt::format("has port {}, whose listener was removed", shown(place)));
    check_reached(guest);
  }
}

void TrustBook::check_all() {
  check_alone();  // what excused two of them may be over
  for (const auto& [uid, guest] : guests_) {
    if (!guest.has_word || guest.room.ended) continue;
    check_reached(guest);
    if (!guest.room.asks && !guest.room.leaving && !is_in_upheaval() &&
        !is_touched(guest, touched_))
      complain(guest, "asks for no port any more, and is still called Ready");
  }
}

void TrustBook::check_alone() {
  if (is_in_upheaval()) return;
  std::map<Place, const Guest*> owners;
  for (const auto& [uid, guest] : guests_) {
    if (!guest.has_word || guest.room.ended || is_touched(guest, moved_)) continue;
    for (const Place& place : places_told(guest.told)) {
      const auto [owner, is_alone] = owners.emplace(place, &guest);
      if (is_alone || owner->second == &guest) continue;
      complain(guest, fmt::format("is Ready at port {}, and so is {}/{}", shown(place),
                                  owner->second->ns, owner->second->room.name));
    }
  }
}

void TrustBook::check_reached(const Guest& guest) {
  if (guest.room.leaving || is_in_upheaval() || is_touched(guest, touched_)) return;
  for (const api::PortBindingItem& binding : guest.told) {
    for (const Place& place : places_of(binding)) {
      if (is_touched(place)) continue;
      const auto listener = world_.provider().find(place.lb, place.protocol, place.port);
      const bool leads =
          listener && model::targets_of(listener->spec).size() == 1 &&
          model::targets_of(listener->spec).front().target.ip == guest.room.ip &&
          model::targets_of(listener->spec).front().target.port == binding.rs_start_port;
      if (leads) continue;
      std::string where = "nowhere";
      if (listener && !model::targets_of(listener->spec).empty())
        where = "to " + model::targets_of(listener->spec).front().target.ip;
      complain(guest, fmt::format("was told Ready, but port {} leads {}", shown(place), where));
    }
  }
}

bool TrustBook::is_touched(const Guest& guest, const Touches& touches) const {
  const auto is = [&](std::string_view kind, std::string_view ns, std::string_view name) {
    return is_in(touches, kind, ns, name);
  };
  if (is("Namespace", guest.ns, guest.ns) || is("Pod", guest.ns, guest.room.name) ||
      is("PortBinding", guest.ns, guest.room.name))
    return true;
  return std::ranges::any_of(guest.told, [&](const api::PortBindingItem& binding) {
    const std::string& ns = binding.pool_namespace;
    if (is("Namespace", ns, ns) || is("PortPool", ns, binding.pool_name)) return true;
    return std::ranges::any_of(listeners_of(binding),
                               [&](const std::string& name) { return is("Listener", ns, name); });
  });
}

bool TrustBook::is_touched(const Place& place) const {
  const auto it = places_.find(place);
  return it != places_.end() && world_.kernel().now() < it->second;
}

bool TrustBook::is_touched(std::string_view kind, std::string_view ns,
                           std::string_view name) const {
  return is_in(touched_, kind, ns, name);
}

bool TrustBook::is_in(const Touches& touches, std::string_view kind, std::string_view ns,
                      std::string_view name) const {
  const auto it = touches.find(shown_object(kind, ns, name));
  return it != touches.end() && time_led() - it->second < grace_;
}

void TrustBook::complain(const Guest& guest, const std::string& what) {
  world_.kernel().fail(fmt::format("{}/{} {}", guest.ns, guest.room.name, what));
}

}  // namespace berth::scenario
