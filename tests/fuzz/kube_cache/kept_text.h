// Decoders keep interned text for good. libFuzzer takes that for a leak, and would search all
// memory for it after every input that brings a new word.
#pragma once

extern "C" const char* __asan_default_options();  // NOLINT: the sanitizer's name
extern "C" __attribute__((used)) inline const char* __asan_default_options() {
  return "detect_leaks=0";
}
