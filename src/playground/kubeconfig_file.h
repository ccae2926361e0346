// The file in which kubectl finds the playground: locked for as long as it is in use, so that two
// playgrounds in one folder do not take it from each other, and removed at the end.
//
// The lock dies with its process: a file that a killed playground left is taken over. Owned by the
// Playground; one task at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::playground {

class KubeconfigFile {
 public:
  // The path itself; or, with `or_beside`, the first of "x.kubeconfig", "x-2.kubeconfig", ... that
  // is free. Never a file that is in use, nor one that no playground wrote.
  static Result<KubeconfigFile> claim(const std::string& path, bool or_beside);
  // Removes the file, if it is still the one that was claimed.
  ~KubeconfigFile();
  KubeconfigFile(KubeconfigFile&& other) noexcept;
  KubeconfigFile& operator=(KubeconfigFile&&) = delete;

  const std::string& path() const { return path_; }
  Result<> write(std::string_view content);

 private:
  KubeconfigFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  static Result<KubeconfigFile> claim_one(const std::string& path);

  std::string path_;
  int file_;  // -1: moved from
};

}  // namespace berth::playground
