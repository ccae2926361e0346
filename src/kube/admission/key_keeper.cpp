#include "kube/admission/key_keeper.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/encoding.h"
#include "base/log.h"

namespace berth::kube {
namespace {

using crypto::Key;
using wire::Array;
using wire::Object;
using wire::Value;
using Keys = std::vector<Key>;

// Names of the rings in the Secret.
constexpr std::string_view kSeals = "seals";
constexpr std::string_view kPaths = "paths";

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kIdBytes = 4;
// How often a replica tries again when another one wrote in between.
constexpr int kMaxRounds = 4;

std::string encode(const Keys& keys) {
  Array list;
  for (const Key& key : keys) {
    list.push_back(Object{{"id", key.id},
                          {"made", format_rfc3339(key.made)},
                          {"key", base64_encode(key.bytes.reveal())}});
  }
  return wire::to_json(Object{{"keys", std::move(list)}});
}

// Errors say where and never what: it may be nearly a key.
Result<Key> decode_key(const Value& value) {
  const std::string_view id = wire::string_at(value, "/id");
  if (id.empty() || id.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return fail(error_of(Code::invalid, "must be hex digits").at("id"));
  const Result<WallTime> made = parse_rfc3339(wire::string_at(value, "/made"));
  if (!made) return fail(error_of(Code::invalid, "must be a time in RFC 3339").at("made"));
  Result<std::string> bytes = base64_decode(wire::string_at(value, "/key"));
  if (!bytes || bytes->size() < kKeyBytes)
    return fail(
        error_of(Code::invalid, "must be {} bytes or more, in base64", kKeyBytes).at("key"));
  return Key{.id = std::string(id), .bytes = Secret(std::move(*bytes)), .made = *made};
}

Result<Keys> decode(std::string_view encoded) {
  const Result<std::string> text = base64_decode(encoded);
  const Result<Value> value = text ? wire::parse_json(*text) : Result<Value>(Value());
  const Array* list = value ? wire::array_at(*value, "/keys") : nullptr;
  if (!list) return fail(Code::invalid, "must be JSON with a list of keys");
  if (list->empty() || list->size() > kMaxKeysInRing)
    return fail(Code::invalid, "must have 1 to {} keys, has {}", kMaxKeysInRing, list->size());
  Keys keys;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Result<Key> key = decode_key((*list)[i]);
    if (!key) return fail(std::move(key.error()).about(fmt::format("keys[{}]", i)));
    if (std::ranges::find(keys, key->id, &Key::id) != keys.end())
      return fail(error_of(Code::invalid, "is there twice").at(fmt::format("keys[{}].id", i)));
    keys.push_back(std::move(*key));
  }
  return keys;
}

bool same(const crypto::KeyRing& a, const crypto::KeyRing& b) {
  return a.signer() == b.signer() &&
         std::ranges::equal(a.keys(), b.keys(), [](const Key& x, const Key& y) {
           return x.id == y.id && x.made == y.made &&
                  crypto::constant_time_equal(x.bytes.reveal(), y.bytes.reveal());
         });
}

}  // namespace

KeyKeeper::KeyKeeper(Client& client, KeyKeeperOptions options)
    : client_(client), options_(std::move(options)) {}

std::shared_ptr<const KeyRings> KeyKeeper::current() const {
  const MutexLock lock(mu_);
  return current_;
}

KeyKeeper::Keys KeyKeeper::usable_ring(const Value& secret, std::string_view name,
                                       const Keys& known) const {
  Result<Keys> read = decode(wire::string_at(secret, fmt::format("/data/{}", name)));
  if (read) return completed(std::move(*read), known);
  log_warn(known.empty() ? "keys made anew: the Secret cannot be used"
                         : "keys put back: the Secret cannot be used",
           {{"object", options_.secret.to_string()},
            {"field", fmt::format("data[{}]", name)},
            {"error", read.error().to_string()}});
  return known;
}

KeyKeeper::Found KeyKeeper::usable_part(const Result<Value>& secret) const {
  const auto known = current();
  const Found ours = known ? Found{known->seals.keys(), known->paths.keys()} : Found{};
  if (!secret) return ours;
  return {.seals = usable_ring(*secret, kSeals, ours.seals),
          .paths = usable_ring(*secret, kPaths, ours.paths)};
}

crypto::Key KeyKeeper::make_key(const Keys& others, WallTime now) const {
  std::string id;
  do {
    id = hex_encode(options_.random_bytes(kIdBytes));
  } while (std::ranges::find(others, id, &Key::id) != others.end());
  return {.id = std::move(id),
          .bytes = Secret(options_.random_bytes(kKeyBytes)),
          .made = std::chrono::floor<std::chrono::seconds>(now)};  // as the Secret has it
}

void KeyKeeper::rotate(Keys& keys, const RingRules& rules, WallTime now, bool demanded) const {
  const RingPlan plan = plan_rotation(keys, rules, now, demanded);
  std::erase_if(keys, [&](const Key& key) {
    return std::ranges::find(plan.retire, key.id) != plan.retire.end();
  });
  if (plan.make) keys.push_back(make_key(keys, now));
}

Result<> KeyKeeper::ensure(const Context& context) {
  const bool demanded = new_path_.exchange(false);
  Result<> stored;
  for (int round = 0; round < kMaxRounds; ++round) {
    const WallTime now = context.tasks.wall_time();
    const Result<Value> secret = client_.get(context, types::kSecret, options_.secret);
    stored = secret || secret.error().code == Code::not_found ? Result<>() : fail(secret.error());
    if (!stored) break;
    Found keys = usable_part(secret);
    rotate(keys.seals, options_.seals, now, false);
    rotate(keys.paths, options_.paths, now, demanded);
    stored = store(context, keys, secret ? &*secret : nullptr);
    if (stored) {
      publish(std::move(keys), now);
      return {};
    }
    const Code code = stored.error().code;
    if (code != Code::conflict && code != Code::already_exists) break;
  }
  if (demanded) new_path_ = true;
  return stored;
}

// Writes nothing when nothing has changed.
Result<> KeyKeeper::store(const Context& context, const Found& keys, const Value* existing) {
  const Object data{{kSeals, base64_encode(encode(keys.seals))},
                    {kPaths, base64_encode(encode(keys.paths))}};
  if (existing) {
    const Value* const found = wire::find(*existing, "/data");
    if (found && *found == Value(data)) return {};
    Value secret = *existing;  // with its resourceVersion: a write in between is a conflict
    secret.as_object()["data"] = data;
    const Result<Value> written = client_.update(context, types::kSecret, secret);
    return written ? Result<>() : fail(written.error());
  }
  const Value secret = Object{
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"type", "Opaque"},
      {"metadata", Object{{"namespace", options_.secret.ns}, {"name", options_.secret.name}}},
      {"data", data}};
  const Result<Value> written = client_.create(context, types::kSecret, secret);
  return written ? Result<>() : fail(written.error());
}

void KeyKeeper::publish(Found keys, WallTime now) {
  auto next = std::make_shared<const KeyRings>(KeyRings{
      .seals = ring_at(std::move(keys.seals), now), .paths = ring_at(std::move(keys.paths), now)});
  {
    const MutexLock lock(mu_);
    if (current_ && same(current_->seals, next->seals) && same(current_->paths, next->paths))
      return;
    current_ = next;
  }
  if (on_change_) on_change_(*next);
}

void KeyKeeper::keep(const Context& context, Duration period) {
  while (sleep_for(context.tasks, period, context.stop)) {
    if (Result<> ensured = ensure(context); !ensured)
      log_warn("keys not checked", {{"error", ensured.error().to_string()}});
  }
}

}  // namespace berth::kube
