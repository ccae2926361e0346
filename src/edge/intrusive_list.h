// A list whose links lie in its elements: an element leaves in constant time, and by itself when it
// is destroyed. An element may be in several lists, one for each tag. Not thread-safe; owns
// nothing.
#pragma once

namespace berth::edge {

template <class Tag>
class ListHook {
 public:
  ListHook() = default;
  ListHook(const ListHook&) = delete;
  ListHook& operator=(const ListHook&) = delete;
  ~ListHook() { unlink(); }

  void unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }

 private:
  template <class, class>
  friend class IntrusiveList;
  ListHook* previous_ = this;
  ListHook* next_ = this;
};

// T derives from ListHook<Tag>.
template <class T, class Tag>
class IntrusiveList {
 public:
  bool empty() const { return head_.next_ == &head_; }
  T& front() { return static_cast<T&>(*head_.next_); }
  // Leaves the list that it was in.
  void push_back(T& element) {
    ListHook<Tag>& hook = element;
    hook.unlink();
    hook.previous_ = head_.previous_;
    hook.next_ = &head_;
    head_.previous_->next_ = &hook;
    head_.previous_ = &hook;
  }
  // The function may unlink or destroy the element that it is given, but no other.
  template <class Function>
  void for_each(Function function) {
    for (ListHook<Tag>* hook = head_.next_; hook != &head_;) {
      ListHook<Tag>* const next = hook->next_;
      function(static_cast<T&>(*hook));
      hook = next;
    }
  }

 private:
  ListHook<Tag> head_;
};

}  // namespace berth::edge
