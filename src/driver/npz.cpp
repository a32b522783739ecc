// The .npz part of npy.h: a zip archive of .npy files (PKWARE's APPNOTE 6.3, without zip64).
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "driver/npy.h"
#include "driver/npy_header.h"
#include "support/file.h"

namespace ullage {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50,
                   kDirectoryEnd = 0x06054b50;
constexpr size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22;
constexpr uint32_t kZip64 = 0xffffffff;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint64_t kDeflateMaxRatio = 1032;  // no deflate stream expands further

Diagnostic bad(std::string_view name, std::string_view what) {
  return error(fmt::format("'{}': {}", name, what));
}

// Little-endian fields at fixed offsets of a record that is known to be inside the file.
uint16_t u16(std::span<const std::byte> record, size_t at) {
  return static_cast<uint16_t>(static_cast<unsigned>(record[at]) |
                               static_cast<unsigned>(record[at + 1]) << 8);
}
uint32_t u32(std::span<const std::byte> record, size_t at) {
  return u16(record, at) | static_cast<uint32_t>(u16(record, at + 2)) << 16;
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// The end-of-directory record: the last one whose comment reaches exactly to the end of the file.
std::optional<size_t> find_directory_end(std::span<const std::byte> file) {
  if (file.size() < kEndSize) return {};
  size_t last = file.size() - kEndSize;
  size_t first = last > 0xffff ? last - 0xffff : 0;
  for (size_t at = last + 1; at-- > first;)
    if (u32(file, at) == kDirectoryEnd && at + kEndSize + u16(file, at + 20) == file.size())
      return at;
  return {};
}

Result<std::vector<std::byte>> inflate_member(std::span<const std::byte> data, size_t size,
                                              const std::string& name) {
  if (size > kDeflateMaxRatio * data.size() + 64)
    return bad(name, "its size in the archive's directory is impossible");
  std::vector<std::byte> out(size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return bad(name, "zlib could not be started");
  // Sizes fit zlib's 32-bit counters, since an archive without zip64 has no larger members.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(size);
  int code = inflate(&stream, Z_FINISH);
  bool complete = code == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!complete) return bad(name, "its compressed data is damaged");
  return out;
}

Result<NpyArray> read_member(std::span<const std::byte> file, std::span<const std::byte> entry,
                             const std::string& path, const std::string& member) {
  std::string name = path + ":" + member;
  uint16_t flags = u16(entry, 8), method = u16(entry, 10);
  uint32_t crc = u32(entry, 16), packed = u32(entry, 20), size = u32(entry, 24),
           offset = u32(entry, 42);
  if (flags & 1) return bad(name, "encrypted members are not supported");
  if (packed == kZip64 || size == kZip64 || offset == kZip64)
    return bad(name, "zip64 archives are not supported");
  if (method != kStored && method != kDeflated)
    return bad(name, fmt::format("compression method {} is not supported", method));
  if (offset > file.size() || file.size() - offset < kLocalSize ||
      u32(file, offset) != kLocalHeader)
    return bad(name, "the archive is damaged");
  std::span<const std::byte> local = file.subspan(offset);
  size_t begin = kLocalSize + u16(local, 26) + u16(local, 28);
  if (begin > local.size() || local.size() - begin < packed)
    return bad(name, "the archive is cut off");
  std::span<const std::byte> data = local.subspan(begin, packed);
  if (method == kStored && packed != size) return bad(name, "the archive is damaged");

  std::vector<std::byte> inflated;
  if (method == kDeflated) {
    Result<std::vector<std::byte>> result = inflate_member(data, size, name);
    if (!result.ok()) return result.diagnostics();
    inflated = std::move(*result);
    data = inflated;
  }
  if (crc_of(data) != crc) return bad(name, "its checksum is wrong");
  Result<NpyArray> array = read_npy(data, std::move(name));
  if (!array.ok()) return array.diagnostics();
  array->name = member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member;
  array->inflated = std::move(inflated);
  return array;
}

// Appends little-endian fields.
struct RecordWriter {
  std::vector<std::byte> bytes;
  RecordWriter& u16(uint32_t value) {
    bytes.push_back(static_cast<std::byte>(value));
    bytes.push_back(static_cast<std::byte>(value >> 8));
    return *this;
  }
  RecordWriter& u32(uint64_t value) {
    return u16(static_cast<uint32_t>(value & 0xffff))
        .u16(static_cast<uint32_t>(value >> 16 & 0xffff));
  }
  RecordWriter& text(std::string_view value) {
    std::span<const std::byte> raw = std::as_bytes(std::span(value));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    return *this;
  }
};

constexpr uint32_t kVersionNeeded = 20,
                   kDosDate = 33;  // 1 January 1980: archives do not depend on the clock

}  // namespace

Result<std::vector<NpyArray>> read_npz(std::span<const std::byte> file, std::string_view name) {
  std::optional<size_t> end = find_directory_end(file);
  if (!end) return bad(name, "not an .npz archive, or cut off");
  std::span<const std::byte> record = file.subspan(*end);
  size_t count = u16(record, 10), size = u32(record, 12), offset = u32(record, 16);
  if (count == 0xffff || offset == kZip64) return bad(name, "zip64 archives are not supported");
  if (offset > *end || *end - offset < size) return bad(name, "the archive's directory is damaged");
  std::span<const std::byte> directory = file.subspan(offset, size);
  std::vector<NpyArray> out;
  for (size_t i = 0; i < count; ++i) {
    if (directory.size() < kEntrySize || u32(directory, 0) != kDirectoryEntry)
      return bad(name, "the archive's directory is damaged");
    size_t name_size = u16(directory, 28);
    size_t entry_size = kEntrySize + name_size + u16(directory, 30) + u16(directory, 32);
    if (directory.size() < entry_size) return bad(name, "the archive's directory is damaged");
    std::string member(reinterpret_cast<const char*>(directory.data()) + kEntrySize, name_size);
    Result<NpyArray> array = read_member(file, directory, std::string(name), member);
    if (!array.ok()) return array.diagnostics();
    out.push_back(std::move(*array));
    directory = directory.subspan(entry_size);
  }
  return out;
}

Status write_npy(const std::string& path, const NamedArray& array) {
  std::string header = npy_header(array.type);
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(header)), array.bytes};
  return write_file(path, pieces);
}

