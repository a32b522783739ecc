// VHLO's operations: which operation of the IR each is, and in which order its properties are
// written. Only operations with properties need a row in the table; the others are found by their
// names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/op_info.h"
#include "syntax/bytecode_container.h"

namespace ullage::syntax {

struct BytecodeOp {
  enum class Role : uint8_t {
    unknown,
    operation,
    terminator,  // vhlo.return, whose kind depends on what it ends
    cast,        // between the types of two dialects; the identity here
    module,
    function,
    mesh,
  };
  Role role = Role::unknown;
  OpKind kind{};
  std::vector<std::string_view> properties;  // in the order in which they are written
  size_t at = 0;                             // where the name is declared
  std::string name;                          // "vhlo.add_v1", for messages
};

// Operation names without an equivalent get the role `unknown`: they matter only where they are
// used.
BytecodeOp bytecode_op(std::string_view dialect, std::string_view name);

// The names of all rows, for tests: "vhlo.gather_v2".
std::vector<std::string> bytecode_op_rows();

}  // namespace ullage::syntax
