// The parser's token handling and error state.
#include "syntax/parser.h"

#include <fmt/format.h>

namespace ullage::syntax {

Parser::Parser(std::string_view text, std::string file, uint32_t first_line)
    : file_(std::move(file)), lexer_(text, first_line), module_(std::make_unique<Module>()) {
  module_->file = file_;
}

Parser::Nesting::Nesting(Parser& parser, int limit) : parser_(parser) {
  if (++parser_.nesting_ > limit)
    parser_.fail(parser_.token_.at, fmt::format("nested more than {} deep", limit));
}

void Parser::fail(Position at, std::string message, std::string help) {
  if (failed_) return;
  failed_ = true;
  diagnostics_.push_back(error(std::move(message), range(at), std::move(help)));
  token_.kind = Tok::end;
  token_.text = {};
}

void Parser::fail_note(Position at, std::string message, std::string note, Position note_at) {
  if (failed_) return;
  fail(at, std::move(message));
  diagnostics_.back().notes.push_back({Severity::note, std::move(note), range(note_at), {}});
}

void Parser::advance() {
  if (failed_) return;
  previous_end_ = token_.offset + token_.text.size();
  token_ = lexer_.next();
  if (token_.kind == Tok::error) fail(token_.at, std::string(token_.text));
}

bool Parser::accept(Tok kind) {
  if (token_.kind != kind || failed_) return false;
  advance();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

void Parser::expect(Tok kind, std::string_view what) {
  if (!accept(kind)) unexpected(what);
}

void Parser::expect_word(std::string_view word) {
  if (!accept_word(word)) unexpected(fmt::format("'{}'", word));
}

void Parser::unexpected(std::string_view wanted) {
  if (failed_) return;
  if (token_.kind == Tok::end) {
    fail(token_.at, fmt::format("expected {}, but the text ends here", wanted));
    return;
  }
  constexpr size_t kMostShown = 40;
  std::string shown(token_.text.substr(0, kMostShown));
  if (token_.text.size() > kMostShown) shown += "...";
  fail(token_.at, fmt::format("expected {}, found '{}'", wanted, shown));
}

}  // namespace ullage::syntax
