// Files as bytes: reading whole files without copying them, and writing a file so that it appears
// complete or not at all. Called by everything that reads what the user names on the command line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace ullage {

// The content of a file. A regular file is mapped, so pages are read as they are touched; a pipe,
// or "-" for standard input, is read to its end.
class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  ~FileBytes();

  static Result<FileBytes> open(const std::string& path);

  std::span<const std::byte> bytes() const {
    return mapped_ ? std::span(static_cast<const std::byte*>(mapped_), mapped_size_)
                   : std::span(owned_);
  }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes().data()), bytes().size()};
  }

 private:
  void* mapped_ = nullptr;
  size_t mapped_size_ = 0;
  std::vector<std::byte> owned_;
};

// Writes the pieces one after another under a temporary name in the same folder, then renames it to
// `path`. What is not a regular file (a pipe, /dev/stdout) is written directly.
Status write_file(const std::string& path, std::span<const std::span<const std::byte>> pieces);
Status write_file(const std::string& path, std::string_view text);

}  // namespace ullage
