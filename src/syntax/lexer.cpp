#include "syntax/lexer.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ullage::syntax {

namespace {

enum : uint8_t { kBlank = 1, kDigit = 2, kLetter = 4, kNamePunctuation = 8, kHex = 16 };

constexpr std::array<uint8_t, 256> classes() {
  std::array<uint8_t, 256> table{};
  for (char c : {' ', '\t', '\r', '\n'}) table[static_cast<uint8_t>(c)] = kBlank;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = kDigit | kHex;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = kLetter;
  for (int c = 'a'; c <= 'f'; ++c) table[static_cast<size_t>(c)] |= kHex;
  for (int c = 'A'; c <= 'F'; ++c) table[static_cast<size_t>(c)] |= kHex;
  table['_'] = kLetter;
  table['$'] = table['.'] = kNamePunctuation;
  return table;
}
constexpr std::array<uint8_t, 256> kClasses = classes();

bool is(char c, uint8_t mask) {
  return (kClasses[static_cast<uint8_t>(c)] & mask) != 0;
}

}  // namespace

void Lexer::skip_blank() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++at_;
    } else if (is(c, kBlank)) {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

void Lexer::skip_to(size_t offset) {
  while (const void* found = std::memchr(text_.data() + at_, '\n', offset - at_)) {
    at_ = static_cast<size_t>(static_cast<const char*>(found) - text_.data()) + 1;
    ++line_;
    line_start_ = at_;
  }
  at_ = offset;
}

Token Lexer::make(Tok kind, size_t begin, size_t end) {
  at_ = end;
  return {kind,
          {line_, static_cast<uint32_t>(begin - line_start_ + 1)},
          begin,
          text_.substr(begin, end - begin)};
}

Token Lexer::wrong(size_t begin, std::string_view message) {
  Token token = make(Tok::error, begin, std::min(begin + 1, text_.size()));
  token.text = message;
  return token;
}

Token Lexer::number() {
  size_t begin = at_, end = at_;
  auto peek = [&](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  if (peek(end) == '0' && peek(end + 1) == 'x' && is(peek(end + 2), kHex)) {
    end += 2;
    while (is(peek(end), kHex)) ++end;
    return make(Tok::integer, begin, end);
  }
  while (is(peek(end), kDigit)) ++end;
  if (peek(end) != '.') return make(Tok::integer, begin, end);
  ++end;
  while (is(peek(end), kDigit)) ++end;
  if (peek(end) == 'e' || peek(end) == 'E') {
    size_t exponent = end + 1;
    if (peek(exponent) == '+' || peek(exponent) == '-') ++exponent;
    if (is(peek(exponent), kDigit)) {
      end = exponent;
      while (is(peek(end), kDigit)) ++end;
    }
  }
  return make(Tok::floating, begin, end);
}

Token Lexer::string(Tok kind, size_t begin) {
  size_t quote = begin + (kind == Tok::symbol ? 1 : 0);
  size_t at = quote + 1;
  while (true) {
    at = text_.find_first_of("\"\\\n", at);
    if (at == std::string_view::npos || text_[at] == '\n')
      return wrong(begin, "this string is not closed on its line");
    if (text_[at] == '"') return make(kind, begin, at + 1);
    at += 2;  // an escape: whatever follows belongs to it, as long as it is no line break
    if (at > text_.size() || text_[at - 1] == '\n')
      return wrong(begin, "this string is not closed on its line");
  }
}

// A sigil followed by a number or a name. `dashes` are allowed where MLIR allows them.
Token Lexer::name(Tok kind, bool dashes) {
  size_t begin = at_, end = at_ + 1;
  auto peek = [&] { return end < text_.size() ? text_[end] : '\0'; };
  if (is(peek(), kDigit)) {
    while (is(peek(), kDigit)) ++end;
    return make(kind, begin, end);
  }
  if (!is(peek(), kLetter | kNamePunctuation))
    return wrong(begin, "a name must follow this character");
  while (is(peek(), kLetter | kDigit | kNamePunctuation) || (dashes && peek() == '-')) {
    if (peek() == '-' && end + 1 < text_.size() && text_[end + 1] == '>') break;  // an arrow
    ++end;
  }
  return make(kind, begin, end);
}

Token Lexer::next() {
  skip_blank();
  if (at_ >= text_.size()) return make(Tok::end, text_.size(), text_.size());
  size_t begin = at_;
  char c = text_[begin];
  char after = begin + 1 < text_.size() ? text_[begin + 1] : '\0';
  if (is(c, kLetter)) {
    size_t end = begin + 1;
    while (end < text_.size() && is(text_[end], kLetter | kDigit | kNamePunctuation)) ++end;
    return make(Tok::word, begin, end);
  }
  if (is(c, kDigit)) return number();
  switch (c) {
    case '%':
      return name(Tok::value, true);
    case '#':
      return name(Tok::hash, false);
    case '!':
      return name(Tok::bang, false);
    case '^':
      return name(Tok::block, false);
    case '"':
      return string(Tok::string, begin);
    case '@':
      return after == '"' ? string(Tok::symbol, begin) : name(Tok::symbol, false);
    case '(':
      return make(Tok::left_paren, begin, begin + 1);
    case ')':
      return make(Tok::right_paren, begin, begin + 1);
    case '{':
      return make(Tok::left_brace, begin, begin + 1);
    case '}':
      return make(Tok::right_brace, begin, begin + 1);
    case '[':
      return make(Tok::left_bracket, begin, begin + 1);
    case ']':
      return make(Tok::right_bracket, begin, begin + 1);
    case '<':
      return make(Tok::less, begin, begin + 1);
    case '>':
      return make(Tok::greater, begin, begin + 1);
    case ',':
      return make(Tok::comma, begin, begin + 1);
    case ':':
      return after == ':' ? make(Tok::double_colon, begin, begin + 2)
                          : make(Tok::colon, begin, begin + 1);
    case '=':
      return make(Tok::equal, begin, begin + 1);
    case '-':
      return after == '>' ? make(Tok::arrow, begin, begin + 2) : make(Tok::minus, begin, begin + 1);
    case '+':
      return make(Tok::plus, begin, begin + 1);
    case '*':
      return make(Tok::star, begin, begin + 1);
    case '/':
      return make(Tok::slash, begin, begin + 1);
    case '?':
      return make(Tok::question, begin, begin + 1);
    case '|':
      return make(Tok::bar, begin, begin + 1);
    case '.':
      if (text_.substr(begin, 3) == "...") return make(Tok::ellipsis, begin, begin + 3);
      break;
    default:
      break;
  }
  return wrong(begin, "this character has no meaning here");
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string unescape(std::string_view quoted) {
  std::string_view body = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 >= body.size()) {
      out += body[i];
      continue;
    }
    char c = body[++i];
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (hex_digit(c) >= 0 && i + 1 < body.size() && hex_digit(body[i + 1]) >= 0) {
      out += static_cast<char>(hex_digit(c) * 16 + hex_digit(body[++i]));
    } else {
      out += c;
    }
  }
  return out;
}

std::string quote(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<uint8_t>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '"' || byte < 0x20 || byte >= 0x7F) {
      out += {'\\', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string symbol_text(std::string_view name) {
  bool bare = !name.empty() && !is(name[0], kDigit) &&
              std::all_of(name.begin(), name.end(),
                          [](char c) { return is(c, kLetter | kDigit | kNamePunctuation); });
  return "@" + (bare ? std::string(name) : quote(name));
}

std::string attribute_name_text(std::string_view name) {
  bool bare = !name.empty() && is(name[0], kLetter) &&
              std::all_of(name.begin(), name.end(),
                          [](char c) { return is(c, kLetter | kDigit | kNamePunctuation); });
  return bare ? std::string(name) : quote(name);
}

}  // namespace ullage::syntax
