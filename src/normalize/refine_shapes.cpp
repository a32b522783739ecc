#include "normalize/refine_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interp/interpret.h"
#include "normalize/op_maker.h"
#include "normalize/rewrite.h"
#include "ops/infer.h"

namespace ullage {

namespace {

constexpr int64_t kMaxFoldedElements = 4096;  // arrays of dimensions are short

bool is_dynamic(const Type& type) {
  return type.is_tensor() && !type.is_static();
}

// An operand that is a short array of integers, if it is constant.
std::optional<Dims> constant_dims(const Value* value) {
  const Literal* literal = constant_value(value);
  if (!literal || !(is_int(literal->type.dtype))) return {};
  Dims out;
  for (int64_t i = 0; i < literal->type.num_elements(); ++i) out.push_back(literal->int_at(i));
  return out;
}

class Refiner {
 public:
  Refiner(Module& module, Function& function) : module_(module), function_(function) {}

  Status run(std::span<const KnownArgument> arguments) {
    Region& body = function_.body();
    if (arguments.size() != body.arguments().size())
      return error(fmt::format("{} arguments given, the program has {}", arguments.size(),
                               body.arguments().size()),
                   module_.source(function_.location));
    for (size_t i = 0; i < arguments.size(); ++i) {
      Value* argument = body.argument(i);
      if (!compatible(argument->type, arguments[i].type))
        return error(fmt::format("argument {} is {}, the program takes {}", i,
                                 to_string(arguments[i].type), to_string(argument->type)),
                     module_.source(argument->location));
      argument->type = arguments[i].type;
      if (!arguments[i].value || !body.first()) continue;
      const Literal& value = *arguments[i].value;
      Op* constant =
          function_.create(body, OpKind::constant, {}, {&value.type, 1}, ConstantAttributes{value},
                           argument->location, 0, body.first());
      argument->replace_all_uses_with(constant->result());
    }
    Status status = region(body);
    if (!status) return status;
    function_.result_types.clear();
    for (Value* value : body.terminator()->operands())
      function_.result_types.push_back(value->type);
    return Ok{};
  }

 private:
  Diagnostic refuse(const Op& op, std::string_view why) {
    return error(fmt::format("{}: {}", op.mnemonic(), why), module_.source(op.location),
                 "its shape must follow from the shapes of the arguments");
  }

  Status region(Region& region) {
    for (Op* op : region) {
      if (has_trait(op->kind, kTerminator)) break;
      Status status = operation(op);
      if (!status) return status;
    }
    return Ok{};
  }

  Status operation(Op* op) {
    if (op->kind == OpKind::custom_call) {
      const std::string& target = op->as<CustomCallAttributes>().target;
      if (target == "shape_assertion") return check_assertion(op);
      if (target == "stablehlo.dynamic_top_k") return dynamic_top_k(op);
      if (target == "stablehlo.dynamic_reduce_window") return dynamic_reduce_window(op);
    }
    if (info(op->kind).family == OpFamily::dynamic) return dynamic_operation(op);
    Status status = nested(op);
    if (!status) return status;
    status = infer(op);
    if (!status) return status;
    fold(op);
    return Ok{};
  }

  // Regions that take whole arrays get their types from the operands.
  Status nested(Op* op) {
    if (op->kind == OpKind::while_)
      for (size_t r = 0; r < 2; ++r)
        for (size_t i = 0; i < op->num_operands(); ++i)
          op->nested(r).argument(i)->type = op->operand(i)->type;
    for (size_t r = 0; r < op->num_regions(); ++r) {
      Status status = region(op->nested(r));
      if (!status) return status;
    }
    return Ok{};
  }

