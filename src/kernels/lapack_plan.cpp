#include "kernels/lapack_plan.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "kernels/sort_plan.h"

namespace ullage {

namespace {

constexpr int64_t kBlock = 64;  // columns that blocked routines take at a time, at most

struct Target {
  std::string_view name;  // between "lapack_?" and "_ffi", or all of it
  LapackRoutine routine;
};
constexpr Target kTargets[] = {
    {"potrf", LapackRoutine::potrf}, {"trsm", LapackRoutine::trsm},
    {"getrf", LapackRoutine::getrf}, {"geqrf", LapackRoutine::geqrf},
    {"geqp3", LapackRoutine::geqp3}, {"orgqr", LapackRoutine::orgqr},
    {"ungqr", LapackRoutine::orgqr}, {"ormqr", LapackRoutine::ormqr},
    {"unmqr", LapackRoutine::ormqr}, {"gesdd", LapackRoutine::gesdd},
    {"gesvd", LapackRoutine::gesvd}, {"syevd", LapackRoutine::syevd},
    {"heevd", LapackRoutine::syevd}, {"geev", LapackRoutine::geev},
    {"gees", LapackRoutine::gees},   {"gehrd", LapackRoutine::gehrd},
    {"sytrd", LapackRoutine::sytrd}, {"hetrd", LapackRoutine::sytrd},
    {"gtsv", LapackRoutine::gtsv},
};
// Names without a type: XLA's own.
constexpr Target kPlainTargets[] = {
    {"Qr", LapackRoutine::geqrf},
    {"ProductOfElementaryHouseholderReflectors", LapackRoutine::orgqr},
};

const Target* find_target(std::string_view name) {
  for (const Target& target : kPlainTargets)
    if (target.name == name) return &target;
  constexpr std::string_view prefix = "lapack_", suffix = "_ffi";
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return nullptr;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  if (name.empty() || std::string_view("sdcz").find(name[0]) == std::string_view::npos)
    return nullptr;
  for (const Target& target : kTargets)
    if (target.name == name.substr(1)) return &target;
  return nullptr;
}

// The number behind "key = " in a dictionary as written, "true" and "false" as 1 and 0.
std::optional<int64_t> entry(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '{' && text[at - 1] != ',') continue;
    std::string_view rest = text.substr(at + key.size());
    size_t value = rest.find_first_not_of(" =");
    if (value == std::string_view::npos || rest.find('=') > value) continue;
    rest.remove_prefix(value);
    if (rest.starts_with("true")) return 1;
    if (rest.starts_with("false")) return 0;
    int64_t number = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec == std::errc())
      return number;
  }
  return {};
}

std::string dictionary(const Op& op) {
  for (const NamedAttribute& attribute : op.extra)
    if (attribute.name == "mhlo.backend_config") return attribute.text;
  return op.as<CustomCallAttributes>().backend_config;
}

DType held_dtype(DType dtype) {
  return dtype == DType::bf16 || dtype == DType::f16 ? DType::f32 : dtype;
}

int64_t at(const Type& type, int64_t from_last) {
  return type.shape[type.shape.size() - static_cast<size_t>(from_last)];
}

LapackPart part_of(const Type& type, int64_t batch_rank) {
  LapackPart part;
  part.stored = type.dtype;
  part.held = held_dtype(type.dtype);
  int64_t own = type.rank() - batch_rank;
  if (own >= 1) part.rows = type.shape[static_cast<size_t>(batch_rank)];
  if (own >= 2) part.columns = type.shape[static_cast<size_t>(batch_rank) + 1];
  part.bytes = part.rows * part.columns * storage_bytes(type.dtype);
  return part;
}

// Batch dimensions outermost, matrices column-major: the only order in which JAX passes them.
bool column_major(const Dims& layout, int64_t rank, int64_t batch_rank) {
  Dims want;
  if (rank - batch_rank == 2)
    want = {rank - 2, rank - 1};
  else if (rank - batch_rank == 1)
    want = {rank - 1};
  for (int64_t d = batch_rank; d-- > 0;) want.push_back(d);
  return layout == want;
}

