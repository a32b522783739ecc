// Locations: attributes of the table to the module's location table. Equal parts are shared on both
// sides, so each entry is read once.
#include <fmt/format.h>

#include "syntax/bytecode_reader.h"

namespace ullage::syntax {

Location BytecodeReader::location(uint32_t attribute) {
  if (failed()) return {};
  const uint32_t known = locations_[attribute];
  if (known < kReading) return {known};
  const size_t at = container_.attributes[attribute].begin;
  if (known == kReading) {
    fail(at, "this location contains itself");
    return {};
  }
  Nesting nesting(*this, at, kMaxLocationNesting);
  if (failed()) return {};
  locations_[attribute] = kReading;
  const Location read = read_location(attribute);
  locations_[attribute] = read.index;
  return read;
}

Location BytecodeReader::read_location(uint32_t attribute) {
  using Kind = LocationData::Kind;
  OpenAttr opened = open(attribute);
  Cursor& c = opened.fields;
  const AttrOwner owner{"location", "an operation"};
  LocationData data;
  uint32_t size = 1;
  auto child = [&] {
    const uint32_t index = attribute_index(c, "a location");
    data.children.push_back(failed() ? Location{} : location(index));
    const uint32_t part = data.children.back().index;
    size += part < location_sizes_.size() ? location_sizes_[part] : 1;
  };
  auto text_of = [&](std::string_view what) {
    const uint32_t index = attribute_index(c, what);
    if (!failed()) data.text = string(index, {what, "a location"});
  };
  auto number = [&](std::string_view what) {
    const size_t at = c.offset();
    const uint64_t value = c.varint(what);
    if (value > UINT32_MAX) fail(at, fmt::format("{} {} is out of range", what, value));
    return static_cast<uint32_t>(value);
  };
  switch (opened.kind) {
    case AttrKind::unknown_location:
      break;
    case AttrKind::file_location:
      data.kind = Kind::file;
      text_of("the file");
      data.line = number("a line");
      data.column = number("a column");
      break;
    case AttrKind::file_range: {
      data.kind = Kind::file;
      text_of("the file");
      const size_t at = c.offset();
      const size_t count = c.count("the number of lines and columns");
      if (count > 4) fail(at, fmt::format("expected up to 4 lines and columns, found {}", count));
      if (count > 0) data.line = number("a line");
      if (count > 1) data.column = number("a column");
      if (count > 3) data.end_line = number("the last line");
      if (count > 2) data.end_column = number("the last column");
      if (count == 3) data.end_line = data.line;
      break;
    }
    case AttrKind::name_location:
      data.kind = Kind::name;
      text_of("the name");
      child();
      if (data.children.back() == Location{}) data.children.clear();
      break;
    case AttrKind::callsite_location:
      data.kind = Kind::callsite;
      child();
      child();
      break;
    case AttrKind::fused_location:
    case AttrKind::fused_metadata_location: {
      data.kind = Kind::fused;
      const size_t count = c.count("the number of fused locations");
      for (size_t i = 0; i < count && !failed(); ++i) {
        child();
        if (size > kMaxExpandedLocation) break;
      }
      if (opened.kind == AttrKind::fused_metadata_location && size <= kMaxExpandedLocation) {
        const uint32_t metadata = attribute_index(c, "the metadata of a location");
        if (!failed()) data.text = text(metadata);
      }
      break;
    }
    default:
      if (!failed()) wrong_kind(opened, owner, "a location");
  }
  if (failed()) return {};
  if (size > kMaxExpandedLocation) {
    fail(opened.at,
         fmt::format("this location expands to more than {} positions", kMaxExpandedLocation));
    return {};
  }
  c.expect_end("this location");
  if (failed()) return {};
  const Location out = module_->locations.add(std::move(data));
  if (out.index >= location_sizes_.size()) location_sizes_.resize(out.index + 1, 1);
  location_sizes_[out.index] = size;
  return out;
}

}  // namespace ullage::syntax
