#include "sim/kube/storage.h"

#include <algorithm>
#include <boost/json.hpp>

namespace berth::sim::kube {

namespace {

void set_version(wire::Value& object, std::uint64_t version) {
  object.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(version);
}

}  // namespace

std::string storage_key(std::string_view ns, std::string_view name) {
  std::string key(ns);
  if (!ns.empty()) key += '/';
  return key.append(name);
}

void Storage::begin_with(std::map<GroupResource, Objects> objects, std::uint64_t version) {
  objects_ = std::move(objects);
  version_ = version;
  compact();
}

ObjectPtr Storage::find(const GroupResource& resource, std::string_view key) const {
  const Objects& objects = all(resource);
  const auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second;
}

const Storage::Objects& Storage::all(const GroupResource& resource) const {
  static const Objects kNone;
  const auto found = objects_.find(resource);
  return found == objects_.end() ? kNone : found->second;
}

const Storage::Objects* Storage::at(const GroupResource& resource, std::uint64_t version,
                                    Objects& scratch) const {
  if (version < compacted_) return nullptr;
  const Objects& now = all(resource);
  bool copied = false;
  for (auto change = history_.rbegin(); change != history_.rend(); ++change) {
    if (change->version <= version) break;
    if (change->resource != resource) continue;
    if (!copied) scratch = now;
    copied = true;
    if (change->before == nullptr) {
      scratch.erase(change->key);
    } else {
      scratch[change->key] = change->before;
    }
  }
  return copied ? &scratch : &now;
}

const Change& Storage::put(const GroupResource& resource, const std::string& key,
                           wire::Value object) {
  set_version(object, version_ + 1);
  ObjectPtr& slot = objects_[resource][key];
  ObjectPtr before = slot;
  slot = std::make_shared<const wire::Value>(std::move(object));
  return record({.resource = resource, .key = key, .before = before, .after = slot, .shown = slot});
}

const Change& Storage::remove(const GroupResource& resource, const std::string& key) {
  Objects& objects = objects_[resource];
  const auto found = objects.find(key);
  ObjectPtr before = found->second;
  objects.erase(found);
  wire::Value last = *before;
  set_version(last, version_ + 1);
  return record({.resource = resource,
                 .key = key,
                 .before = std::move(before),
                 .shown = std::make_shared<const wire::Value>(std::move(last))});
}

const Change& Storage::record(Change change) {
  change.version = ++version_;
  history_.push_back(std::move(change));
  // Two at least: the caller looks at the newest.
  while (history_.size() > std::max<std::size_t>(history_limit_, 2)) {
    compacted_ = history_.front().version;
    history_.pop_front();
  }
  return history_.back();
}

std::vector<Change> Storage::changes_since(const GroupResource& resource,
                                           std::uint64_t version) const {
  std::vector<Change> changes;
  const auto first = std::ranges::upper_bound(history_, version, {}, &Change::version);
  std::copy_if(first, history_.end(), std::back_inserter(changes),
               [&](const Change& change) { return change.resource == resource; });
  return changes;
}

void Storage::compact() {
  compacted_ = version_;
  history_.clear();
}

}  // namespace berth::sim::kube
