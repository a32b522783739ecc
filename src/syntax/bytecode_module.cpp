// The whole file: version, module, functions and their attributes, meshes; calls, once all
// functions are known; the names of values.
#include <fmt/format.h>

#include <charconv>

#include "syntax/bytecode.h"
#include "syntax/bytecode_reader.h"
#include "syntax/structure.h"
#include "syntax/value_names.h"

namespace ullage {

namespace syntax {

BytecodeReader::BytecodeReader(std::string_view bytes, std::string file)
    : bytes_(bytes), module_(std::make_unique<Module>()) {
  module_->file = std::move(file);
}

Result<std::unique_ptr<Module>> BytecodeReader::read() {
  container_ = read_container(bytes_, failure_);
  if (!failed()) check_version();
  if (!failed()) module();
  if (!failed()) check_calls();
  if (failed())
    return error(fmt::format("byte {}: {}", failure_.offset, failure_.message),
                 {.file = module_->file}, failure_.help);
  for (const auto& function : module_->functions) name_values(*function);
  return std::move(module_);
}

static std::string text_of(StablehloVersion version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

// The producer's name has the version; nothing else does.
void BytecodeReader::check_version() {
  constexpr std::string_view kPrefix = "StableHLO_v";
  const size_t at = static_cast<size_t>(container_.producer.data() - bytes_.data());
  std::string_view text = container_.producer;
  StablehloVersion version;
  bool valid = text.starts_with(kPrefix);
  text.remove_prefix(valid ? kPrefix.size() : 0);
  int64_t* const parts[] = {&version.major, &version.minor, &version.patch};
  for (int64_t* part : parts) {
    if (part != parts[0]) {
      valid = valid && text.starts_with('.');
      text.remove_prefix(valid ? 1 : 0);
    }
    if (!valid) break;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *part);
    valid = code == std::errc() && *part >= 0;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  if (!valid || !text.empty())
    return fail(at, "expected the bytecode of a StableHLO portable artifact",
                "write one with jax.export or with stablehlo-translate --serialize");
  const StablehloVersion minor{version.major, version.minor, 0};
  if (minor > kNewestStablehlo)
    return fail(at,
                fmt::format("this program is of StableHLO {}, which is newer than {}",
                            text_of(version), text_of(kNewestStablehlo)),
                fmt::format("write it for an older version, e.g. with stablehlo-translate "
                            "--serialize --target={}",
                            text_of(kNewestStablehlo)));
  if (minor < kOldestStablehlo)
    fail(at,
         fmt::format("this program is of StableHLO {}, which is older than {}", text_of(version),
                     text_of(kOldestStablehlo)),
         "write it again with a newer exporter");
}

// -- Modules

// One block with one operation, the module, whose region is isolated.
void BytecodeReader::module() {
  using Role = BytecodeOp::Role;
  for (const BytecodeContainer::OpName& op : container_.ops)
    ops_.push_back(bytecode_op(container_.dialects[op.dialect].name, op.name));
  types_.resize(container_.types.size());
  types_open_.resize(container_.types.size());
  locations_.assign(container_.attributes.size(), kUnread);

  Cursor c(bytes_, container_.ir.begin, container_.ir.end, failure_);
  bool has_arguments = false;
  const size_t at = c.offset();
  if (block_header(c, has_arguments) != 1 || has_arguments)
    return fail(at, "expected one operation, builtin.module");
  OpHeader head;
  header(c, head);
  if (failed()) return;
  if (head.op->role != Role::module)
    return fail(head.at, fmt::format("expected builtin.module, found {}", head.op->name));
  if (!head.operands.empty() || !head.result_types.empty() || head.regions != 1 || !head.isolated)
    return fail(head.at, "expected a module with one isolated region");
  if (head.properties[0] != UINT32_MAX)
    module_->name = string(head.properties[0], {"sym_name", "builtin.module"});
  if (head.discardable) module_->extra = kept(*head.discardable, {"attributes", "builtin.module"});

  const size_t section_at = c.offset();
  const Section section = read_section(c);
  c.expect_end("the program");
  if (failed()) return;
  if (section.id != kIrSection)
    return fail(section_at, "expected the section of an isolated region");
  Cursor body(bytes_, section.content.begin, section.content.end, failure_);
  if (body.varint("the number of blocks") != 1)
    return fail(section.content.begin, "expected a module of one block");
  body.varint("the number of values of a module");
  const size_t count = block_header(body, has_arguments);
  if (has_arguments) fail(body.offset(), "a module has no arguments");
  for (size_t i = 0; i < count && !failed(); ++i) {
    header(body, head);
    if (failed()) return;
    if (head.op->role == Role::function)
      function(head, body);
    else if (head.op->role == Role::mesh)
      mesh(head);
    else
      fail(head.at, fmt::format("{} cannot stand at the top level of a module", head.op->name));
  }
  body.expect_end("the module");
  if (!failed() && module_->functions.empty()) fail(at, "this module has no function");
}

void BytecodeReader::mesh(const OpHeader& head) {
  if (!head.operands.empty() || !head.result_types.empty() || head.regions != 0)
    return fail(head.at, "expected a mesh without operands, results and regions");
  NamedAttribute mesh;
  mesh.name = string(head.properties[1], {"sym_name", "sdy.mesh"});
  std::optional<OpenAttr> opened =
      open(head.properties[0], AttrKind::sdy_mesh, {"mesh", "sdy.mesh"});
  if (!opened) return;
  mesh.text = fmt::format("<{}>", shardy_body(head.properties[0], AttrKind::sdy_mesh));
  for (const NamedAttribute& other : module_->meshes)
    if (other.name == mesh.name)
      return fail(head.at, fmt::format("the mesh @{} is defined twice", mesh.name));
  module_->meshes.push_back(std::move(mesh));
}

// -- Functions

// What an argument's attributes say about its buffer; the rest is kept.
void BytecodeReader::argument_attributes(uint32_t dictionary, ArgumentInfo& info) {
  const AttrOwner owner{"attributes", "an argument"};
  std::optional<OpenAttr> opened = open(dictionary, AttrKind::dictionary, owner);
  if (!opened) return;
  const size_t count = opened->fields.count("the number of an argument's attributes");
  for (size_t i = 0; i < count && !failed(); ++i) {
    const uint32_t name = attribute_index(opened->fields, "the name of an attribute");
    const uint32_t value = attribute_index(opened->fields, "an attribute");
    if (failed()) return;
    const std::string_view key = string(name, {"name", "an attribute"});
    if (key == "tf.aliasing_output") {
      const int64_t output = integer(value, {key, "an argument"});
      if (output < 0)
        return fail(opened->at, "'tf.aliasing_output' must be the number of a result");
      info.aliases_output = output;
      info.donated = true;
    } else if (key == "jax.buffer_donor") {
      info.donated |= open(value).kind != AttrKind::boolean || boolean(value, {key, "an argument"});
    }
  }
  info.extra = kept(dictionary, owner);
  std::erase_if(info.extra, [](const NamedAttribute& entry) {
    return entry.name == "tf.aliasing_output" || entry.name == "jax.buffer_donor";
  });
}

void BytecodeReader::function(const OpHeader& head, Cursor& c) {
  const std::string_view owner = "vhlo.func_v1";
  const uint32_t arg_attrs = head.properties[0], res_attrs = head.properties[2];
  const std::string_view name = string(head.properties[3], {"sym_name", owner});
  const std::string_view visibility = string(head.properties[4], {"sym_visibility", owner});
  const BytecodeType& signature = type_of(head.properties[1], {"function_type", owner});
  if (failed()) return;
  if (!head.operands.empty() || !head.result_types.empty() || head.regions != 1 || !head.isolated)
    return fail(head.at, "expected a function with one isolated region");
  if (signature.kind != BytecodeType::Kind::function)
    return fail(head.at, "'function_type' must be a function type");
  if (!functions_at_.try_emplace(name, head.at).second)
    return fail(head.at, fmt::format("the function @{} is defined twice", name));

  auto function = std::make_unique<Function>(std::string(name));
  function_ = function.get();
  function->is_public = visibility != "private";
  function->location = head.location;
  if (head.discardable) function->extra = kept(*head.discardable, {"attributes", owner});
  const size_t body_at = c.offset();
  Region* body[] = {&function->body()};
  isolated_regions(c, body, OpKind::func_return, {});
  if (failed()) return;

  std::span<Value* const> arguments = function->body().arguments();
  bool same = arguments.size() == signature.inputs.size();
  for (size_t i = 0; same && i < arguments.size(); ++i)
    same = arguments[i]->type == value_type(signature.inputs[i], head.at);
  if (!same)
    return fail(head.at, fmt::format("'function_type' of @{} does not agree with the arguments of "
                                     "its body",
                                     name));
  for (uint32_t index : signature.results) {
    if (failed()) return;
    function->result_types.push_back(value_type(index, head.at));
  }
  function->argument_info.resize(arguments.size());
  const std::vector<uint32_t> of_arguments = elements(arg_attrs, {"arg_attrs", owner});
  const std::vector<uint32_t> of_results = elements(res_attrs, {"res_attrs", owner});
  if (failed()) return;
  if (!of_arguments.empty() && of_arguments.size() != arguments.size())
    return fail(head.at, fmt::format("'arg_attrs' has {} entries, not {}", of_arguments.size(),
                                     arguments.size()));
  if (!of_results.empty() && of_results.size() != function->result_types.size())
    return fail(head.at, fmt::format("'res_attrs' has {} entries, not {}", of_results.size(),
                                     function->result_types.size()));
  for (size_t i = 0; i < of_arguments.size() && !failed(); ++i)
    argument_attributes(of_arguments[i], function->argument_info[i]);
  bool any = false;
  for (size_t i = 0; i < of_results.size() && !failed(); ++i) {
    function->result_extra.push_back(kept(of_results[i], {"res_attrs", owner}));
    any |= !function->result_extra.back().empty();
  }
  if (!any) function->result_extra.clear();
  if (failed()) return;
  std::string wrong = wrong_returned_values(*function);
  if (!wrong.empty()) return fail(body_at, std::move(wrong));
  module_->functions.push_back(std::move(function));
  function_ = nullptr;
}

void BytecodeReader::check_calls() {
  if (std::optional<WrongCall> wrong = find_wrong_call(*module_, calls_))
    fail(calls_at_[wrong->call], std::move(wrong->message));
}

}  // namespace syntax

Result<std::unique_ptr<Module>> read_bytecode(std::string_view bytes, std::string file) {
  return syntax::BytecodeReader(bytes, std::move(file)).read();
}

}  // namespace ullage
