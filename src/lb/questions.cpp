#include "lb/questions.h"

#include <algorithm>

namespace berth::lb {

bool answers(const ObservedListener& listener, const Question& question) {
  return (!question.id.empty() && listener.id == question.id) ||
         (!question.name.empty() && listener.spec.name == question.name) ||
         (question.ports.first != 0 && listener.spec.ports.overlaps(question.ports));
}

std::vector<ObservedListener> answers_among(std::vector<ObservedListener> all,
                                            std::span<const Question> questions) {
  std::erase_if(all, [&](const ObservedListener& listener) {
    return std::ranges::none_of(
        questions, [&](const Question& question) { return answers(listener, question); });
  });
  return all;
}

}  // namespace berth::lb
