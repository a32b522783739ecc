// Operations: the shared forms of forms.h, the ones with a grammar of their own, and the generic
// form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "syntax/printer.h"

namespace ullage::syntax {

// Takes an attribute out of those still to be printed; empty when it is absent, that is, has its
// default.
static std::string pretty(std::vector<PrintedAttribute>& attributes, std::string_view name) {
  auto found = std::find_if(attributes.begin(), attributes.end(),
                            [&](const auto& a) { return a.name == name; });
  if (found == attributes.end()) return {};
  std::string text = std::move(found->pretty);
  attributes.erase(found);
  return text;
}

static std::vector<Type> operand_types(const Op& op) {
  std::vector<Type> out;
  for (size_t i = 0; i < op.num_operands(); ++i) out.push_back(op.operand(i)->type);
  return out;
}

static std::vector<Type> result_types(const Op& op) {
  std::vector<Type> out;
  for (const Value* result : op.results()) out.push_back(result->type);
  return out;
}

void Printer::function_type(const Op& op) {
  out_ += '(';
  types(operand_types(op));
  out_ += ") -> ";
  std::vector<Type> results = result_types(op);
  if (results.size() == 1) {
    out_ += to_string(results[0]);
    return;
  }
  out_ += '(';
  types(results);
  out_ += ')';
}

void Printer::dictionary(const Op& op, const std::vector<PrintedAttribute>& attributes) {
  std::vector<std::string> parts;
  for (const PrintedAttribute& attribute : attributes)
    parts.push_back(attribute.text.empty()
                        ? std::string(attribute.name)
                        : fmt::format("{} = {}", attribute.name, attribute.text));
  for (const NamedAttribute& attribute : op.extra) {
    std::string name = attribute_name_text(attribute.name);
    parts.push_back(attribute.text.empty() ? std::move(name)
                                           : fmt::format("{} = {}", name, attribute.text));
  }
  if (!parts.empty()) out_ += fmt::format(" {{{}}}", fmt::join(parts, ", "));
}

void Printer::form_types(const Op& op, TypesForm form) {
  if (form == TypesForm::none) return;
  out_ += " : ";
  std::vector<Type> inputs = operand_types(op), results = result_types(op);
  switch (form) {
    case TypesForm::same:
      if (std::all_of(inputs.begin(), inputs.end(),
                      [&](const Type& type) { return type == results[0]; }))
        out_ += to_string(results[0]);
      else
        function_type(op);
      break;
    case TypesForm::result:
      types(results);
      break;
    case TypesForm::operands:
      types(inputs);
      break;
    case TypesForm::pairwise:
      if (inputs == results)
        types(inputs);
      else
        function_type(op);
      break;
    case TypesForm::arrow:
      types(inputs);
      out_ += " -> ";
      if (results.size() == 1) {
        out_ += to_string(results[0]);
      } else {
        out_ += '(';
        types(results);
        out_ += ')';
      }
      break;
    case TypesForm::select:
      if (inputs[1] == results[0] && inputs[2] == results[0])
        types({inputs[0], results[0]});
      else
        function_type(op);
      break;
    case TypesForm::complex: {
      Type part = results[0];
      part.dtype = real_part(part.dtype);
      if (inputs[0] == part && inputs[1] == part)
        out_ += to_string(results[0]);
      else
        function_type(op);
      break;
    }
    case TypesForm::tuple:
      out_ += to_string(results[0]);
      break;
    case TypesForm::none:
    case TypesForm::function:
      function_type(op);
      break;
  }
}

void Printer::pattern(const Op& op, const Form& form, std::vector<PrintedAttribute>& attributes) {
  std::string_view pattern = form.pattern;
  size_t next = 0;
  if (!pattern.empty()) out_ += ' ';
  while (!pattern.empty()) {
    FormPiece piece = next_piece(pattern);
    switch (piece.kind) {
      case FormPiece::Kind::operand:
        out_ += name(op.operand(next++));
        break;
      case FormPiece::Kind::operands: {
        std::vector<Value*> rest = op.operands();
        names(std::span(rest).subspan(next));
        break;
      }
      case FormPiece::Kind::literal:
        out_ += piece.text;
        break;
      case FormPiece::Kind::scalar: {
        std::string text = pretty(attributes, piece.text);
        out_ +=
            text.empty() ? "false" : text;  // only a boolean is left out when it has its default
        break;
      }
      default:
        out_ += pretty(attributes, piece.text);
        break;
    }
  }
  dictionary(op, attributes);
  form_types(op, form.types);
}

// "stablehlo.op"(%0) <{a = b}> ({...}) {kept} : (T) -> T
void Printer::generic(const Op& op, const std::vector<PrintedAttribute>& attributes) {
  out_ += fmt::format("\"{}\"(", op.mnemonic());
  names(op.operands());
  out_ += ')';
  if (!attributes.empty()) {
    std::vector<std::string> parts;
    for (const PrintedAttribute& attribute : attributes)
      parts.push_back(attribute.text.empty()
                          ? std::string(attribute.name)
                          : fmt::format("{} = {}", attribute.name, attribute.text));
    out_ += fmt::format(" <{{{}}}>", fmt::join(parts, ", "));
  }
  if (op.num_regions() != 0) {
    out_ += " (";
    for (size_t i = 0; i < op.num_regions(); ++i) {
      if (i) out_ += ", ";
      region(op.nested(i));
    }
    out_ += ')';
  }
  dictionary(op, {});
  out_ += " : ";
  function_type(op);
}

void Printer::dot(const Op& op, std::vector<PrintedAttribute>& attributes) {
  out_ += ' ';
  names(op.operands());
  const auto& dot = op.as<DotAttributes>();
  if (op.kind == OpKind::dot_general) {
    if (!dot.lhs_batching.empty() || !dot.rhs_batching.empty())
      out_ += fmt::format(", batching_dims = {} x {}", list_text(dot.lhs_batching),
                          list_text(dot.rhs_batching));
    out_ += fmt::format(", contracting_dims = {} x {}", list_text(dot.lhs_contracting),
                        list_text(dot.rhs_contracting));
    pretty(attributes, "dot_dimension_numbers");
  }
  if (std::string precision = pretty(attributes, "precision_config"); !precision.empty())
    out_ += ", precision = " + precision;
  if (std::string algorithm = pretty(attributes, "algorithm"); !algorithm.empty())
    out_ += ", algorithm = " + algorithm;
  dictionary(op, attributes);
  form_types(op, TypesForm::function);
}

void Printer::convolution(const Op& op, std::vector<PrintedAttribute>& attributes) {
  out_ += '(';
  names(op.operands());
  out_ += fmt::format(") dim_numbers = {}, window = {{", pretty(attributes, "dimension_numbers"));
  constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {"stride", "window_strides"},
      {"pad", "padding"},
      {"lhs_dilate", "lhs_dilation"},
      {"rhs_dilate", "rhs_dilation"},
      {"reverse", "window_reversal"}};
  bool any = false;
  for (auto [field, attribute] : kFields) {
    std::string text = pretty(attributes, attribute);
    if (text.empty()) continue;
    out_ += fmt::format("{}{} = {}", any ? ", " : "", field, text);
    any = true;
  }
  out_ += '}';
  dictionary(op, attributes);
  form_types(op, TypesForm::function);
}

