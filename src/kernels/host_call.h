// Calls of handlers outside the program: Python functions, and what users registered by name.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.h"
#include "kernels/kernel_graph.h"

namespace ullage {

// Whether it is a custom call that something in the host process must answer.
bool is_host_call(const Op& op);
// The dictionary of attributes that goes with the call, as written; may be empty.
std::string call_dictionary(const Op& op);

// Whether the host process answers calls of this name. It says so through a function that whoever
// knows sets once; until then nothing is answered.
bool host_answers(std::string_view target);
void set_host_answers(bool (*answers)(std::string_view target));

// Whether running the kernel is seen outside the program: it must run as often as the program says.
bool has_effect(const Kernel& kernel);

}  // namespace ullage
