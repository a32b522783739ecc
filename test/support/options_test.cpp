#include "support/options.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace ullage {
namespace {

Result<CommandLine> parse(std::vector<std::string> words, std::string_view flags = "") {
  return parse_command_line(words, flags);
}

std::string message(std::vector<std::string> words, std::string_view flags = "") {
  Result<CommandLine> result = parse(std::move(words), flags);
  return result.ok() ? "accepted" : to_string(result.diagnostics());
}

TEST(Options, ReadsEveryKindInBothSpellings) {
  Result<CommandLine> line =
      parse({"run", "p.mlir", "--memory-budget=1.5GiB", "--repeat", "3", "--json", "--compare",
             "interpreter", "--input", "a.npy,b.npz", "--input=c.npy"});
  ASSERT_TRUE(line.ok()) << to_string(line.diagnostics());
  EXPECT_EQ(line->verb, "run");
  EXPECT_EQ(line->operands, std::vector<std::string>{"p.mlir"});
  EXPECT_EQ(line->options.number(Opt::memory_budget), int64_t{3} << 29);
  EXPECT_EQ(line->options.number(Opt::repeat), 3);
  EXPECT_TRUE(line->options.flag(Opt::json));
  EXPECT_EQ(line->options.text(Opt::compare), "interpreter");
  EXPECT_EQ(line->options.list(Opt::input), (std::vector<std::string>{"a.npy", "b.npz", "c.npy"}));
}

TEST(Options, DefaultsAreThereButNotGiven) {
  Result<CommandLine> line = parse({"run", "p.mlir"});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->options.number(Opt::repeat), 1);
  EXPECT_FALSE(line->options.given(Opt::repeat));
  EXPECT_EQ(line->options.number(Opt::memory_budget), std::nullopt);
  EXPECT_FALSE(line->options.flag(Opt::json));
}

TEST(Options, ADashAndWhatFollowsTwoDashesAreOperands) {
  Result<CommandLine> line = parse({"run", "-", "--json", "--", "--strange.mlir"});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->operands, (std::vector<std::string>{"-", "--strange.mlir"}));
}

TEST(Options, CommandLineWinsOverTheEnvironment) {
  Result<CommandLine> line =
      parse({"run", "p.mlir", "--memory-budget=1GiB"}, "--memory-budget=2GiB  --dump-dir='a dir'");
  ASSERT_TRUE(line.ok()) << to_string(line.diagnostics());
  EXPECT_EQ(line->options.number(Opt::memory_budget), int64_t{1} << 30);
  EXPECT_EQ(line->options.text(Opt::dump_dir), "a dir");
}

TEST(Options, AListOnTheCommandLineReplacesTheEnvironments) {
  Result<CommandLine> line = parse({"opt", "p.mlir", "--disable=hoist"}, "--disable=split,share");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->options.list(Opt::disable), std::vector<std::string>{"hoist"});
}

TEST(Options, TheEnvironmentServesAllVerbs) {
  EXPECT_EQ(message({"pack", "x.csv"}, "--memory-budget=2GiB"), "accepted");
}

TEST(Options, OneClearMessagePerMistake) {
  EXPECT_EQ(message({"run", "p", "--memory-budgte=1GiB"}),
            "error: unknown option --memory-budgte\n  help: did you mean --memory-budget?\n");
  EXPECT_EQ(message({"run", "p", "--xyzzy-plugh"}),
            "error: unknown option --xyzzy-plugh\n  help: 'ullage options' lists all options\n");
  EXPECT_EQ(message({"run", "p", "-j"}),
            "error: unknown option -j\n  help: options begin with two dashes\n");
  EXPECT_EQ(message({"run", "p", "--memory-budget=12XB"}),
            "error: --memory-budget: '12XB' is not a size\n  help: write a number and one of B, "
            "KiB, MiB, GiB, TiB, kB, "
            "MB, GB, TB, e.g. 1.5GiB\n");
  EXPECT_EQ(message({"run", "p", "--memory-budget=-1"}).substr(0, 38),
            "error: --memory-budget: '-1' is not a ");
  EXPECT_EQ(message({"run", "p", "--json", "--json"}),
            "error: --json is given twice\n  help: give it once\n");
  EXPECT_EQ(message({"run", "p", "--repeat"}),
            "error: --repeat needs a value\n  help: write --repeat N\n");
  EXPECT_EQ(message({"run", "p", "--repeat="}),
            "error: --repeat needs a value\n  help: write --repeat N\n");
  EXPECT_EQ(message({"run", "p", "--repeat", "--json"}),
            "error: --repeat needs a value\n  help: write --repeat N\n");
  EXPECT_EQ(message({"run", "p", "--repeat=0"}),
            "error: --repeat: '0' is not a whole number from 1 up\n");
  EXPECT_EQ(message({"run", "p", "--repeat=99999999999999999999"}),
            "error: --repeat: '99999999999999999999' is not a whole number from 1 up\n");
  EXPECT_EQ(message({"run", "p", "--json=yes"}),
            "error: --json takes no value\n  help: write --json\n");
  EXPECT_EQ(message({"run", "p", "--compare=xla"}),
            "error: --compare: 'xla' is not one of: interpreter\n");
  EXPECT_EQ(message({"opt", "p", "--passes=a,,b"}), "error: --passes: 'a,,b' has an empty item\n");
  EXPECT_EQ(message({"pack", "p", "--memory-budget=1"}),
            "error: --memory-budget does not apply to 'pack'\n  help: it is an option of 'run', "
            "'plan', 'opt'\n");
  EXPECT_EQ(message({}),
            "error: the first word must be a verb\n  help: 'ullage help' lists the verbs\n");
}

TEST(Options, MistakesInTheEnvironmentSayWhere) {
  EXPECT_EQ(message({"run", "p"}, "--repeat=x"),
            "error: --repeat: 'x' is not a whole number from 1 up (in ULLAGE_FLAGS)\n");
  EXPECT_EQ(message({"run", "p"}, "stray"), "error: 'stray' is not an option (in ULLAGE_FLAGS)\n");
  EXPECT_EQ(message({"run", "p"}, "--report='x"), "error: ULLAGE_FLAGS ends inside a ' quote\n");
}

TEST(Options, SetReplacesAndChecks) {
  Options options;
  ASSERT_TRUE(options.set(Opt::memory_budget, "4KiB").ok());
  EXPECT_EQ(options.number(Opt::memory_budget), 4096);
  EXPECT_FALSE(options.set(Opt::memory_budget, "lots").ok());
  EXPECT_EQ(options.number(Opt::memory_budget), 4096);
}

TEST(Options, RegistryIsConsistent) {
  std::set<std::string_view> names;
  std::string_view group;
  std::set<std::string_view> closed;
  for (const OptionInfo& option : option_registry()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name << " twice";
    EXPECT_EQ(&option_info(option.id), &option);
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_TRUE(option.help.ends_with('.')) << option.name;
    EXPECT_EQ(option.kind == OptionKind::flag, option.value.empty()) << option.name;
    if (option.group != group) {
      EXPECT_TRUE(closed.insert(option.group).second)
          << "group " << option.group << " in two places";
      group = option.group;
    }
  }
}

TEST(Options, ThePageIsUpToDate) {
  std::ifstream file(std::string(ULLAGE_SOURCE_DIR) + "/docs/reference/options.md");
  ASSERT_TRUE(file) << "docs/reference/options.md is missing";
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), options_markdown())
      << "run: ullage options --markdown > docs/reference/options.md";
}

}  // namespace
}  // namespace ullage
