// Removes every object of one of our kinds, whatever holds it: our finalizers are taken off,
// because nobody is left to do it. Finalizers of others stay, and are named.
//
// Blocking; used by one task, which may be stopped and begin anew.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/client/client.h"

namespace berth::controllers::install {

class ObjectSweep {
 public:
  // `tell` hears how many are gone, after each page of many.
  using Tell = std::function<void(std::size_t removed)>;
  ObjectSweep(kube::Client& client, const kube::ResourceType& type, Tell tell)
      : client_(client), type_(type), tell_(std::move(tell)) {}

  // Returns when there is none left: how many there were. A kind that is not served has none. Fails
  // when nothing has moved for a while.
  Result<std::size_t> run(const Context& context);

 private:
  struct Round {
    bool empty = true;
    std::size_t moved = 0;
    std::string stuck{};  // one that did not go, and why
  };
  Result<Round> one_round(const Context& context);
  Result<> one_page(const Context& context, const std::vector<wire::Value>& objects, Round& round);

  kube::Client& client_;
  const kube::ResourceType& type_;
  const Tell tell_;
  std::size_t removed_ = 0;
};

// The number of objects of a kind; 0 when it is not served.
Result<std::size_t> count_objects(const Context& context, kube::Client& client,
                                  const kube::ResourceType& type);

}  // namespace berth::controllers::install