void Printer::slice(const Op& op, std::vector<PrintedAttribute>& attributes) {
  const auto& slice = op.as<SliceAttributes>();
  out_ += fmt::format(" {} [", name(op.operand(0)));
  for (size_t i = 0; i < slice.start.size(); ++i) {
    out_ += fmt::format("{}{}:{}", i ? ", " : "", slice.start[i], slice.limit[i]);
    if (slice.strides[i] != 1) out_ += fmt::format(":{}", slice.strides[i]);
  }
  out_ += ']';
  for (std::string_view used : {"start_indices", "limit_indices", "strides"})
    pretty(attributes, used);
  dictionary(op, attributes);
  form_types(op, TypesForm::function);
}

// The operation a reduction applies, when its region does nothing else and the short form says all
// of it.
static const Op* applied(const Op& reduce) {
  const Region& body = reduce.nested();
  if (reduce.num_operands() != 2 || body.arguments().size() != 2) return nullptr;
  const Op* inner = body.first();
  if (!inner || inner->next() != body.last() || body.last()->kind != OpKind::return_)
    return nullptr;
  const Op& end = *body.last();
  if (end.num_operands() != 1 || end.operand(0)->op() != inner || !end.extra.empty())
    return nullptr;
  const OpInfo& inner_info = info(inner->kind);
  bool plain = inner_info.operands == 2 && inner_info.results == 1 && inner->extra.empty() &&
               std::holds_alternative<NoAttributes>(inner->attributes) &&
               inner->num_regions() == 0 && inner->operand(0) == body.argument(0) &&
               inner->operand(1) == body.argument(1);
  if (!plain) return nullptr;
  Type scalar;
  const Type& init = reduce.operand(1)->type;
  scalar.dtype = init.dtype;
  if (init.quantized && !init.quantized->dimension) scalar.quantized = init.quantized;
  bool same = body.argument(0)->type == scalar && body.argument(1)->type == scalar &&
              inner->result()->type == scalar;
  return same ? inner : nullptr;
}

