#include "driver/disabled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "driver/variants.h"
#include "normalize/normalize.h"

namespace ullage {

namespace {

constexpr std::string_view kMoves[] = {"split", "recompute"};

bool is_move(std::string_view name) {
  return std::find(std::begin(kMoves), std::end(kMoves), name) != std::end(kMoves);
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const NormalizePass& pass : normalize_passes()) out.push_back(pass.name);
  for (const ProgramForm& form : kProgramForms) out.push_back(form.name);
  out.insert(out.end(), std::begin(kMoves), std::end(kMoves));
  return out;
}

}  // namespace

Result<Disabled> Disabled::make(std::span<const std::string> words, const Module& module) {
  Disabled out;
  for (const std::string& word : words) {
    size_t at = word.find('@');
    Entry entry{word.substr(0, at), at == std::string::npos ? "" : word.substr(at + 1)};
    std::vector<std::string_view> known = names();
    if (std::find(known.begin(), known.end(), entry.name) == known.end())
      return error(fmt::format("--disable: there is no pass or move named \"{}\"", entry.name), {},
                   fmt::format("names: {}", fmt::join(known, ", ")));
    if (at != std::string::npos && entry.where.empty())
      return error(fmt::format("--disable: \"{}\" does not say where", word), {},
                   fmt::format("write {} or {}@WHERE", entry.name, entry.name));
    if (!entry.where.empty() && !is_move(entry.name) && !module.find(entry.where))
      return error(fmt::format("--disable: there is no function \"{}\" for the pass {}",
                               entry.where, entry.name),
                   {.file = module.file},
                   "passes are switched off by function, e.g. " + entry.name + "@main");
    out.entries_.push_back(std::move(entry));
  }
  return out;
}

bool Disabled::everywhere(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.name == name && entry.where.empty(); });
}

bool Disabled::in_function(std::string_view pass, std::string_view function) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.name == pass && (entry.where.empty() || entry.where == function);
  });
}

bool Disabled::at(std::string_view move, const LocationTable& locations, Location where) const {
  std::string line, label;
  for (const Entry& entry : entries_) {
    if (entry.name != move) continue;
    if (entry.where.empty()) return true;
    if (line.empty()) {
      line = locations.source(where).str();
      label = locations.label(where);
    }
    if (line.find(entry.where) != std::string::npos || label.find(entry.where) != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace ullage