// Sizes of the work arrays; not below what the routines ask for, and enough for blocks of kBlock.
void size_work(LapackPlan& plan) {
  const LapackPart& a = plan.operands[0];
  int64_t m = std::max<int64_t>(1, a.rows), n = std::max<int64_t>(1, a.columns);
  int64_t least = std::min(m, n), most = std::max(m, n);
  bool complex = is_complex(plan.dtype);
  double dm = static_cast<double>(m), dn = static_cast<double>(n), dl = static_cast<double>(least);
  plan.operations = 2 * dm * dn * dl;
  switch (plan.routine) {
    case LapackRoutine::potrf:
      plan.operations = dn * dn * dn / 3;
      break;
    case LapackRoutine::trsm:
      plan.operations = dn * dn * static_cast<double>(plan.operands[1].rows) *
                        static_cast<double>(plan.operands[1].columns) / std::max(dn, 1.0);
      break;
    case LapackRoutine::getrf:
      break;
    case LapackRoutine::geqrf:
      plan.work = n * kBlock;
      break;
    case LapackRoutine::geqp3:
      plan.work = 2 * n + (n + 1) * kBlock;
      plan.real_work = complex ? 2 * n : 0;
      break;
    case LapackRoutine::orgqr:
      plan.work = n * kBlock;
      break;
    case LapackRoutine::ormqr: {
      int64_t rows = std::max<int64_t>(1, plan.operands[2].rows),
              columns = std::max<int64_t>(1, plan.operands[2].columns);
      // The triangular factors of its blocks are kept there as well.
      plan.work = (plan.side == 'L' ? columns : rows) * kBlock + (kBlock + 1) * kBlock;
      break;
    }
    case LapackRoutine::gesdd:
      plan.work = 4 * least * least + 8 * least + most + (m + n) * kBlock;
      if (!complex && plan.mode == 'N') plan.work = 10 * least + most + (m + n) * kBlock;
      if (complex)
        plan.real_work = plan.mode == 'N' ? 7 * least
                                          : std::max(5 * least * least + 7 * least,
                                                     2 * most * least + 2 * least * least + least);
      plan.integer_work = 8 * least;
      plan.operations = 22 * dl * dl * dl + 4 * dm * dn * dl;
      break;
    case LapackRoutine::gesvd:
      plan.work = std::max(3 * least + most, 5 * least) + least * least + (m + n) * kBlock;
      plan.real_work = complex ? 5 * least : 0;
      plan.operations = 26 * dl * dl * dl + 4 * dm * dn * dl;
      break;
    case LapackRoutine::syevd: {
      bool vectors = plan.mode == 'V';
      if (complex) {
        plan.work = (vectors ? 2 * n + n * n : n + 1) + n * kBlock;
        plan.real_work = vectors ? 1 + 5 * n + 2 * n * n : n;
      } else {
        plan.work = (vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1) + n * kBlock;
      }
      plan.integer_work = 3 + 5 * n;
      plan.operations = 9 * dn * dn * dn;
      break;
    }
    case LapackRoutine::geev:
      plan.work = 4 * n + n * kBlock;
      // Of a real matrix: the vectors of conjugate pairs, before they become complex.
      plan.real_work = complex ? 2 * n : 2 * n * n;
      plan.operations = 25 * dn * dn * dn;
      break;
    case LapackRoutine::gees:
      plan.work = 3 * n + n * kBlock;
      plan.real_work = complex ? n : 0;
      plan.integer_work = n;
      plan.operations = 25 * dn * dn * dn;
      break;
    case LapackRoutine::gehrd:
      plan.work = n * kBlock + (kBlock + 1) * kBlock;
      plan.operations = 10 * dn * dn * dn / 3;
      break;
    case LapackRoutine::sytrd:
      plan.work = n * kBlock;
      plan.operations = 4 * dn * dn * dn / 3;
      break;
    case LapackRoutine::gtsv:
      plan.operations = 10 * dm * static_cast<double>(plan.operands[3].columns);
      break;
  }
  if (complex) plan.operations *= 4;
}