bool Printer::reduce(const Op& op, std::vector<PrintedAttribute>& attributes) {
  const size_t inputs = op.num_operands() / 2;
  const Region& body = op.nested();
  if (inputs == 0 || op.num_operands() % 2 != 0 || body.arguments().size() != 2 * inputs)
    return false;
  out_ += std::string(op.mnemonic());
  for (size_t i = 0; i < inputs; ++i)
    out_ += fmt::format("{}({} init: {})", i ? ", " : "", name(op.operand(i)),
                        name(op.operand(i + inputs)));
  const Op* inner = applied(op);
  if (inner) out_ += fmt::format(" applies {}", inner->mnemonic());
  out_ += " across dimensions = " + pretty(attributes, "dimensions");
  dictionary(op, attributes);
  form_types(op, TypesForm::function);
  if (inner) return true;
  ++indent_;
  line();
  --indent_;
  out_ += "reducer";
  Scope scope(*this);
  for (const Value* value : body.arguments()) name_argument(value);
  for (size_t i = 0; i < inputs; ++i) {
    out_ += i ? " (" : "(";
    argument(body.argument(i));
    out_ += ", ";
    argument(body.argument(i + inputs));
    out_ += ')';
  }
  out_ += " {";
  operations(body);
  line();
  out_ += '}';
  return true;
}

void Printer::while_loop(const Op& op, std::vector<PrintedAttribute>& attributes) {
  out_ += '(';
  {
    // Both regions use the same names; they are free, so they can be given twice.
    Scope scope(*this);
    for (size_t i = 0; i < op.num_operands(); ++i) {
      std::string given = name_argument(op.nested(1).argument(i));
      names_[op.nested(0).argument(i)] = given;
      out_ += fmt::format("{}{} = {}", i ? ", " : "", given, name(op.operand(i)));
    }
    out_ += ')';
    if (op.num_operands() != 0) {
      out_ += " : ";
      types(operand_types(op));
    }
    if (!attributes.empty() || !op.extra.empty()) {
      out_ += " attributes";
      dictionary(op, attributes);
    }
    line();
    out_ += " cond {";
    operations(op.nested(0));
    line();
    out_ += "} do {";
    operations(op.nested(1));
  }
  line();
  out_ += '}';
}

void Printer::manual_computation(const Op& op, std::vector<PrintedAttribute>& attributes) {
  out_ += '(';
  names(op.operands());
  out_ += ')';
  for (std::string_view attribute : {"in_shardings", "out_shardings", "manual_axes"})
    out_ += fmt::format(" {}={}", attribute, pretty(attributes, attribute));
  Scope scope(*this);
  const Region& body = op.nested();
  for (const Value* value : body.arguments()) name_argument(value);
  out_ += " (";
  for (size_t i = 0; i < body.arguments().size(); ++i) {
    if (i) out_ += ", ";
    argument(body.argument(i));
  }
  out_ += ") {";
  operations(body);
  line();
  out_ += '}';
  dictionary(op, attributes);
  form_types(op, TypesForm::function);
}