Status write_npz(const std::string& path, std::span<const NamedArray> arrays) {
  // Everything but the elements is written into records first; the elements themselves are not
  // copied.
  std::vector<std::vector<std::byte>> records;
  records.reserve(arrays.size() + 1);
  std::vector<std::span<const std::byte>> pieces;
  RecordWriter directory;
  uint64_t offset = 0;
  for (const NamedArray& array : arrays) {
    std::string header = npy_header(array.type);
    std::string member = array.name + ".npy";
    uint64_t size = header.size() + array.bytes.size();
    uint64_t end = offset + kLocalSize + member.size() + size;
    if (end >= kZip64 || arrays.size() >= 0xffff)
      return error(
          fmt::format("cannot write '{}': it would need zip64, which is not supported", path), {},
          "write fewer or smaller arrays, or .npy files");
    uint32_t crc = crc_of(std::as_bytes(std::span(header)));
    crc = static_cast<uint32_t>(
        crc32_combine(crc, crc_of(array.bytes), static_cast<z_off_t>(array.bytes.size())));
    RecordWriter local;
    local.u32(kLocalHeader).u16(kVersionNeeded).u16(0).u16(kStored).u16(0).u16(kDosDate);
    local.u32(crc)
        .u32(size)
        .u32(size)
        .u16(static_cast<uint32_t>(member.size()))
        .u16(0)
        .text(member)
        .text(header);
    directory.u32(kDirectoryEntry)
        .u16(kVersionNeeded)
        .u16(kVersionNeeded)
        .u16(0)
        .u16(kStored)
        .u16(0)
        .u16(kDosDate);
    directory.u32(crc)
        .u32(size)
        .u32(size)
        .u16(static_cast<uint32_t>(member.size()))
        .u16(0)
        .u16(0)
        .u16(0)
        .u16(0);
    directory.u32(0).u32(offset).text(member);
    records.push_back(std::move(local.bytes));
    pieces.push_back(records.back());
    pieces.push_back(array.bytes);
    offset = end;
  }
  uint64_t directory_size = directory.bytes.size();
  directory.u32(kDirectoryEnd).u16(0).u16(0);
  directory.u16(static_cast<uint32_t>(arrays.size())).u16(static_cast<uint32_t>(arrays.size()));
  directory.u32(directory_size).u32(offset).u16(0);
  pieces.push_back(directory.bytes);
  return write_file(path, pieces);
}

}  // namespace ullage
