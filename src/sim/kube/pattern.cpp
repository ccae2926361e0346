#include "sim/kube/pattern.h"

#include <boost/regex.hpp>
#include <stdexcept>

namespace berth::sim::kube {

struct Pattern::Compiled {
  boost::regex regex;
};

Result<Pattern> Pattern::compile(std::string text) {
  try {
    Pattern pattern;
    pattern.compiled_ = std::make_shared<const Compiled>(Compiled{boost::regex(text)});
    pattern.text_ = std::move(text);
    return pattern;
  } catch (const boost::regex_error& error) {
    return fail(Code::invalid, "error parsing regexp: {}", error.what());
  }
}

bool Pattern::matches(std::string_view text) const {
  try {
    return boost::regex_search(text.begin(), text.end(), compiled_->regex);
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace berth::sim::kube