  Status infer(Op* op) {
    if (op->num_results() == 0 || op->kind == OpKind::constant) return Ok{};
    std::vector<Value*> values = op->operands();
    std::vector<Type> operands, declared;
    for (Value* value : values) operands.push_back(value->type);
    bool open = false;
    for (Value* result : op->results()) {
      declared.push_back(result->type);
      open |= is_dynamic(result->type);
    }
    if (!open) return Ok{};
    std::vector<Type> types;
    if (op->kind == OpKind::while_) {
      types = operands;
    } else if (op->kind == OpKind::case_ || op->kind == OpKind::if_) {
      for (Value* value : op->nested(0).terminator()->operands()) types.push_back(value->type);
    } else if (has_trait(op->kind, kElementwise) ||
               (op->kind == OpKind::bitcast_convert && operands[0].rank() == declared[0].rank())) {
      // Scalars among the operands are broadcast.
      types = declared;
      for (const Type& operand : operands)
        if (operand.rank() == types[0].rank() && operand.is_static())
          types[0].shape = operand.shape;
    } else if (op->kind == OpKind::reshape || op->kind == OpKind::custom_call) {
      return refuse(*op, "its result type " + to_string(declared[0]) + " does not say the shape");
    } else {
      Result<std::vector<Type>> inferred =
          infer_types(op->kind, operands, op->attributes, declared);
      if (!inferred) return refuse(*op, inferred.diagnostics()[0].message);
      types = std::move(*inferred);
    }
    for (size_t i = 0; i < types.size(); ++i) {
      types[i].bounds.clear();
      if (is_dynamic(types[i]))
        return refuse(*op, "the shape of " + to_string(types[i]) + " is not known");
      op->result(i)->type = types[i];
    }
    return Ok{};
  }

  // Operations on constants that are small enough to be dimensions.
  void fold(Op* op) {
    if (op->num_results() != 1 || op->num_operands() == 0 || op->num_regions() > 0 ||
        !has_trait(op->kind, kPure) || !can_evaluate(op->kind))
      return;
    const Type& type = op->result()->type;
    if (!type.is_tensor() || !type.is_static() || type.num_elements() > kMaxFoldedElements ||
        !(is_int(type.dtype) || type.dtype == DType::i1))
      return;
    std::vector<Tensor> operands;
    for (Value* operand : op->operands()) {
      const Literal* literal = constant_value(operand);
      if (!literal || literal->type.num_elements() > kMaxFoldedElements) return;
      operands.push_back(Tensor::from(*literal));
    }
    Result<std::vector<Tensor>> result = evaluate(*op, operands);
    if (!result) return;
    const Tensor& folded = (*result)[0];
    OpMaker maker(function_, op);
    Literal literal = Literal::make(type, {folded.data(), folded.data() + folded.size_bytes()});
    maker.replace_with({maker.make(OpKind::constant, {}, type, ConstantAttributes{literal})});
  }

  Status check_assertion(Op* op) {
    std::optional<Dims> holds = constant_dims_or_truth(op->operand(0));
    if (!holds) return refuse(*op, "an assertion about shapes that cannot be decided");
    if ((*holds)[0] == 0) {
      std::string text = "the shapes of the arguments break an assertion of the program";
      for (const NamedAttribute& attribute : op->extra)
        if (attribute.name == "error_message") text += ": " + attribute.text;
      return error(text, module_.source(op->location));
    }
    op->erase();
    return Ok{};
  }

  static std::optional<Dims> constant_dims_or_truth(const Value* value) {
    const Literal* literal = constant_value(value);
    if (!literal || literal->type.num_elements() != 1) return {};
    return Dims{literal->int_at(0)};
  }

  Status dynamic_top_k(Op* op) {
    std::optional<Dims> k = constant_dims(op->operand(1));
    if (!k || k->size() != 1) return refuse(*op, "the number of elements is not known");
    TopKAttributes attributes;
    attributes.k = (*k)[0];
    std::array<Type, 2> types = {op->operand(0)->type, op->result(1)->type};
    types[0].shape.back() = attributes.k;
    types[1].shape = types[0].shape;
    OpMaker maker(function_, op);
    Value* operand = op->operand(0);
    Op* top = maker.op(OpKind::chlo_top_k, {&operand, 1}, types, attributes);
    maker.replace_with(top->results());
    return Ok{};
  }

