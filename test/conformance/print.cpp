// What the conformance table found, as a matrix and as the page of the documentation.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/run.h"

namespace ullage::conformance {

namespace {

bool has(const std::vector<DType>& list, DType dtype) {
  return std::find(list.begin(), list.end(), dtype) != list.end();
}

struct Group {
  std::string_view name;
  std::vector<DType> types;
};
const std::vector<Group>& groups() {
  static const std::vector<Group> list = {
      {"i1", {DType::i1}},
      {"integers",
       {DType::i8, DType::i16, DType::i32, DType::i64, DType::ui8, DType::ui16, DType::ui32,
        DType::ui64}},
      {"narrow integers", {DType::i2, DType::i4, DType::ui2, DType::ui4}},
      {"floats", {DType::bf16, DType::f16, DType::f32, DType::f64}},
      {"narrow floats",
       {DType::f4E2M1FN, DType::f6E2M3FN, DType::f6E3M2FN, DType::f8E3M4, DType::f8E4M3,
        DType::f8E4M3FN, DType::f8E4M3FNUZ, DType::f8E4M3B11FNUZ, DType::f8E5M2, DType::f8E5M2FNUZ,
        DType::f8E8M0FNU}},
      {"complex", {DType::c64, DType::c128}}};
  return list;
}

// "i1, integers, f32": whole groups by their names.
std::string type_list(const std::vector<DType>& types) {
  std::string out;
  auto add = [&](std::string_view text) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", text);
  };
  for (const Group& group : groups()) {
    auto in = [&](DType dtype) { return has(types, dtype); };
    if (std::all_of(group.types.begin(), group.types.end(), in)) {
      add(group.name);
    } else {
      for (DType dtype : group.types)
        if (in(dtype)) add(name(dtype));
    }
  }
  return out.empty() ? "none" : out;
}

const char* family_title(OpFamily family) {
  switch (family) {
    case OpFamily::elementwise:
      return "Elementwise";
    case OpFamily::chlo:
      return "CHLO";
    case OpFamily::movement:
      return "Data movement";
    case OpFamily::dynamic:
      return "Dynamic shapes";
    case OpFamily::reduction:
      return "Reductions and ordered operations";
    case OpFamily::linalg:
      return "Products and linear algebra";
    case OpFamily::normalization:
      return "Normalisation layers";
    case OpFamily::random:
      return "Random numbers";
    case OpFamily::control:
      return "Control flow and structure";
    case OpFamily::collective:
      return "Communication";
    case OpFamily::sharding:
      return "Shardings";
    case OpFamily::check:
      return "Checks";
  }
  return "";
}

}  // namespace

std::string coverage_matrix(const std::map<OpKind, Support>& support) {
  std::string out = fmt::format("{:<28}", "");
  for (int d = 0; d < kDTypeCount; ++d)
    out += fmt::format(" {:>4}", std::string(name(static_cast<DType>(d))).substr(0, 4));
  out += "\n";
  int64_t cases = 0, compiled = 0;
  for (const auto& [kind, s] : support) {
    out += fmt::format("{:<28}", info(kind).name);
    for (int d = 0; d < kDTypeCount; ++d) {
      auto dtype = static_cast<DType>(d);
      const char* mark = !has(s.legal, dtype)        ? "."
                         : has(s.compiled, dtype)    ? "yes"
                         : has(s.interpreted, dtype) ? "int"
                                                     : "no";
      out += fmt::format(" {:>4}", mark);
    }
    out += fmt::format("  {}/{}\n", s.compiled_cases, s.cases);
    cases += s.cases;
    compiled += s.compiled_cases;
  }
  out += fmt::format(
      "yes: compiled, int: interpreted only, no: neither, .: not defined\n"
      "{} operations, {} cases, {} of them compiled\n",
      support.size(), cases, compiled);
  return out;
}

std::string markdown(const std::map<OpKind, Support>& support) {
  std::string out =
      "# Operations\n\n"
      "What the compiler and the reference interpreter take, found by giving them a small program "
      "of each kind\nfor each element type. Printed by `conformance --markdown`; a test "
      "compares.\n\n"
      "Types: integers are i8 to i64 and ui8 to ui64; narrow integers i2, i4, ui2, ui4; floats "
      "bf16, f16, f32, f64;\nnarrow floats the types of 4, 6 and 8 bits; complex is c64 and c128. "
      "What the compiler refuses is refused\nbefore anything runs, with the operation's source "
      "line and the message given here.\n";
  OpFamily family = OpFamily::check;
  for (const auto& [kind, s] : support) {
    if (info(kind).family != family) {
      family = info(kind).family;
      out += fmt::format(
          "\n## {}\n\n| operation | defined for | interpreter | compiler | refused "
          "|\n| --- | --- | --- | --- | --- |\n",
          family_title(family));
    }
    auto whole = [&](const std::vector<DType>& types) {
      return types == s.legal ? std::string("all") : type_list(types);
    };
    size_t all_forms = 0;
    for (const Row& row : rows()) all_forms += row.kind == kind;
    // Forms that are refused for the same types in the same words share a line.
    std::map<std::string, std::vector<std::string>> forms;
    for (const auto& [form, types] : s.partly)
      forms[fmt::format("{}: {}", type_list(types), s.refusals.at(form))].push_back(form);
    std::string refused;
    for (const auto& [what, list] : forms)
      refused += fmt::format(
          "{}{}{}", refused.empty() ? "" : "<br>",
          list.size() == all_forms ? "" : fmt::format("({}) ", fmt::join(list, "; ")), what);
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", info(kind).mnemonic, type_list(s.legal),
                       whole(s.interpreted), whole(s.compiled), refused);
  }
  out += "\nWithout a row:\n\n";
  for (const Exempt& e : exempt()) out += fmt::format("- `{}`: {}\n", info(e.kind).mnemonic, e.why);
  return out;
}

}  // namespace ullage::conformance
