#include "syntax/bytecode_container.h"

#include <fmt/format.h>

#include <array>

#include "syntax/bytecode.h"

namespace ullage::syntax {

namespace {

constexpr std::array<std::string_view, 9> kSectionNames = {
    "string",  "dialect",  "attribute and type", "attribute and type offset",
    "IR",      "resource", "resource offset",    "dialect version",
    "property"};
enum SectionId : uint8_t {
  kStrings = 0,
  kDialects = 1,
  kEntries = 2,
  kOffsets = 3,
  kResources = 5,
  kResourceOffsets = 6,
  kDialectVersion = 7,
  kProperties = 8,
};

Dialect dialect_from_name(std::string_view name) {
  if (name == "builtin") return Dialect::builtin;
  if (name == "vhlo") return Dialect::vhlo;
  if (name == "sdy") return Dialect::sdy;
  if (name == "stablehlo") return Dialect::stablehlo;
  return Dialect::other;
}

class ContainerReader {
 public:
  ContainerReader(std::string_view file, BytecodeFailure& failure)
      : file_(file), failure_(failure) {}

  BytecodeContainer run() {
    header();
    constexpr uint8_t kNeeded[] = {kStrings, kDialects, kEntries, kOffsets, kIrSection};
    for (uint8_t id : kNeeded)
      if (!failure_.failed && !seen_[id])
        failure_.set(file_.size(), fmt::format("expected the {} section, but the file ends here",
                                               kSectionNames[id]));
    if (!failure_.failed) strings();
    if (!failure_.failed) dialects();
    if (!failure_.failed) offsets();
    if (!failure_.failed && seen_[kProperties]) properties();
    out_.ir = sections_[kIrSection];
    return std::move(out_);
  }

 private:
  Cursor cursor(SectionId id) const {
    return Cursor(file_, sections_[id].begin, sections_[id].end, failure_);
  }

  void header() {
    Cursor c(file_, 0, file_.size(), failure_);
    if (c.bytes("the bytecode's magic number", kBytecodeMagic.size()) != kBytecodeMagic) {
      c.fail(0, "expected the magic number of MLIR bytecode");
      return;
    }
    const size_t at = c.offset();
    const uint64_t version = c.varint("the bytecode version");
    if (failure_.failed) return;
    constexpr uint64_t kVersion = 6;
    if (version != kVersion) {
      c.fail(at,
             fmt::format("MLIR bytecode of version {} is not supported, only version {}", version,
                         kVersion),
             "write it again with a newer exporter, for StableHLO 1.0.0 or newer");
      return;
    }
    out_.producer = c.zero_ended("the producer of this file");
    while (!c.done()) {
      const size_t begin = c.offset();
      Section section = read_section(c);
      if (failure_.failed) return;
      if (section.id >= sections_.size() || section.id == kDialectVersion) {
        c.fail(begin, fmt::format("unknown section {}", section.id));
        return;
      }
      if (seen_[section.id]) {
        c.fail(begin, fmt::format("a second {} section", kSectionNames[section.id]));
        return;
      }
      seen_[section.id] = true;
      sections_[section.id] = section.content;
    }
  }

  // Lengths come last string first, and count a terminating zero.
  void strings() {
    Cursor c = cursor(kStrings);
    const size_t count = c.count("the number of strings");
    out_.strings.resize(count);
    size_t end = sections_[kStrings].end;
    for (size_t i = count; i-- > 0 && !failure_.failed;) {
      const size_t at = c.offset();
      const uint64_t length = c.varint("the length of a string");
      if (failure_.failed) return;
      if (length == 0 || length > end - c.offset()) {
        c.fail(at, fmt::format("expected the length of a string, found {}", length));
        return;
      }
      end -= length;
      if (file_[end + length - 1] != '\0') {
        c.fail(end + length - 1, "expected the zero byte that ends a string");
        return;
      }
      out_.strings[i] = file_.substr(end, length - 1);
    }
    if (!failure_.failed && end != c.offset())
      c.fail(c.offset(),
             fmt::format("the strings take {} bytes less than their section", end - c.offset()));
  }

  std::string_view string(uint32_t index) const {
    return failure_.failed ? std::string_view() : out_.strings[index];
  }

