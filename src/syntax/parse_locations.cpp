// Locations: loc(...) after operations and arguments, and aliases, which may be defined after their
// use. They are collected as trees while parsing and resolved once the whole text is known.
#include <fmt/format.h>

#include "syntax/parser.h"

namespace ullage::syntax {

Parser::LocationNode Parser::location_node() {
  Nesting nesting(*this);
  LocationNode node;
  node.at = token_.at;
  using Kind = LocationData::Kind;
  if (at(Tok::hash)) {
    node.alias = token_.text;
    advance();
    return node;
  }
  if (accept_word("unknown")) return node;
  if (accept_word("callsite")) {
    node.data.kind = Kind::callsite;
    expect(Tok::left_paren, "'('");
    node.children.push_back(location_node());
    expect_word("at");
    node.children.push_back(location_node());
    expect(Tok::right_paren, "')'");
    return node;
  }
  if (accept_word("fused")) {
    node.data.kind = Kind::fused;
    if (accept(Tok::less)) {
      AttrValue metadata = attribute();
      node.data.text = source_text(metadata);
      expect(Tok::greater, "'>'");
    }
    expect(Tok::left_bracket, "'['");
    list_until(Tok::right_bracket, "']'", [&] { node.children.push_back(location_node()); });
    return node;
  }
  if (at_word("loc")) {  // a nested loc(...) is the location itself
    advance();
    expect(Tok::left_paren, "'('");
    node = location_node();
    expect(Tok::right_paren, "')'");
    return node;
  }
  if (!at(Tok::string)) {
    unexpected("a location");
    return node;
  }
  node.data.text = unescape(token_.text);
  advance();
  auto number = [&]() -> uint32_t {
    Position where = token_.at;
    int64_t value = integer();
    if (!failed_ && (value < 0 || value > UINT32_MAX))
      fail(where, "this line or column number is out of range");
    return failed_ ? 0 : static_cast<uint32_t>(value);
  };
  if (accept(Tok::colon)) {
    node.data.kind = Kind::file;
    node.data.line = number();
    expect(Tok::colon, "':'");
    node.data.column = number();
    if (accept_word("to")) {
      node.data.end_line = at(Tok::integer) ? number() : node.data.line;
      expect(Tok::colon, "':'");
      node.data.end_column = number();
    }
    return node;
  }
  node.data.kind = Kind::name;
  if (accept(Tok::left_paren)) {
    node.children.push_back(location_node());
    expect(Tok::right_paren, "')'");
  }
  return node;
}

uint32_t Parser::location_reference() {
  expect_word("loc");
  expect(Tok::left_paren, "'('");
  auto index = static_cast<uint32_t>(location_nodes_.size());
  if (at(Tok::hash)) {
    auto [known, added] = alias_nodes_.try_emplace(token_.text, index);
    if (added) {
      LocationNode node;
      node.alias = token_.text;
      node.at = token_.at;
      location_nodes_.push_back(std::move(node));
    }
    index = known->second;
    advance();
  } else {
    location_nodes_.push_back(location_node());
  }
  expect(Tok::right_paren, "')'");
  return index;
}

// Where something without a location of its own stands in the text.
Location Parser::text_location(Position at) {
  LocationData data;
  data.kind = LocationData::Kind::file;
  data.text = file_;
  data.line = at.line;
  data.column = at.column;
  return module_->locations.add(std::move(data));
}

// Also places what stands inside the operation but can have no location in the text: the arguments
// of a loop, the body of a reduction that names the operation it applies.
void Parser::trailing_location(Op* op, Position at) {
  const bool given = at_word("loc");
  const uint32_t node = given ? location_reference() : 0;
  const Location here = given ? Location{} : text_location(at);
  auto place = [&](Op* placed) {
    if (given) {
      fixups_.push_back({placed, nullptr, nullptr, node});
      return;
    }
    placed->location = here;
    for (Value* result : placed->results()) result->location = here;
  };
  auto place_arguments = [&](const Region& region) {
    for (Value* value : region.arguments()) {
      if (given)
        fixups_.push_back({nullptr, value, nullptr, node});
      else
        value->location = here;
    }
  };
  place(op);
  if (op->kind == OpKind::while_ && unplaced_.contains(op))
    for (size_t i = 0; i < op->num_regions(); ++i) place_arguments(op->nested(i));
  if (op->kind == OpKind::reduce && unplaced_.contains(op)) {
    place_arguments(op->nested());
    for (Op* inner : op->nested()) place(inner);
  }
}

void Parser::trailing_location(Value* value, Position at) {
  if (at_word("loc"))
    fixups_.push_back({nullptr, value, nullptr, location_reference()});
  else
    value->location = text_location(at);
}

void Parser::trailing_location(Function* function, Position at) {
  if (at_word("loc"))
    fixups_.push_back({nullptr, nullptr, function, location_reference()});
  else
    function->location = text_location(at);
}

bool Parser::skip_location() {
  if (!at_word("loc")) return false;
  location_reference();
  return true;
}

Location Parser::resolve_alias(std::string_view name, Position at) {
  auto resolved = resolved_aliases_.find(name);
  if (resolved != resolved_aliases_.end()) {
    if (resolved->second) return *resolved->second;
    fail(at, fmt::format("the location '{}' contains itself", name));
    return {};
  }
  auto alias = location_aliases_.find(name);
  if (alias == location_aliases_.end()) {
    fail(at, fmt::format("unknown location '{}'", name),
         fmt::format("define it before or after the module: {} = loc(...)", name));
    return {};
  }
  resolved_aliases_[name] = std::nullopt;
  Location location = resolve(alias->second);
  resolved_aliases_[name] = location;
  return location;
}

Location Parser::resolve(const LocationNode& node) {
  Nesting nesting(*this, kMaxLocationNesting);
  if (failed_) return {};
  if (!node.alias.empty()) return resolve_alias(node.alias, node.at);
  LocationData data = node.data;
  uint64_t size = 1;
  for (const LocationNode& child : node.children) {
    Location location = resolve(child);
    if (failed_) return {};
    data.children.push_back(location);
    size += location.index < location_sizes_.size() ? location_sizes_[location.index] : 1;
  }
  if (size > kMaxExpandedLocation) {
    fail(node.at,
         fmt::format("this location expands to more than {} positions", kMaxExpandedLocation));
    return {};
  }
  Location location = module_->locations.add(std::move(data));
  if (location.index >= location_sizes_.size()) location_sizes_.resize(location.index + 1, 1);
  location_sizes_[location.index] = size;
  return location;
}

void Parser::resolve_locations() {
  std::vector<std::optional<Location>> done(location_nodes_.size());
  for (const Fixup& fixup : fixups_) {
    std::optional<Location>& location = done[fixup.node];
    if (!location) location = resolve(location_nodes_[fixup.node]);
    if (failed_) return;
    if (fixup.value) fixup.value->location = *location;
    if (fixup.function) fixup.function->location = *location;
    if (!fixup.op) continue;
    fixup.op->location = *location;
    for (Value* result : fixup.op->results()) result->location = *location;
  }
}

}  // namespace ullage::syntax
