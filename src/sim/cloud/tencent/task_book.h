// Tasks of writes: what a write does happens when its task ends. While one runs, its load balancers
// are locked against other writes. Owned by `Cloud` under its lock.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/cloud/tencent/state.h"

namespace berth::sim::tencent {

enum class TaskStatus { done = 0, failed = 1, running = 2 };  // as DescribeTaskStatus has them

// What becomes of the state when the task ends well. What it names may be gone by then.
using Effect = std::function<void(State& state, WallTime at)>;

struct Task {
  std::string id{};  // the request's
  std::string account{};
  std::string action{};
  std::vector<std::string> load_balancers{};  // locked, and what DescribeTaskStatus names
  WallTime began{};
  WallTime ends{};
  std::optional<std::string> fails_with{};  // how it ends, if not well
  Effect effect{};
  Effect undo{};  // what becomes of the state when it ends badly
  TaskStatus status = TaskStatus::running;
};

class TaskBook {
 public:
  // One that ends as it begins has its effect at once.
  void begin(State& state, Task task);
  // Who asks for this id gets the status of that task.
  void alias(const std::string& id, const std::string& task) { aliases_[id] = task; }
  // Ends what is over, in order.
  void advance(State& state, WallTime now);
  const Task* find(const std::string& id) const;
  // The task that locks the load balancer, if one does.
  const Task* holder(const State& state, const std::string& load_balancer, WallTime now) const;
  std::size_t running() const { return running_.size(); }
  const std::map<std::string, Task>& all() const { return tasks_; }

 private:
  void end(State& state, Task& task);
  void forget_old();

  std::map<std::string, Task> tasks_;
  std::map<std::string, std::string> aliases_;
  std::multimap<WallTime, std::string> running_;
  std::map<std::string, std::string> holders_;  // load balancer to its latest task
  std::vector<std::string> ended_;              // oldest first
};

}  // namespace berth::sim::tencent
