// Cuts StableHLO text into tokens, on demand and without copying: a token's text is a view into the
// source. Lines and columns count from 1. Strings cannot span lines, so line breaks occur only
// between tokens, which keeps the tracking of positions cheap. Two callers look at raw characters
// instead of tokens: shapes ("8x?xf32") and dense constants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ullage::syntax {

struct Position {
  uint32_t line = 0;
  uint32_t column = 0;
};

enum class Tok : uint8_t {
  end,
  error,
  word,      // stablehlo.add, tensor, loc
  value,     // %name, without what follows '#'
  symbol,    // @name or @"name"
  block,     // ^bb0
  hash,      // #name: alias, dialect attribute, or result number
  bang,      // !name: alias or dialect type
  integer,   // decimal or hexadecimal, without sign
  floating,  // 1.0, 1.5e-3, without sign
  string,    // with its quotes
  left_paren,
  right_paren,
  left_brace,
  right_brace,
  left_bracket,
  right_bracket,
  less,
  greater,
  comma,
  colon,
  double_colon,
  equal,
  minus,
  plus,
  star,
  slash,
  question,
  arrow,
  bar,
  ellipsis,
};

struct Token {
  Tok kind = Tok::end;
  Position at;
  size_t offset = 0;      // of its first character
  std::string_view text;  // of Tok::error: what is wrong
};

class Lexer {
 public:
  Lexer(std::string_view text, uint32_t first_line) : text_(text), line_(first_line) {}

  Token next();

  // Raw access, from the end of the last token on.
  std::string_view text() const { return text_; }
  size_t offset() const { return at_; }
  Position position() const { return {line_, static_cast<uint32_t>(at_ - line_start_ + 1)}; }
  // Continues at `offset`, which must not lie before the current one; counts the lines in between.
  void skip_to(size_t offset);

 private:
  void skip_blank();
  Token make(Tok kind, size_t begin, size_t end);
  Token wrong(size_t begin, std::string_view message);
  Token number();
  Token string(Tok kind, size_t begin);
  Token name(Tok kind, bool dashes);

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
};

// The content of a string token: without quotes, escapes replaced.
std::string unescape(std::string_view quoted);
// The text as a string token, with quotes.
std::string quote(std::string_view text);
// @name, or @"name" where the name needs quotes.
std::string symbol_text(std::string_view name);
// The name of an attribute, with quotes where it needs them.
std::string attribute_name_text(std::string_view name);

}  // namespace ullage::syntax
