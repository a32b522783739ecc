// The last line of defence of the `ullage` command. An exception that reaches it is a mistake of
// Ullage, not of the user: it is reported with a reproducer, a file that holds the command and a
// copy of the program, and ends in exit code 70.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ullage {

// What a command was given. The verb adds each program text it reads, so that standard input can be
// reproduced too.
struct CommandRecord {
  std::vector<std::string> arguments;  // without the program's own name
  std::string flags;                   // ULLAGE_FLAGS
  std::string program_text;            // of the program last read; may be bytecode
};

// The reproducer's text: the command and the error as comments, then the program. A text program
// can be fed back as it is. Arguments are quoted for a shell.
std::string reproducer_text(const CommandRecord& record, const std::string& error);

// Writes the reproducer below `folder` under a name not taken yet and gives that name; empty when
// it cannot be written. A program in bytecode is written beside it.
std::string write_reproducer(const CommandRecord& record, const std::string& error,
                             const std::string& folder);

// Runs `command` and gives its exit code. On an exception: writes a reproducer to `folder`, says so
// on standard error and gives 70.
int run_guarded(CommandRecord& record, const std::string& folder,
                const std::function<int(CommandRecord&)>& command);

}  // namespace ullage
