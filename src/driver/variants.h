// Other forms of a normalised program, which the planner weighs against the one that was written
// when there is a budget. They run the same operations on the same operands, so that every form has
// the same bits; what differs is how often, and what is kept in between.
#pragma once

#include <memory>
#include <string_view>

#include "ir/ir.h"

namespace ullage {

// The program without optimization barriers, in which equal computations of the entry function are
// one: as it was before its author asked for recomputation. Null if it has no barriers.
std::unique_ptr<Module> merge_recomputation(const Module& module);

// The program in which loops that stack what a later loop reads keep their state every so many
// trips instead, and the later loop makes what it reads again from there, that many trips at a time
// (checkpointing of Griewank and Walther, at one level). This is done to about `eighths` of eight
// trips, the rest keep their stacks. Null if no loop is like that or memory would hardly shrink.
std::unique_ptr<Module> checkpoint_loops(const Module& module, int eighths);

// All of them, by the names under which they can be disabled.
struct ProgramForm {
  std::string_view name;
  std::unique_ptr<Module> (*make)(const Module& module);
};
template <int eighths>
std::unique_ptr<Module> checkpoint_eighths(const Module& module) {
  return checkpoint_loops(module, eighths);
}
inline constexpr ProgramForm kProgramForms[] = {
    {"merge-recomputation", merge_recomputation}, {"checkpoint-loops", checkpoint_eighths<1>},
    {"checkpoint-loops", checkpoint_eighths<2>},  {"checkpoint-loops", checkpoint_eighths<3>},
    {"checkpoint-loops", checkpoint_eighths<4>},  {"checkpoint-loops", checkpoint_eighths<5>},
    {"checkpoint-loops", checkpoint_eighths<6>},  {"checkpoint-loops", checkpoint_eighths<7>},
    {"checkpoint-loops", checkpoint_eighths<8>}};

}  // namespace ullage