bool Printer::special(const Op& op, std::vector<PrintedAttribute>& attributes) {
  const std::string mnemonic(op.mnemonic());
  auto finish = [&](TypesForm form) {
    dictionary(op, attributes);
    form_types(op, form);
    return true;
  };
  switch (op.kind) {
    case OpKind::constant: {
      std::string text = pretty(attributes, "value");
      out_ += mnemonic;
      dictionary(op, attributes);
      out_ += " " + text;
      return true;
    }
    case OpKind::compare: {
      out_ += fmt::format("{} {}, ", mnemonic, pretty(attributes, "comparison_direction"));
      names(op.operands());
      if (std::string type = pretty(attributes, "compare_type"); !type.empty()) out_ += ", " + type;
      return finish(TypesForm::function);
    }
    case OpKind::dot:
    case OpKind::dot_general:
      out_ += mnemonic;
      dot(op, attributes);
      return true;
    case OpKind::convolution:
      out_ += mnemonic;
      convolution(op, attributes);
      return true;
    case OpKind::slice:
      out_ += mnemonic;
      slice(op, attributes);
      return true;
    case OpKind::reduce:
      return reduce(op, attributes);
    case OpKind::while_: {
      bool regular = op.num_regions() == 2 && op.num_results() == op.num_operands() &&
                     op.nested(0).arguments().size() == op.num_operands() &&
                     op.nested(1).arguments().size() == op.num_operands();
      for (size_t i = 0; regular && i < op.num_operands(); ++i) {
        const Type& type = op.operand(i)->type;
        regular = op.result(i)->type == type && op.nested(0).argument(i)->type == type &&
                  op.nested(1).argument(i)->type == type;
      }
      if (!regular) return false;
      out_ += mnemonic;
      while_loop(op, attributes);
      return true;
    }
    case OpKind::call: {
      out_ += fmt::format("{} {}(", op.region()->parent() ? "func.call" : "call",
                          pretty(attributes, "callee"));
      names(op.operands());
      out_ += ')';
      return finish(TypesForm::function);
    }
    case OpKind::custom_call: {
      pretty(attributes, "call_target_name");
      out_ += fmt::format("{} {}(", mnemonic, symbol_text(op.as<CustomCallAttributes>().target));
      names(op.operands());
      out_ += ')';
      return finish(TypesForm::function);
    }
    case OpKind::composite:
      out_ += fmt::format("{} {} ", mnemonic, pretty(attributes, "name"));
      names(op.operands());
      return finish(TypesForm::function);
    case OpKind::func_return:
    case OpKind::return_:
    case OpKind::sdy_return:
      out_ += op.kind == OpKind::func_return ? "return" : mnemonic;
      if (op.num_operands() != 0) out_ += ' ';
      names(op.operands());
      return finish(op.num_operands() != 0 ? TypesForm::operands : TypesForm::none);
    case OpKind::reduce_precision: {
      const auto& format = op.as<ReducePrecisionAttributes>();
      out_ += fmt::format("{} {}, format = e{}m{}", mnemonic, name(op.operand(0)),
                          format.exponent_bits, format.mantissa_bits);
      attributes.clear();
      return finish(TypesForm::same);
    }
    case OpKind::chlo_top_k:
      out_ += fmt::format("{}({}, k = {}", mnemonic, name(op.operand(0)), pretty(attributes, "k"));
      out_ += ')';
      return finish(TypesForm::arrow);
    case OpKind::get_tuple_element:
      out_ += fmt::format("{} {}[{}]", mnemonic, name(op.operand(0)), pretty(attributes, "index"));
      return finish(TypesForm::function);
    case OpKind::optimization_barrier:
      out_ += mnemonic;
      if (op.num_operands() == 0) {
        dictionary(op, attributes);
        out_ += "()";
        return true;
      }
      dictionary(op, attributes);
      out_ += ' ';
      names(op.operands());
      form_types(op, TypesForm::pairwise);
      return true;
    case OpKind::sdy_sharding_constraint:
      out_ +=
          fmt::format("{} {} {}", mnemonic, name(op.operand(0)), pretty(attributes, "sharding"));
      return finish(TypesForm::same);
    case OpKind::sdy_manual_computation:
      out_ += mnemonic;
      manual_computation(op, attributes);
      return true;
    default:
      return false;
  }
}

bool Printer::form(const Op& op, std::vector<PrintedAttribute>& attributes) {
  const Form* form = find_form(op.kind);
  if (!form) return special(op, attributes);
  if (op.kind == OpKind::create_token || op.kind == OpKind::after_all || op.num_results() == 1 ||
      form->types == TypesForm::function) {
    out_ += std::string(op.mnemonic());
    pattern(op, *form, attributes);
    return true;
  }
  return false;
}

}  // namespace ullage::syntax
