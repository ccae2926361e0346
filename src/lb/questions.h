// Which listeners answer a question. Pure.
#pragma once

#include <span>
#include <vector>

#include "lb/listeners.h"

namespace berth::lb {

bool answers(const ObservedListener& listener, const Question& question);
// Of all listeners, those that answer one of the questions.
std::vector<ObservedListener> answers_among(std::vector<ObservedListener> all,
                                            std::span<const Question> questions);

}  // namespace berth::lb