void place(LapackPlan& plan) {
  int64_t offset = 0;
  auto take = [&offset](int64_t bytes) {
    int64_t here = offset;
    offset += scratch_aligned(bytes);
    return here;
  };
  auto take_part = [&](LapackPart& part) {
    part.offset = take(part.rows * part.columns * storage_bytes(part.held));
  };
  for (LapackPart& part : plan.operands) plan.transposed ? void(part.offset = -1) : take_part(part);
  for (size_t i = 0; i < plan.results.size(); ++i) {
    int64_t operand = overwritten_operand(plan.routine, i);
    if (operand >= 0)
      plan.results[i].offset = plan.operands[static_cast<size_t>(operand)].offset;
    else
      take_part(plan.results[i]);
  }
  int64_t element = storage_bytes(plan.dtype);
  plan.work_offset = take(plan.work * element);
  plan.real_work_offset = take(plan.real_work * (is_complex(plan.dtype) ? element / 2 : element));
  plan.integer_work_offset = take(plan.integer_work * 4);
  plan.worker_bytes = offset;
}

LapackChoice refused(std::string why) {
  LapackChoice out;
  out.refusal = std::move(why);
  return out;
}

LapackChoice finish(LapackPlan plan, const Op& op, int64_t batch_rank) {
  for (int64_t d = 0; d < batch_rank; ++d)
    plan.batch *= op.operand(0)->type.shape[static_cast<size_t>(d)];
  for (Value* operand : op.operands()) plan.operands.push_back(part_of(operand->type, batch_rank));
  for (Value* result : op.results()) plan.results.push_back(part_of(result->type, batch_rank));
  for (const std::vector<LapackPart>* parts : {&plan.operands, &plan.results})
    for (const LapackPart& part : *parts)
      if (part.rows * part.columns >= int64_t{1} << 31)
        return refused("matrices have more elements than LAPACK numbers");
  for (size_t i = 0; i < plan.results.size(); ++i) plan.results[i].read = op.result(i)->has_uses();
  if ((plan.routine == LapackRoutine::gesdd || plan.routine == LapackRoutine::gesvd) &&
      plan.mode == 'N')
    for (size_t i : {size_t{2}, size_t{3}})  // the vectors that are not computed
      if (!plan.results[i].read) plan.results[i].rows = plan.results[i].columns = 1;
  plan.dtype = plan.operands[0].held;
  size_work(plan);
  plan.transposed = (plan.routine == LapackRoutine::potrf || plan.routine == LapackRoutine::trsm) &&
                    plan.operands[0].stored == plan.operands[0].held;
  if (plan.transposed) {
    plan.uplo = plan.uplo == 'L' ? 'U' : 'L';
    plan.side = plan.side == 'L' ? 'R' : 'L';
  }
  place(plan);
  LapackChoice out;
  out.plan = std::move(plan);
  return out;
}