  void dialects() {
    Cursor c = cursor(kDialects);
    const size_t count = c.count("the number of dialects");
    for (size_t i = 0; i < count && !failure_.failed; ++i) {
      bool has_version = false;
      BytecodeContainer::DialectName dialect;
      dialect.name =
          string(c.flagged_index("the name of a dialect", out_.strings.size(), has_version));
      dialect.dialect = dialect_from_name(dialect.name);
      out_.dialects.push_back(dialect);
      const size_t at = c.offset();
      if (has_version && read_section(c).id != kDialectVersion)
        c.fail(at, "expected the version of a dialect");
    }
    const size_t ops = c.count("the number of operation names");
    out_.ops.reserve(ops);
    while (!c.done()) {
      const uint32_t dialect = c.index("a dialect", out_.dialects.size());
      const size_t names = c.count("the number of operation names of a dialect");
      for (size_t i = 0; i < names && !failure_.failed; ++i) {
        bool registered = false;
        const size_t at = c.offset();
        const uint32_t name =
            c.flagged_index("the name of an operation", out_.strings.size(), registered);
        out_.ops.push_back({dialect, string(name), at});
      }
    }
    if (!failure_.failed && out_.ops.size() != ops)
      c.fail(sections_[kDialects].begin,
             fmt::format("expected {} operation names, found {}", ops, out_.ops.size()));
  }

  void offsets() {
    Cursor c = cursor(kOffsets);
    const size_t attributes = c.count("the number of attributes");
    const size_t types = c.count("the number of types");
    size_t at = sections_[kEntries].begin;
    entries(c, out_.attributes, attributes, at, "attribute");
    entries(c, out_.types, types, at, "type");
    c.expect_end("the offsets of attributes and types");
    if (!failure_.failed && at != sections_[kEntries].end)
      failure_.set(at, "expected the end of the attributes and types");
  }

  void entries(Cursor& c, std::vector<BytecodeContainer::Entry>& out, size_t count, size_t& at,
               std::string_view what) {
    out.reserve(count);
    while (!failure_.failed && out.size() < count) {
      const size_t begin = c.offset();
      const uint32_t dialect = c.index("a dialect", out_.dialects.size());
      const size_t group = c.count("the number of entries of a dialect");
      if (failure_.failed) return;
      if (group == 0 || group > count - out.size()) {
        c.fail(begin, fmt::format("expected at most {} {}s of this dialect, found {}",
                                  count - out.size(), what, group));
        return;
      }
      for (size_t i = 0; i < group && !failure_.failed; ++i) {
        BytecodeContainer::Entry entry;
        const size_t here = c.offset();
        const uint64_t size = c.flagged("the size of an entry", entry.custom);
        if (size > sections_[kEntries].end - at || size > UINT32_MAX) {
          c.fail(here, fmt::format("this {} of {} bytes does not fit the section", what, size));
          return;
        }
        entry.begin = at;
        entry.size = static_cast<uint32_t>(size);
        entry.dialect = out_.dialects[dialect].dialect;
        out.push_back(entry);
        at += entry.size;
      }
    }
  }

  void properties() {
    Cursor c = cursor(kProperties);
    const size_t count = c.count("the number of properties");
    out_.properties.reserve(count);
    for (size_t i = 0; i < count && !failure_.failed; ++i) {
      const size_t size = c.count("the size of properties");
      const size_t begin = c.offset();
      c.bytes("properties", size);
      out_.properties.push_back({begin, begin + size});
    }
    c.expect_end("the properties");
  }

  std::string_view file_;
  BytecodeFailure& failure_;
  BytecodeContainer out_;
  std::array<ByteRange, kSectionNames.size()> sections_;
  std::array<bool, kSectionNames.size()> seen_{};
};

}  // namespace

Section read_section(Cursor& c) {
  constexpr uint8_t kAligned = 0x80, kPadding = 0xCB;
  Section out;
  const uint8_t head = c.byte("a section");
  out.id = head & 0x7F;
  const size_t at = c.offset();
  const uint64_t length = c.varint("the length of a section");
  if (head & kAligned) {
    const size_t here = c.offset();
    const uint64_t alignment = c.varint("the alignment of a section");
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > (1u << 20)) {
      c.fail(here, fmt::format("expected an alignment, found {}", alignment));
      return out;
    }
    while (!c.done() && c.offset() % alignment != 0) {
      const size_t padding = c.offset();
      if (c.byte("padding") == kPadding) continue;
      c.fail(padding, fmt::format("expected padding bytes 0x{:X} before a section", kPadding));
      return out;
    }
  }
  if (length > c.remaining()) {
    c.fail(at, fmt::format("expected a section of {} bytes, but only {} are left", length,
                           c.remaining()));
    return out;
  }
  out.content.begin = c.offset();
  c.bytes("a section", length);
  out.content.end = c.offset();
  return out;
}

BytecodeContainer read_container(std::string_view file, BytecodeFailure& failure) {
  return ContainerReader(file, failure).run();
}

}  // namespace ullage::syntax