  // Operands: arrays, initial values, then window, strides, dilations of the base and of the
  // window, and padding. The region is a function of its own.
  Status dynamic_reduce_window(Op* op) {
    size_t count = op->num_results();
    const std::vector<std::string>& called = op->as<CustomCallAttributes>().called_computations;
    const Function* computation = called.size() == 1 ? module_.find(called[0]) : nullptr;
    if (!computation || op->num_operands() != 2 * count + 5 ||
        computation->body().arguments().size() != 2 * count)
      return refuse(*op, "it has other operands than exporters give it");
    std::array<Dims, 5> dims;
    for (size_t i = 0; i < dims.size(); ++i) {
      std::optional<Dims> known = constant_dims(op->operand(2 * count + i));
      if (!known) return refuse(*op, "the window is not known");
      dims[i] = *known;
    }
    WindowAttributes window;
    window.window_dimensions = dims[0];
    window.window_strides = dims[1];
    window.base_dilations = dims[2];
    window.window_dilations = dims[3];
    for (size_t i = 0; i + 1 < dims[4].size(); i += 2)
      window.padding.emplace_back(dims[4][i], dims[4][i + 1]);
    std::vector<Value*> operands = op->operands();
    operands.resize(2 * count);
    std::vector<Type> types, results;
    for (Value* value : operands) types.push_back(value->type);
    for (Value* value : op->results()) results.push_back(value->type);
    Result<std::vector<Type>> inferred = infer_types(OpKind::reduce_window, types, window, results);
    if (!inferred) return refuse(*op, inferred.diagnostics()[0].message);
    OpMaker maker(function_, op);
    Op* made = maker.op(OpKind::reduce_window, operands, *inferred, window, 1);
    Region& body = made->nested(0);
    ValueMap map;
    for (Value* argument : computation->body().arguments())
      map.set(argument, body.add_argument(argument->type));
    std::vector<Value*> ends;
    for (Op* inner : computation->body())
      if (!has_trait(inner->kind, kTerminator)) clone(inner, function_, body, map);
    for (Value* value : computation->body().terminator()->operands())
      ends.push_back(map.lookup(value));
    function_.create(body, OpKind::return_, ends, {}, {}, op->location);
    maker.replace_with(made->results());
    return Ok{};
  }