LapackChoice plan_custom_call(const Op& op) {
  const auto& a = op.as<CustomCallAttributes>();
  const Target& target = *find_target(a.target);
  LapackPlan plan;
  plan.routine = target.routine;
  const Type& first = op.operand(0)->type;
  int64_t batch_rank = first.rank() - (plan.routine == LapackRoutine::gtsv ? 1 : 2);
  if (batch_rank < 0) return refused("its operands have too few dimensions");
  bool plain = !a.target.starts_with("lapack_");
  if (plain) {
    if (!is_float(first.dtype) || storage_bytes(first.dtype) < 4)
      return refused("elements of type " + std::string(name(first.dtype)));
  } else {
    DType wanted = a.target[7] == 's'   ? DType::f32
                   : a.target[7] == 'd' ? DType::f64
                   : a.target[7] == 'c' ? DType::c64
                                        : DType::c128;
    if (first.dtype != wanted)
      return refused("an operand of type " + std::string(name(first.dtype)));
    auto layouts_hold = [&](const std::vector<Dims>& layouts, const auto& values) {
      if (layouts.size() != values.size()) return false;
      for (size_t i = 0; i < values.size(); ++i)
        if (!column_major(layouts[i], values[i]->type.rank(), batch_rank)) return false;
      return true;
    };
    if (!layouts_hold(a.operand_layouts, op.operands()) ||
        !layouts_hold(a.result_layouts, op.results()))
      return refused("operand and result layouts must be those of column-major matrices");
  }
  struct Signature {
    LapackRoutine routine;
    size_t operands, results, complex_results;
  };
  static constexpr Signature kSignatures[] = {
      {LapackRoutine::potrf, 1, 2, 2}, {LapackRoutine::trsm, 2, 1, 1},
      {LapackRoutine::getrf, 1, 3, 3}, {LapackRoutine::geqrf, 1, 2, 2},
      {LapackRoutine::geqp3, 2, 3, 3}, {LapackRoutine::orgqr, 2, 1, 1},
      {LapackRoutine::ormqr, 3, 1, 1}, {LapackRoutine::gesdd, 1, 5, 5},
      {LapackRoutine::gesvd, 1, 5, 5}, {LapackRoutine::syevd, 1, 3, 3},
      {LapackRoutine::geev, 1, 5, 4},  {LapackRoutine::gees, 1, 6, 5},
      {LapackRoutine::gehrd, 1, 3, 3}, {LapackRoutine::sytrd, 1, 5, 5},
      {LapackRoutine::gtsv, 4, 5, 5},
  };
  const Signature& signature =
      *std::find_if(std::begin(kSignatures), std::end(kSignatures),
                    [&](const Signature& s) { return s.routine == plan.routine; });
  size_t results = is_complex(first.dtype) ? signature.complex_results : signature.results;
  if (op.num_operands() != signature.operands || op.num_results() != results)
    return refused("it has other operands or results than this version of JAX gives it");
  for (Value* value : op.operands())
    if (value->type.rank() < batch_rank) return refused("its operands have too few dimensions");
  for (Value* value : op.results())
    if (value->type.rank() < batch_rank) return refused("its results have too few dimensions");

  std::string text = dictionary(op);
  auto character = [&](std::string_view key, char& out) {
    if (std::optional<int64_t> code = entry(text, key)) out = static_cast<char>(*code);
  };
  character("uplo", plan.uplo);
  character("side", plan.side);
  character("trans_x", plan.trans);
  character("diag", plan.diag);
  character("mode", plan.mode);
  character("compute_left", plan.left);
  character("compute_right", plan.right);
  if (plan.routine == LapackRoutine::ormqr) {
    plan.side = entry(text, "left").value_or(1) ? 'L' : 'R';
    plan.trans = !entry(text, "transpose").value_or(0) ? 'N' : is_complex(first.dtype) ? 'C' : 'T';
  }
  plan.low = static_cast<int>(entry(text, "low").value_or(1));
  plan.high = static_cast<int>(entry(text, "high").value_or(at(first, 1)));
  char sort = 'N';
  character("sort", sort);
  if (sort != 'N') return refused("a Schur form with chosen eigenvalues first");
  if (plan.mode == 'O') return refused("singular vectors in place of the operand");
  return finish(std::move(plan), op, batch_rank);
}

}  // namespace

int64_t overwritten_operand(LapackRoutine routine, size_t result) {
  switch (routine) {
    case LapackRoutine::geev:
      return -1;
    case LapackRoutine::trsm:
      return result == 0 ? 1 : -1;
    case LapackRoutine::ormqr:
      return result == 0 ? 2 : -1;
    case LapackRoutine::geqp3:
      return result < 2 ? static_cast<int64_t>(result) : -1;
    case LapackRoutine::gtsv:
      return result < 4 ? static_cast<int64_t>(result) : -1;
    default:
      return result == 0 ? 0 : -1;
  }
}

bool is_lapack_target(std::string_view target) {
  return find_target(target) != nullptr;
}

LapackChoice plan_lapack(const Op& op) {
  if (op.kind == OpKind::custom_call) return plan_custom_call(op);
  const auto& t = op.as<TriangularAttributes>();
  const Type& first = op.operand(0)->type;
  LapackPlan plan;
  DType held = held_dtype(first.dtype);
  if (held != DType::f32 && held != DType::f64 && !is_complex(held))
    return refused("elements of type " + std::string(name(first.dtype)));
  plan.uplo = t.lower ? 'L' : 'U';
  plan.routine = LapackRoutine::potrf;
  plan.clear_triangle = true;
  if (op.kind == OpKind::triangular_solve) {
    plan.routine = LapackRoutine::trsm;
    plan.side = t.left_side ? 'L' : 'R';
    plan.diag = t.unit_diagonal ? 'U' : 'N';
    plan.trans = t.transpose_a == TransposeKind::no_transpose ? 'N'
                 : t.transpose_a == TransposeKind::transpose  ? 'T'
                                                              : 'C';
  }
  return finish(std::move(plan), op, first.rank() - 2);
}

}  // namespace ullage
