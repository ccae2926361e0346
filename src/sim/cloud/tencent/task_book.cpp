#include "sim/cloud/tencent/task_book.h"

#include <iterator>

namespace berth::sim::tencent {
namespace {

// Who asks for the status of a task does so within minutes.
constexpr std::size_t kRemembered = 20'000;

}  // namespace

void TaskBook::begin(State& state, Task task) {
  for (const std::string& lb : task.load_balancers) holders_[lb] = task.id;
  const std::string id = task.id;
  Task& kept = tasks_.insert_or_assign(id, std::move(task)).first->second;
  if (kept.ends <= kept.began) {
    end(state, kept);
  } else {
    running_.emplace(kept.ends, id);
  }
}

void TaskBook::advance(State& state, WallTime now) {
  while (!running_.empty() && running_.begin()->first <= now) {
    const std::string id = running_.begin()->second;
    running_.erase(running_.begin());
    end(state, tasks_.at(id));
  }
  forget_old();
}

void TaskBook::end(State& state, Task& task) {
  task.status = task.fails_with ? TaskStatus::failed : TaskStatus::done;
  const Effect& effect = task.fails_with ? task.undo : task.effect;
  if (effect) effect(state, task.ends);
  state.changed.insert(task.load_balancers.begin(), task.load_balancers.end());
  task.effect = nullptr;
  task.undo = nullptr;
  ended_.push_back(task.id);
}

void TaskBook::forget_old() {
  if (ended_.size() < 2 * kRemembered) return;
  const auto keep = ended_.begin() + static_cast<std::ptrdiff_t>(ended_.size() - kRemembered);
  for (auto it = ended_.begin(); it != keep; ++it) tasks_.erase(*it);
  ended_.erase(ended_.begin(), keep);
}

const Task* TaskBook::find(const std::string& id) const {
  const auto alias = aliases_.find(id);
  const auto it = tasks_.find(alias == aliases_.end() ? id : alias->second);
  return it == tasks_.end() ? nullptr : &it->second;
}

const Task* TaskBook::holder(const State& state, const std::string& load_balancer,
                             WallTime now) const {
  const auto it = holders_.find(load_balancer);
  const Task* task = it == holders_.end() ? nullptr : find(it->second);
  if (task == nullptr) return nullptr;
  if (task->status == TaskStatus::running) return task;
  return task->ends + state.settings.unsure.lock_outlives_task > now ? task : nullptr;
}

}  // namespace berth::sim::tencent
