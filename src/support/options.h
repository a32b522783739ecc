// The one option registry. A row of options.def gives an option's name, kind, default, group and
// help; the command line, the environment variable ULLAGE_FLAGS, the API and the generated page
// docs/reference/options.md are all served from it. A value on the command line wins over the same
// option in ULLAGE_FLAGS. Parsing checks every value, so that what reads an Options object later
// meets valid values only. Called by the `ullage` command and the API; read by the driver.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace ullage {

enum class OptionKind : uint8_t {
  flag,    // --json
  count,   // a whole number from 1 up
  size,    // bytes, see parse_size
  text,    // any non-empty text
  choice,  // one of a few words
  list,    // non-empty texts separated by commas; the option may be repeated
};

enum class Opt : uint8_t {
#define ULLAGE_OPTION(id, ...) id,
#include "support/options.def"
#undef ULLAGE_OPTION
};

struct OptionInfo {
  Opt id;
  std::string_view name;  // as on the command line, without the leading "--"
  OptionKind kind;
  std::string_view
      value;  // name of the value in help texts; of a choice, its words separated by '|'
  std::string_view default_value;  // empty for none
  std::string_view verbs;          // separated by spaces
  std::string_view group;
  std::string_view help;
};

// All options, in the order of options.def.
std::span<const OptionInfo> option_registry();
const OptionInfo& option_info(Opt id);
bool applies_to(const OptionInfo& option, std::string_view verb);

// The values in force: given ones, else defaults.
class Options {
 public:
  Options();

  bool given(Opt id)
      const;  // by the user, whether on the command line, in the environment or through set()
  bool flag(Opt id) const;
  std::optional<int64_t> number(Opt id) const;  // of a count or a size
  std::string text(Opt id) const;               // of a text or a choice; empty for none
  const std::vector<std::string>& list(Opt id) const;

  // Sets an option from text, as the API does. Replaces a value set before.
  Status set(Opt id, std::string_view value);

 private:
  struct Slot {
    bool given = false;
    int64_t number = 0;
    bool has_number = false;
    std::string text;
    std::vector<std::string> list;
  };
  Status store(const OptionInfo& option, std::string_view value, bool append);
  friend class OptionParser;
  std::vector<Slot> slots_;
};

struct CommandLine {
  std::string verb;  // the first word
  std::vector<std::string>
      operands;  // what is not an option; "-" is one, and everything after "--"
  Options options;
};

// `arguments` leaves out the program's own name. `flags` is the text of ULLAGE_FLAGS; options in it
// that the verb does not take are checked and otherwise left alone, since the variable serves all
// verbs. A verb must come first; whether it exists is the caller's business.
Result<CommandLine> parse_command_line(std::span<const std::string> arguments,
                                       std::string_view flags);

// ULLAGE_FLAGS as it was when first asked for.
const std::string& environment_flags();

// One line per option of the verb, for help texts.
std::string option_help(std::string_view verb);
// The page docs/reference/options.md.
std::string options_markdown();

}  // namespace ullage
