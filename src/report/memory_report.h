// What is live at the peak, and why: the answer to "where did my memory go". Data first; text and
// CSV from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace ullage {

// One buffer that is alive at the peak.
struct LiveValue {
  std::string name;    // argument label or value name; may be empty
  std::string shape;   // "tensor<8x4xf32>", with rows if it is a piece
  std::string source;  // file:line of the user's program; may be empty
  std::string why;     // what still needs it
  std::string remedy;  // what would remove it from the peak; may be empty
  int64_t bytes = 0;
};

struct MemoryReport {
  int64_t arena_bytes = 0, peak_bytes = 0;
  int64_t argument_bytes = 0, output_bytes = 0, alias_bytes = 0, constant_bytes = 0, temp_bytes = 0;
  double predicted_seconds = 0, recompute_flops_ratio = 0;
  int64_t kernels = 0, copies = 0, copied_bytes = 0, pieces = 0, recomputed = 0;
  std::string peak_moment;      // the kernel that runs then, with its source
  std::vector<LiveValue> live;  // largest first
  struct Decision {
    std::string move, what, source;
    int64_t bytes = 0, count = 1;
    double seconds = 0;
  };
  std::vector<Decision> decisions;  // equal ones counted together
};

// `locations` is the table of the module that the plan's graph was built from.
MemoryReport memory_report(const Plan& plan, const LocationTable& locations);

std::string to_text(const MemoryReport& report, size_t most_values = 12);

// The buffers as id,lower,upper,size,offset rows, which `ullage pack` reads.
std::string buffers_csv(const Plan& plan);

}  // namespace ullage
