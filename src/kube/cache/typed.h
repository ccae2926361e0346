// Typed<T>: the objects of one kind at the API server, and the store that knows them. What the
// server answers to a read or a write of ours is decoded and remembered, so that whoever plans next
// sees it before the watch brings it.
//
// A few references, made where it is needed; thread-safe as its client and its store are.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kube/cache/store.h"
#include "kube/client/client.h"
#include "wire/json_reader.h"

namespace berth::kube {

template <class T>
class Typed {
 public:
  // Null in an answer: the call succeeded, and what the server has cannot be read. The store stays
  // as it is then.
  using Ptr = typename Store<T>::Ptr;
  using Decode = Result<T> (*)(wire::JsonReader& reader, std::string_view text);

  // All of them outlive it.
  Typed(Client& client, Store<T>& store, const ResourceType& type, Decode decode)
      : client_(&client), store_(&store), type_(&type), decode_(decode) {}

  const ResourceType& type() const { return *type_; }

  // As the server has it now.
  Result<Ptr> get(const Context& context, const ObjectKey& key) const {
    return remembered(client_->get_text(context, *type_, key));
  }
  // Everything that matches, into the store. What the server has no more stays there: only a watch
  // knows that it went.
  Result<> list(const Context& context, ListOptions options = {}) const {
    Result<ListPage> page = client_->list_all(context, *type_, std::move(options));
    if (!page) return pass(page);
    for (const wire::Value& item : page->items) (void)remember(wire::to_json(item));
    return {};
  }
  Result<Ptr> create(const Context& context, const wire::Value& object) const {
    return remembered(client_->create_text(context, *type_, object));
  }
  Result<Ptr> patch(const Context& context, const ObjectKey& key, PatchType how,
                    const wire::Value& body) const {
    return remembered(client_->patch_text(context, *type_, key, how, body));
  }
  Result<Ptr> patch_status(const Context& context, const ObjectKey& key, PatchType how,
                           const wire::Value& body) const {
    return remembered(
        client_->patch_text(context, *type_, key, how, body, {.subresource = "status"}));
  }
  // A write after which the object may be gone, as when its last finalizer is taken off. What is
  // answered is not remembered: nobody would take it out of the store again.
  Result<> patch_away(const Context& context, const ObjectKey& key, PatchType how,
                      const wire::Value& body) const {
    Result<std::string> written = client_->patch_text(context, *type_, key, how, body);
    if (!written) return pass(written);
    return {};
  }
  // The watch tells the store.
  Result<> remove(const Context& context, const ObjectKey& key,
                  const DeleteOptions& options = {}) const {
    return client_->remove(context, *type_, key, options);
  }

 private:
  Ptr remember(std::string_view text) const {
    wire::JsonReader reader;
    Result<T> decoded = decode_(reader, text);
    if (!decoded) return nullptr;
    Ptr known = std::make_shared<const T>(std::move(*decoded));
    store_->put(known);
    return known;
  }
  Result<Ptr> remembered(Result<std::string> answer) const {
    if (!answer) return pass(answer);
    return remember(*answer);
  }

  Client* client_;
  Store<T>* store_;
  const ResourceType* type_;
  Decode decode_;
};

}  // namespace berth::kube