  Status dynamic_operation(Op* op) {
    OpMaker maker(function_, op);
    std::vector<std::optional<Dims>> dims;
    for (Value* operand : op->operands()) dims.push_back(constant_dims(operand));
    auto known = [&](size_t i) { return i < dims.size() && dims[i].has_value(); };
    Value* operand = op->operand(0);
    Type type = op->result()->type;
    type.bounds.clear();
    auto shaped = [&](size_t i) {
      type.shape = *dims[i];
      return std::all_of(type.shape.begin(), type.shape.end(), [](int64_t d) { return d >= 0; });
    };
    OpKind kind = op->kind;
    Attributes attributes;
    std::vector<Value*> operands = {operand};
    switch (op->kind) {
      case OpKind::get_dimension_size: {
        int64_t extent = operand->type.shape[static_cast<size_t>(op->as<DimAttributes>().dim)];
        if (extent == kDynamic) return refuse(*op, "the dimension is not known");
        maker.replace_with({maker.integer(type, extent)});
        return Ok{};
      }
      case OpKind::dynamic_broadcast_in_dim: {
        if (!known(1) || !shaped(1)) return refuse(*op, "the result's dimensions are not known");
        kind = OpKind::broadcast_in_dim;
        DimsAttributes broadcast;
        broadcast.dims = op->as<DimsAttributes>().dims;
        attributes = broadcast;
        break;
      }
      case OpKind::dynamic_reshape:
        if (!known(1) || !shaped(1)) return refuse(*op, "the result's dimensions are not known");
        kind = OpKind::reshape;
        break;
      case OpKind::dynamic_iota:
        if (!known(0) || !shaped(0)) return refuse(*op, "the result's dimensions are not known");
        kind = OpKind::iota;
        attributes = op->as<DimAttributes>();
        operands.clear();
        break;
      case OpKind::dynamic_pad: {
        if (!known(2) || !known(3) || !known(4)) return refuse(*op, "the padding is not known");
        kind = OpKind::pad;
        attributes = PadAttributes{*dims[2], *dims[3], *dims[4]};
        operands.push_back(op->operand(1));
        break;
      }
      case OpKind::real_dynamic_slice:
        if (!known(1) || !known(2) || !known(3)) return refuse(*op, "its bounds are not known");
        kind = OpKind::slice;
        attributes = SliceAttributes{*dims[1], *dims[2], *dims[3]};
        break;
      case OpKind::dynamic_gather: {
        if (!known(2)) return refuse(*op, "the sizes of the slices are not known");
        kind = OpKind::gather;
        GatherAttributes gather = op->as<GatherAttributes>();
        gather.slice_sizes = *dims[2];
        attributes = gather;
        operands.push_back(op->operand(1));
        break;
      }
      case OpKind::dynamic_conv: {
        if (!known(2)) return refuse(*op, "the padding is not known");
        kind = OpKind::convolution;
        ConvolutionAttributes convolution = op->as<ConvolutionAttributes>();
        convolution.padding.clear();
        for (size_t i = 0; i + 1 < dims[2]->size(); i += 2)
          convolution.padding.emplace_back((*dims[2])[i], (*dims[2])[i + 1]);
        attributes = convolution;
        operands.push_back(op->operand(1));
        break;
      }
      default:
        return refuse(*op, "a dimension that is set while the program runs");
    }
    std::vector<Type> from;
    for (Value* value : operands) from.push_back(value->type);
    Result<std::vector<Type>> inferred = infer_types(kind, from, attributes, {&type, 1});
    if (!inferred) return refuse(*op, inferred.diagnostics()[0].message);
    (*inferred)[0].bounds.clear();
    if (is_dynamic((*inferred)[0])) return refuse(*op, "the result's shape is not known");
    Op* made = maker.op(kind, operands, *inferred, attributes);
    maker.replace_with(made->results());
    fold(made);
    return Ok{};
  }

  Module& module_;
  Function& function_;
};

bool is_dynamic_function(const Function& function) {
  bool found = false;
  auto look = [&](Value* value) { found |= is_dynamic(value->type); };
  for (Value* argument : function.body().arguments()) look(argument);
  walk(function.body(), [&](Op* op) {
    for (Value* result : op->results()) look(result);
    found |= info(op->kind).family == OpFamily::dynamic;
  });
  return found;
}

bool has_calls(const Function& function) {
  bool found = false;
  walk(function.body(), [&](Op* op) { found |= op->kind == OpKind::call; });
  return found;
}

}  // namespace

bool has_dynamic_shapes(const Module& module) {
  return module.entry() &&
         std::any_of(module.functions.begin(), module.functions.end(),
                     [](const auto& function) { return is_dynamic_function(*function); });
}

Status refine_shapes(Module& module, std::span<const KnownArgument> arguments) {
  Function* entry = module.entry();
  if (!entry) return Ok{};
  NormalizeOptions options;
  if (Status status = expand_composites(module, options); !status) return status;
  while (has_calls(*entry))
    inline_into(module, *entry, [](const Op&, const Function&) { return true; });
  // What is called no more keeps its dynamic types, which nobody would read.
  std::erase_if(module.functions, [&](const auto& function) {
    return function.get() != entry && is_dynamic_function(*function);
  });
  return Refiner(module, *entry).run(arguments);
}

}  // namespace ullage
