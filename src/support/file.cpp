#include "support/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ullage {
namespace {

Diagnostic system_error(std::string_view what, const std::string& path) {
  return error(fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
}

// Owns a file descriptor.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

FileBytes::FileBytes(FileBytes&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_size_(std::exchange(other.mapped_size_, 0)),
      owned_(std::move(other.owned_)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_size_, other.mapped_size_);
  std::swap(owned_, other.owned_);
  return *this;
}

FileBytes::~FileBytes() {
  if (mapped_) ::munmap(mapped_, mapped_size_);
}

Result<FileBytes> FileBytes::open(const std::string& path) {
  bool standard_input = path == "-";
  Descriptor file(standard_input ? ::dup(STDIN_FILENO)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) return system_error("open", path);
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) return system_error("open", path);
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return system_error("read", path);
  }
  FileBytes out;
  if (S_ISREG(info.st_mode) && !standard_input && info.st_size > 0) {
    out.mapped_size_ = static_cast<size_t>(info.st_size);
    void* mapped = ::mmap(nullptr, out.mapped_size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (mapped == MAP_FAILED) return system_error("map", path);
    out.mapped_ = mapped;
    return out;
  }
  std::vector<std::byte> chunk(1 << 16);
  while (true) {
    ssize_t count = ::read(file.fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", path);
    if (count == 0) return out;
    out.owned_.insert(out.owned_.end(), chunk.begin(), chunk.begin() + count);
  }
}

Status write_file(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  struct stat info{};
  bool direct = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  std::string target = direct ? path : fmt::format("{}.{}.tmp", path, ::getpid());
  Descriptor file(::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.fd < 0) return system_error("write", path);
  bool written = true;
  for (std::span<const std::byte> piece : pieces) written = written && write_all(file.fd, piece);
  if (written && (direct || std::rename(target.c_str(), path.c_str()) == 0)) return Ok{};
  Diagnostic diagnostic = system_error("write", path);
  if (!direct) ::unlink(target.c_str());
  return diagnostic;
}

Status write_file(const std::string& path, std::string_view text) {
  std::span<const std::byte> piece = std::as_bytes(std::span(text));
  return write_file(path, std::span(&piece, 1));
}

}  // namespace ullage
