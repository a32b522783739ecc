#include "syntax/forms.h"

#include <array>
#include <vector>

namespace ullage::syntax {

// Operations that are missing here and have no other written form are read and printed generically.
static constexpr Form kForms[] = {
    {OpKind::broadcast, "%, sizes = [broadcast_sizes]", TypesForm::function},
    {OpKind::broadcast_in_dim, "%, dims = [broadcast_dimensions]", TypesForm::function},
    {OpKind::transpose, "%, dims = [permutation]", TypesForm::function},
    {OpKind::reverse, "%, dims = [dimensions]", TypesForm::same},
    {OpKind::iota, "dim = <iota_dimension>", TypesForm::result},
    {OpKind::dynamic_iota, "%, dim = <iota_dimension>", TypesForm::function},
    {OpKind::reshape, "%", TypesForm::function},
    {OpKind::bitcast_convert, "%", TypesForm::function},
    {OpKind::concatenate, "%*, dim = <dimension>", TypesForm::function},
    {OpKind::pad,
     "%, %, low = [edge_padding_low], high = [edge_padding_high], interior = [interior_padding]",
     TypesForm::function},
    {OpKind::dynamic_slice, "%*, sizes = [slice_sizes]", TypesForm::function},
    {OpKind::dynamic_update_slice, "%*", TypesForm::function},

    {OpKind::dynamic_broadcast_in_dim, "%, %, dims = [broadcast_dimensions]", TypesForm::function},
    {OpKind::dynamic_pad, "%*", TypesForm::function},
    {OpKind::dynamic_reshape, "%*", TypesForm::function},
    {OpKind::real_dynamic_slice, "%*", TypesForm::function},
    {OpKind::get_dimension_size, "%, dim = <dimension>", TypesForm::function},
    {OpKind::set_dimension_size, "%, %, dim = <dimension>", TypesForm::function},

    {OpKind::cholesky, "%, lower = <lower>", TypesForm::same},
    {OpKind::einsum, "%, %, config = <einsum_config>", TypesForm::function},
    {OpKind::unary_einsum, "%, config = <einsum_config>", TypesForm::function},
    {OpKind::fft, "%, type = {fft_type}, length = [fft_length]", TypesForm::function},

    {OpKind::rng, "%, %, %, distribution = {rng_distribution}", TypesForm::function},
    {OpKind::rng_bit_generator, "%, algorithm = {rng_algorithm}", TypesForm::function},

    {OpKind::after_all, "%*", TypesForm::same},
    {OpKind::create_token, "", TypesForm::result},
    {OpKind::partition_id, "", TypesForm::result},
    {OpKind::replica_id, "", TypesForm::result},
    {OpKind::tuple, "%*", TypesForm::tuple},

    {OpKind::select, "%, %, %", TypesForm::select},
    {OpKind::complex, "%, %", TypesForm::complex},
};

static std::vector<Form> make_table() {
  std::vector<Form> table(static_cast<size_t>(kOpKindCount), Form{OpKind{}, {}, TypesForm::none});
  auto put = [&](const Form& form) { table[static_cast<size_t>(form.kind)] = form; };
  for (int i = 0; i < kOpKindCount; ++i) {
    auto kind = static_cast<OpKind>(i);
    const OpInfo& op = info(kind);
    if (op.family != OpFamily::elementwise && op.family != OpFamily::chlo) continue;
    if (op.operands < 1 || op.operands > 3 || op.results != 1 || !has_trait(kind, kElementwise))
      continue;
    constexpr std::array<std::string_view, 4> kOperands = {"", "%", "%, %", "%, %, %"};
    put({kind, kOperands[static_cast<size_t>(op.operands)],
         op.family == OpFamily::chlo ? TypesForm::arrow : TypesForm::same});
  }
  for (const Form& form : kForms) put(form);
  for (OpKind special : {OpKind::compare, OpKind::reduce_precision})
    table[static_cast<size_t>(special)] = Form{};
  return table;
}

const Form* find_form(OpKind kind) {
  static const std::vector<Form> table = make_table();
  const Form& form = table[static_cast<size_t>(kind)];
  return form.types == TypesForm::none ? nullptr : &form;
}

FormPiece next_piece(std::string_view& pattern) {
  auto take = [&](size_t count) {
    std::string_view text = pattern.substr(0, count);
    pattern.remove_prefix(count);
    return text;
  };
  auto bracketed = [&](FormPiece::Kind kind, char close) {
    std::string_view text = take(pattern.find(close) + 1);
    return FormPiece{kind, text.substr(1, text.size() - 2)};
  };
  switch (pattern.front()) {
    case '%':
      if (pattern.starts_with("%*")) return {FormPiece::Kind::operands, take(2)};
      return {FormPiece::Kind::operand, take(1)};
    case '[':
      return bracketed(FormPiece::Kind::integers, ']');
    case '<':
      return bracketed(FormPiece::Kind::scalar, '>');
    case '{':
      return bracketed(FormPiece::Kind::keyword, '}');
    default:
      return {FormPiece::Kind::literal,
              take(std::min(pattern.find_first_of("%[<{"), pattern.size()))};
  }
}

}  // namespace ullage::syntax
