// The `ullage` command: finds the verb, reads the options, runs the verb, and turns what escapes
// into a reproducer.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "support/file.h"
#include "verbs.h"

namespace ullage {

constexpr size_t kAnyNumber = static_cast<size_t>(-1);

constexpr Verb kVerbs[] = {
    {"run", "FILE", "plan, compile and run a program inside a memory budget", 1, 1, run_run},
    {"plan", "FILE", "compile and plan without running", 1, 1, run_plan},
    {"opt", "FILE", "print the program after passes or at a phase", 1, 1, run_opt},
    {"check", "FILE...", "run self-checking programs", 1, kAnyNumber, run_check},
    {"pack", "FILE.csv", "place buffers in one arena", 1, 1, run_pack},
    {"options", "", "list all options", 0, 0, run_options},
    {"version", "", "print the version", 0, 0, run_version},
};

static std::string usage() {
  std::string out =
      "Ullage runs array programs inside the memory they were given.\n\n"
      "usage: ullage VERB [operands] [options]\n\nverbs:\n";
  for (const Verb& verb : kVerbs)
    out +=
        fmt::format("  {:<28} {}\n", fmt::format("{} {}", verb.name, verb.operands), verb.summary);
  out += fmt::format("  {:<28} {}\n", "help [VERB]", "this text, or the options of a verb");
  out +=
      "\nFILE is StableHLO, text or bytecode; '-' is standard input. SIZE is a number with B, KiB, "
      "MiB, GiB, kB, MB or GB.\n"
      "Options can also stand in the environment variable ULLAGE_FLAGS.\n"
      "exit codes: 0 fine, 1 wrong program or arguments, 2 over budget, 3 failed check, 70 "
      "internal error\n";
  return out;
}

static const Verb* find_verb(const std::string& name) {
  for (const Verb& verb : kVerbs)
    if (name == verb.name) return &verb;
  return nullptr;
}

static Diagnostic unknown_verb(const std::string& name) {
  return error(fmt::format("unknown verb '{}'", name), {}, "'ullage help' lists the verbs");
}

static int help(const std::string& name) {
  const Verb* verb = find_verb(name);
  if (!verb) return fail({unknown_verb(name)});
  std::string options = option_help(name);
  fmt::print("usage: ullage {} {}\n{}\n", verb->name, verb->operands, verb->summary);
  if (!options.empty()) fmt::print("\noptions:\n{}", options);
  return kExitFine;
}

Result<std::string> read_program(const VerbCall& call, const std::string& path) {
  Result<FileBytes> file = FileBytes::open(path);
  if (!file.ok()) return file.diagnostics();
  call.record.program_text = file->text();
  return call.record.program_text;
}

std::string shown_path(const std::string& path) {
  return path == "-" ? "<stdin>" : path;
}

int fail(const std::vector<Diagnostic>& diagnostics) {
  std::fflush(stdout);
  fmt::print(stderr, "{}", to_string(diagnostics));
  return kExitUserError;
}

static int run(CommandRecord& record) {
  const std::vector<std::string>& words = record.arguments;
  bool asks_help =
      !words.empty() && (words[0] == "help" || words[0] == "--help" || words[0] == "-h");
  if (asks_help && words.size() == 2) return help(words[1]);
  if (asks_help) {
    fmt::print("{}", usage());
    return kExitFine;
  }
  if (words.size() == 2 && (words[1] == "--help" || words[1] == "-h")) return help(words[0]);
  if (words.size() == 1 && words[0] == "--version") return run_version({{}, {}, record});

  if (!words.empty() && !words[0].starts_with("-") && !find_verb(words[0]))
    return fail({unknown_verb(words[0])});
  Result<CommandLine> line = parse_command_line(words, record.flags);
  if (!line.ok()) return fail(line.diagnostics());
  const Verb& verb = *find_verb(line->verb);
  size_t count = line->operands.size();
  if (count < verb.min_operands || count > verb.max_operands)
    return fail(
        {error(count < verb.min_operands
                   ? fmt::format("'{}' needs {}", verb.name, verb.operands)
                   : fmt::format("unexpected operand '{}'", line->operands[verb.max_operands]),
               {}, fmt::format("usage: ullage {} {} [options]", verb.name, verb.operands))});
  return verb.run({line->operands, line->options, record});
}

}  // namespace ullage

int main(int argc, char** argv) {
  ullage::CommandRecord record;
  record.arguments.assign(argv + 1, argv + argc);
  record.flags = ullage::environment_flags();
  int code = ullage::run_guarded(record, ".", ullage::run);
  // A full disk or a closed pipe must not pass for success.
  if (std::fflush(stdout) != 0 && code == ullage::kExitFine) {
    std::perror("error: cannot write the output");
    code = ullage::kExitUserError;
  }
  return code;
}
