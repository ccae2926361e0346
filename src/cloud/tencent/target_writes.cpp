#include "cloud/tencent/target_writes.h"

#include <algorithm>
#include <functional>
#include <set>

namespace berth::cloud::tencent {
namespace {

using lb::RuleRef;
using lb::TargetChange;
using model::ListenerId;
using model::WeightedTarget;

// Calls that a batch is cut into at the most, to find the entries that are at fault: one of five
// hundred takes eighteen.
constexpr int kMostCalls = 24;

// The targets of one entry that one kind of call is about.
struct Part {
  std::size_t entry = 0;
  std::vector<TargetLine> lines{};
};
using Parts = std::span<const Part>;

struct Step {
  std::string_view action;
  std::vector<wire::Object> (*bodies)(std::string_view lb, std::span<const TargetLine> lines);
  void (*confirm)(RuleBook& book, const model::LoadBalancerRef& lb, const RuleRef& rule,
                  const WeightedTarget& target);
  // It is about targets that the book says are there: a refusal of them may mean that they are not.
  bool relies_on_book;
};

template <auto Body>
std::vector<wire::Object> in_batches(std::string_view lb, std::span<const TargetLine> lines) {
  std::vector<wire::Object> out;
  for (std::size_t begin = 0; begin < lines.size(); begin += kTargetsPerBatch)
    out.push_back(Body(lb, lines.subspan(begin, std::min(kTargetsPerBatch, lines.size() - begin))));
  return out;
}

void confirm_there(RuleBook& book, const model::LoadBalancerRef& lb, const RuleRef& rule,
                   const WeightedTarget& target) {
  book.put_target(lb, rule, target);
}
void confirm_gone(RuleBook& book, const model::LoadBalancerRef& lb, const RuleRef& rule,
                  const WeightedTarget& target) {
  book.erase_target(lb, rule, target.target);
}

constexpr Step kRegister{"BatchRegisterTargets", in_batches<register_body>, confirm_there, false};
constexpr Step kWeigh{"BatchModifyTargetWeight", weights_bodies, confirm_there, true};
constexpr Step kDeregister{"BatchDeregisterTargets", in_batches<deregister_body>, confirm_gone,
                           true};

class TargetRound {
 public:
  TargetRound(const Line& line, std::span<const TargetChange> changes)
      : line_(line), changes_(changes), results_(changes.size()), changed_(changes.size()) {}

  std::vector<Result<>> run() {
    learn();
    take(kRegister, [](const TargetChange& change, const KnownRule& known) {
      std::vector<WeightedTarget> out = change.add;
      std::erase_if(out, [&](const auto& one) { return known.weights.contains(one.target); });
      return out;
    });
    take(kWeigh, [](const TargetChange& change, const KnownRule& known) {
      std::vector<WeightedTarget> out = change.add;
      std::erase_if(out, [&](const WeightedTarget& one) {
        const auto it = known.weights.find(one.target);
        return it == known.weights.end() || it->second == one.weight;
      });
      return out;
    });
    take(kDeregister, [](const TargetChange& change, const KnownRule& known) {
      std::vector<WeightedTarget> out;
      for (const model::Target& target : change.remove)
        if (known.weights.contains(target)) out.push_back({target});
      return out;
    });
    return std::move(results_);
  }

 private:
  using Choose =
      std::function<std::vector<WeightedTarget>(const TargetChange&, const KnownRule& known)>;

  std::optional<KnownRule> known(std::size_t i) const {
    return line_.book.find(line_.place.lb, changes_[i].rule);
  }

  // What the book has not is read first.
  void learn() {
    std::set<ListenerId> unknown;
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if (!known(i)) unknown.insert(changes_[i].rule.listener);
    if (unknown.empty()) return;
    const std::vector<ListenerId> ids(unknown.begin(), unknown.end());
    const auto read = read_targets(line_, ids);
    if (Result<> all = read ? learn_silent_rules() : Result<>{}; !all) return fail_unknown(all);
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (known(i)) continue;
      results_[i] = read ? not_there(i) : fail(read.error());
    }
  }

