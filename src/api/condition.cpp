#include "api/condition.h"

namespace berth::api {

template <>
std::span<const Field> fields_of<Condition>() {
  using C = Condition;
  static constexpr Field f[] = {
      field<&C::type>("type", "What the condition is about.", {.max_len = 316, .required = true}),
      field<&C::status>("status", "Whether it holds.",
                        {.choices = "True|False|Unknown", .required = true}),
      field<&C::reason>("reason", "One word for programs.", {.max_len = 1024}),
      field<&C::message>("message", "A sentence for people.", {.max_len = 32768}),
      field<&C::last_transition_time>("lastTransitionTime", "When the status changed.",
                                      {.max_len = 64}),
  };
  static_assert(covers<Condition>(f));
  return f;
}

}  // namespace berth::api
