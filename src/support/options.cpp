#include "support/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "support/check.h"
#include "support/size.h"

namespace ullage {
namespace {

constexpr std::string_view kSizeHelp =
    "write a number and one of B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, e.g. 1.5GiB";

constexpr OptionInfo kRegistry[] = {
#define ULLAGE_OPTION(id, name, kind, value, default_value, verbs, group, help) \
  {Opt::id, name, OptionKind::kind, value, default_value, verbs, group, help},
#include "support/options.def"
#undef ULLAGE_OPTION
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Levenshtein distance, to guess what a misspelt option meant.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

const OptionInfo* find_option(std::string_view name) {
  for (const OptionInfo& option : kRegistry)
    if (option.name == name) return &option;
  return nullptr;
}

Diagnostic unknown_option(std::string_view name, const std::string& origin) {
  const OptionInfo* nearest = nullptr;
  size_t best = name.size() / 3 + 2;  // further away is no misspelling
  for (const OptionInfo& option : kRegistry) {
    size_t distance = edit_distance(name, option.name);
    if (distance < best) {
      best = distance;
      nearest = &option;
    }
  }
  return error(fmt::format("unknown option --{}{}", name, origin), {},
               nearest ? fmt::format("did you mean --{}?", nearest->name)
                       : std::string("'ullage options' lists all options"));
}

std::string spaced_list(std::string_view words) {
  std::string out;
  for (std::string_view word : split(words, ' '))
    out += (out.empty() ? "'" : ", '") + std::string(word) + "'";
  return out;
}

// Splits ULLAGE_FLAGS as a shell would: at blanks, with '...' and "..." and backslash.
Result<std::vector<std::string>> split_flags(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool blank = c == ' ' || c == '\t' || c == '\n';
    if (!quote && blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = 0;
    } else if (!quote && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote) return error(fmt::format("ULLAGE_FLAGS ends inside a {} quote", quote));
  return words;
}

std::string usage(const OptionInfo& option) {
  std::string out = fmt::format("--{}", option.name);
  if (option.kind != OptionKind::flag) out += fmt::format(" {}", option.value);
  return out;
}

}  // namespace

std::span<const OptionInfo> option_registry() {
  return kRegistry;
}

const OptionInfo& option_info(Opt id) {
  return kRegistry[static_cast<size_t>(id)];
}

bool applies_to(const OptionInfo& option, std::string_view verb) {
  std::vector<std::string_view> verbs = split(option.verbs, ' ');
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

Options::Options() : slots_(std::size(kRegistry)) {
  for (const OptionInfo& option : kRegistry) {
    if (option.default_value.empty()) continue;
    Status status = store(option, option.default_value, false);
    ULLAGE_CHECK(status.ok(), fmt::format("default of --{}", option.name));
    slots_[static_cast<size_t>(option.id)].given = false;
  }
}

bool Options::given(Opt id) const {
  return slots_[static_cast<size_t>(id)].given;
}

bool Options::flag(Opt id) const {
  ULLAGE_CHECK(option_info(id).kind == OptionKind::flag, std::string(option_info(id).name));
  return given(id);
}

std::optional<int64_t> Options::number(Opt id) const {
  OptionKind kind = option_info(id).kind;
  ULLAGE_CHECK(kind == OptionKind::count || kind == OptionKind::size,
               std::string(option_info(id).name));
  const Slot& slot = slots_[static_cast<size_t>(id)];
  if (!slot.has_number) return {};
  return slot.number;
}

std::string Options::text(Opt id) const {
  OptionKind kind = option_info(id).kind;
  ULLAGE_CHECK(kind == OptionKind::text || kind == OptionKind::choice,
               std::string(option_info(id).name));
  return slots_[static_cast<size_t>(id)].text;
}

const std::vector<std::string>& Options::list(Opt id) const {
  ULLAGE_CHECK(option_info(id).kind == OptionKind::list, std::string(option_info(id).name));
  return slots_[static_cast<size_t>(id)].list;
}

Status Options::set(Opt id, std::string_view value) {
  return store(option_info(id), value, false);
}

Status Options::store(const OptionInfo& option, std::string_view value, bool append) {
  Slot& slot = slots_[static_cast<size_t>(option.id)];
  auto bad = [&](std::string_view what, std::string_view help) {
    return Status(
        error(fmt::format("--{}: '{}' {}", option.name, value, what), {}, std::string(help)));
  };
  switch (option.kind) {
    case OptionKind::flag:
      break;
    case OptionKind::count: {
      int64_t number = 0;
      auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (code != std::errc() || end != value.data() + value.size() || number < 1)
        return bad("is not a whole number from 1 up", "");
      slot.number = number;
      slot.has_number = true;
      break;
    }
    case OptionKind::size: {
      std::optional<int64_t> bytes = parse_size(value);
      if (!bytes) return bad("is not a size", kSizeHelp);
      slot.number = *bytes;
      slot.has_number = true;
      break;
    }
    case OptionKind::text:
      if (value.empty()) return bad("is empty", "");
      slot.text = value;
      break;
    case OptionKind::choice: {
      std::vector<std::string_view> words = split(option.value, '|');
      if (std::find(words.begin(), words.end(), value) == words.end())
        return bad(fmt::format("is not one of: {}", fmt::join(words, ", ")), "");
      slot.text = value;
      break;
    }
    case OptionKind::list: {
      std::vector<std::string_view> items = split(value, ',');
      if (std::find(items.begin(), items.end(), "") != items.end())
        return bad("has an empty item", "");
      if (!append) slot.list.clear();
      slot.list.insert(slot.list.end(), items.begin(), items.end());
      break;
    }
  }
  slot.given = true;
  return Ok{};
}

// Reads options from one source after another into one Options object.
class OptionParser {
 public:
  explicit OptionParser(CommandLine& out) : out_(out) {}

  // `origin` ends the messages about this source. Without a verb (ULLAGE_FLAGS) operands are not
  // allowed and options are not tied to a verb.
  Status read(std::span<const std::string> words, const std::string& origin, bool has_verb) {
    std::vector<bool> seen(option_registry().size());
    bool only_operands = false;
    for (size_t i = 0; i < words.size(); ++i) {
      std::string_view word = words[i];
      if (only_operands || word == "-" || !word.starts_with("-")) {
        if (!has_verb) return error(fmt::format("'{}' is not an option{}", word, origin));
        out_.operands.emplace_back(word);
        continue;
      }
      if (word == "--") {
        only_operands = true;
        continue;
      }
      if (!word.starts_with("--"))
        return error(fmt::format("unknown option {}{}", word, origin), {},
                     "options begin with two dashes");
      size_t equals = word.find('=');
      std::string_view name =
          word.substr(2, equals == std::string_view::npos ? equals : equals - 2);
      const OptionInfo* option = find_option(name);
      if (!option) return unknown_option(name, origin);
      if (has_verb && !applies_to(*option, out_.verb))
        return error(fmt::format("--{} does not apply to '{}'", name, out_.verb), {},
                     fmt::format("it is an option of {}", spaced_list(option->verbs)));
      auto index = static_cast<size_t>(option->id);
      bool repeated = seen[index];
      if (repeated && option->kind != OptionKind::list)
        return error(fmt::format("--{} is given twice{}", name, origin), {}, "give it once");
      seen[index] = true;

      std::string_view value;
      if (option->kind == OptionKind::flag) {
        if (equals != std::string_view::npos)
          return error(fmt::format("--{} takes no value{}", name, origin), {},
                       fmt::format("write --{}", name));
      } else if (equals != std::string_view::npos) {
        value = word.substr(equals + 1);
      } else if (i + 1 < words.size() && !std::string_view(words[i + 1]).starts_with("--")) {
        value = words[++i];
      } else {
        return error(fmt::format("--{} needs a value{}", name, origin), {},
                     fmt::format("write {}", usage(*option)));
      }
      if (value.empty() && option->kind != OptionKind::flag)
        return error(fmt::format("--{} needs a value{}", name, origin), {},
                     fmt::format("write {}", usage(*option)));
      Status status = out_.options.store(*option, value, repeated);
      if (!status.ok()) {
        Diagnostic diagnostic = status.diagnostics().front();
        diagnostic.message += origin;
        return diagnostic;
      }
    }
    return Ok{};
  }

 private:
  CommandLine& out_;
};

Result<CommandLine> parse_command_line(std::span<const std::string> arguments,
                                       std::string_view flags) {
  CommandLine out;
  if (arguments.empty() || arguments.front().starts_with("-"))
    return error("the first word must be a verb", {}, "'ullage help' lists the verbs");
  out.verb = arguments.front();
  OptionParser parser(out);
  Result<std::vector<std::string>> words = split_flags(flags);
  if (!words.ok()) return words.diagnostics();
  if (Status status = parser.read(*words, " (in ULLAGE_FLAGS)", false); !status.ok())
    return status.diagnostics();
  if (Status status = parser.read(arguments.subspan(1), "", true); !status.ok())
    return status.diagnostics();
  return out;
}

const std::string& environment_flags() {
  static const std::string flags = [] {
    const char* text = std::getenv("ULLAGE_FLAGS");
    return std::string(text ? text : "");
  }();
  return flags;
}

std::string option_help(std::string_view verb) {
  std::string out;
  for (const OptionInfo& option : kRegistry) {
    if (!applies_to(option, verb)) continue;
    out += fmt::format("  {:<32} {}", usage(option), option.help);
    if (!option.default_value.empty()) out += fmt::format(" Default: {}.", option.default_value);
    out += "\n";
  }
  return out;
}

std::string options_markdown() {
  std::string out =
      "# Options\n\n"
      "Written by `ullage options --markdown` from `src/support/options.def`; do not edit by "
      "hand.\n\n"
      "An option is given on the command line after the verb, as `--name=VALUE` or `--name VALUE`, "
      "or in the environment\n"
      "variable `ULLAGE_FLAGS`, which is read once and serves all verbs. The command line wins "
      "over the variable.\n"
      "A SIZE is a number, a fraction if need be, with one of B, KiB, MiB, GiB, TiB, kB, MB, GB, "
      "TB or nothing (bytes).\n";
  std::string_view group;
  for (const OptionInfo& option : kRegistry) {
    if (option.group != group) {
      group = option.group;
      out += fmt::format(
          "\n## {}{}\n\n| option | verbs | default | meaning |\n| --- | --- | --- | --- |\n",
          static_cast<char>(group[0] - 'a' + 'A'), group.substr(1));
    }
    std::string shown = usage(option);
    for (size_t at = 0; (at = shown.find('|', at)) != std::string::npos; at += 2)
      shown.insert(at, "\\");
    std::string verbs(option.verbs);
    for (size_t at = 0; (at = verbs.find(' ', at)) != std::string::npos; at += 2)
      verbs.replace(at, 1, ", ");
    out +=
        fmt::format("| `{}` | {} | {} | {} |\n", shown, verbs, option.default_value, option.help);
  }
  return out;
}

}  // namespace ullage