  // Rules of layer 7 that the cloud did not tell, because they have no targets or are not there.
  Result<> learn_silent_rules() {
    std::set<ListenerId> unknown;
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if (!known(i) && !changes_[i].rule.key.empty()) unknown.insert(changes_[i].rule.listener);
    if (unknown.empty()) return {};
    return add_silent_rules(line_, std::vector<ListenerId>(unknown.begin(), unknown.end()));
  }

  void fail_unknown(const Result<>& why) {
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if (!known(i)) results_[i] = fail(why.error());
  }

  Failure not_there(std::size_t i) const {
    const RuleRef& rule = changes_[i].rule;
    if (rule.key.empty()) return fail(Code::not_found, "there is no listener {}", rule.listener);
    return fail(Code::not_found, "listener {} is gone or has no rule {}", rule.listener,
                to_string(rule.key));
  }

  // Of entries that have not failed.
  void take(const Step& step, const Choose& choose) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (!results_[i]) continue;
      const std::optional<KnownRule> rule = known(i);
      if (!rule) {  // forgotten with another entry's failure
        results_[i] = fail(Code::conflict, "what became of listener {} must be looked at",
                           changes_[i].rule.listener);
        continue;
      }
      Part part{.entry = i};
      for (const WeightedTarget& target : choose(changes_[i], *rule))
        part.lines.push_back({changes_[i].rule.listener, rule->location, target});
      if (!part.lines.empty()) parts.push_back(std::move(part));
    }
    int calls_left = kMostCalls;
    write(step, parts, calls_left);
  }

  // All in one call; if some may be at fault, in halves.
  void write(const Step& step, Parts parts, int& calls_left) {
    if (parts.empty()) return;
    --calls_left;
    std::vector<TargetLine> lines;
    for (const Part& part : parts) lines.insert(lines.end(), part.lines.begin(), part.lines.end());
    std::vector<Answer> answers;
    for (const wire::Object& body : step.bodies(line_.lb(), lines)) {
      Result<Answer> answer = line_.write(step.action, body);
      if (answer) {
        answers.push_back(std::move(*answer));
        continue;
      }
      // Which of them the calls before were about is not told apart.
      if (!answers.empty())
        for (const Part& part : parts) changed_[part.entry] = true;
      const bool may_be_some = parts.size() > 1 && may_concern_some(answer.error());
      if (may_be_some && calls_left > 0) {
        write(step, parts.first(parts.size() / 2), calls_left);
        write(step, parts.subspan(parts.size() / 2), calls_left);
        return;
      }
      const Error error = may_be_some ? refused_together(answer.error()) : answer.error();
      for (const Part& part : parts) give_up(step, part, error);
      return;
    }
    for (const Part& part : parts) confirm(step, part, answers);
  }

  void confirm(const Step& step, const Part& part, const std::vector<Answer>& answers) {
    const RuleRef& rule = changes_[part.entry].rule;
    for (const Answer& answer : answers) {
      const auto failed = decode_texts(answer.response, "/FailListenerIdSet");
      if (std::ranges::find(failed, rule.listener.value) == failed.end()) continue;
      if (answers.size() > 1) changed_[part.entry] = true;
      Error error = failure_of(wire::string_at(answer.response, "/Message"), answer.request_id);
      return give_up(step, part, std::move(error).about(std::string(step.action)));
    }
    changed_[part.entry] = true;
    for (const TargetLine& line : part.lines)
      step.confirm(line_.book, line_.place.lb, rule, line.target);
  }

  // An entry that is half done must be looked at, whatever kept the rest of it.
  void give_up(const Step& step, const Part& part, const Error& error) {
    const bool may_book_be_wrong = step.relies_on_book && error.code == Code::invalid;
    results_[part.entry] =
        fail(changed_[part.entry] || may_book_be_wrong ? in_doubt(error) : error);
    line_.book.forget(line_.place.lb, changes_[part.entry].rule.listener);
  }

  const Line& line_;
  const std::span<const TargetChange> changes_;
  std::vector<Result<>> results_;
  std::vector<bool> changed_;  // a call about the entry was done
};

}  // namespace

std::vector<Result<>> change_targets(const Line& line, std::span<const TargetChange> changes) {
  return TargetRound(line, changes).run();
}

}  // namespace berth::cloud::tencent
