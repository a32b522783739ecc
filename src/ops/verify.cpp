#include "ops/verify.h"

#include <fmt/format.h>

#include <unordered_set>

#include "ops/rules.h"

namespace ullage {

namespace {

// Enough to see a pattern, few enough to read.
constexpr size_t kMaxDiagnostics = 20;

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  std::vector<Diagnostic> run() {
    std::unordered_set<std::string_view> names;
    for (const auto& function : module_.functions) {
      if (!names.insert(function->name).second)
        report(error(fmt::format("there are two functions @{}", function->name)),
               function->location);
      check_function(*function);
    }
    return std::move(diagnostics_);
  }

 private:
  void report(Diagnostic diagnostic, Location location) {
    if (diagnostics_.size() >= kMaxDiagnostics) return;
    if (!diagnostic.where.known()) diagnostic.where = module_.source(location);
    diagnostics_.push_back(std::move(diagnostic));
  }

  void check_function(const Function& function) {
    const Region& body = function.body();
    if (function.argument_info.size() != body.arguments().size())
      report(error(fmt::format("@{} describes {} arguments, has {}", function.name,
                               function.argument_info.size(), body.arguments().size())),
             function.location);
    for (size_t i = 0; i < function.argument_info.size(); ++i) {
      const auto& alias = function.argument_info[i].aliases_output;
      if (alias && (*alias < 0 || static_cast<size_t>(*alias) >= function.result_types.size()))
        report(error(fmt::format("argument {} of @{} aliases output {}, there are {}", i,
                                 function.name, *alias, function.result_types.size())),
               function.location);
    }
    // A declaration without a body has nothing to check.
    if (body.empty()) {
      report(error(fmt::format("@{} has no body", function.name)), function.location);
      return;
    }
    check_region(body, function);
    const Op* terminator = body.terminator();
    if (!terminator) return;
    std::vector<Type> returned;
    for (const Value* value : terminator->operands()) returned.push_back(value->type);
    bool fits = returned.size() == function.result_types.size();
    for (size_t i = 0; fits && i < returned.size(); ++i)
      fits = compatible(returned[i], function.result_types[i]);
    if (!fits) {
      std::string found, expected;
      for (const Type& type : returned) found += (found.empty() ? "" : ", ") + to_string(type);
      for (const Type& type : function.result_types)
        expected += (expected.empty() ? "" : ", ") + to_string(type);
      report(error(fmt::format("@{} is declared to return ({}), returns ({})", function.name,
                               expected, found)),
             terminator->location);
    }
  }

  void check_region(const Region& region, const Function& function) {
    if (!region.terminator()) {
      Location location = region.last()     ? region.last()->location
                          : region.parent() ? region.parent()->location
                                            : function.location;
      report(error(fmt::format(
                 "a region of {} does not end in a terminator",
                 region.parent() ? std::string(region.parent()->mnemonic()) : "@" + function.name)),
             location);
    }
    std::vector<const Value*> defined;
    auto define = [&](const Value* value) {
      visible_.insert(value);
      defined.push_back(value);
    };
    for (const Value* argument : region.arguments()) define(argument);
    for (const Op* op : region) {
      if (op->next() && has_trait(op->kind, kTerminator))
        report(error(fmt::format("{} must be the last operation of its region", op->mnemonic())),
               op->location);
      bool operands_defined = true;
      for (size_t i = 0; i < op->num_operands(); ++i) {
        if (visible_.contains(op->operand(i))) continue;
        operands_defined = false;
        report(error(fmt::format(
                   "{}: operand {}{} is used before its definition or outside its region",
                   op->mnemonic(), i,
                   op->operand(i)->name.empty() ? "" : " (%" + op->operand(i)->name + ")")),
               op->location);
      }
      for (size_t i = 0; i < op->num_regions(); ++i) check_region(op->nested(i), function);
      if (operands_defined) {
        if (Status status = verify(*op); !status)
          for (const Diagnostic& diagnostic : status.diagnostics())
            report(diagnostic, op->location);
        if (ops::VerifyFunction extra = ops::rules(op->kind).verify)
          if (Status status = extra(*op, module_); !status)
            for (const Diagnostic& diagnostic : status.diagnostics())
              report(diagnostic, op->location);
      }
      for (const Value* result : op->results()) define(result);
    }
    for (const Value* value : defined) visible_.erase(value);
  }

  const Module& module_;
  std::vector<Diagnostic> diagnostics_;
  std::unordered_set<const Value*> visible_;
};

}  // namespace

Status verify(const Op& op) {
  std::vector<Type> operands, declared;
  for (const Value* value : op.operands()) operands.push_back(value->type);
  for (const Value* value : op.results()) declared.push_back(value->type);
  std::vector<const Region*> regions;
  for (size_t i = 0; i < op.num_regions(); ++i) regions.push_back(&op.nested(i));
  OpView view{op.kind, operands, op.attributes, declared, regions};
  const ops::OpRules& rules = ops::rules(op.kind);
  int results = info(op.kind).results;
  if (results >= 0 && declared.size() != static_cast<size_t>(results))
    return ops::violation(view, 0,
                          fmt::format("has {} results, found {}", results, declared.size()));
  if (rules.regions >= 0 && regions.size() != static_cast<size_t>(rules.regions))
    return ops::violation(view, 0,
                          fmt::format("has {} regions, found {}", rules.regions, regions.size()));
  auto inferred = infer_types(view);
  if (!inferred) return inferred.diagnostics();
  bool fits = inferred->size() == declared.size();
  for (size_t i = 0; fits && i < declared.size(); ++i)
    fits = compatible(declared[i], (*inferred)[i]);
  if (fits) return Ok{};
  std::string expected, found;
  for (const Type& type : *inferred) expected += (expected.empty() ? "" : ", ") + to_string(type);
  for (const Type& type : declared) found += (found.empty() ? "" : ", ") + to_string(type);
  std::string rule = rules.result_rule.empty() ? "" : " " + std::string(rules.result_rule);
  return error(fmt::format("{}{}: the result type must be {}, found {}", op.mnemonic(), rule,
                           expected, found));
}

Status verify(const Module& module) {
  auto diagnostics = Verifier(module).run();
  if (!diagnostics.empty()) return diagnostics;
  return Ok{};
}

}  // namespace ullage
