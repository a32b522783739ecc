#include "plan/validate_access.h"

#include <algorithm>
#include <array>

namespace ullage {

namespace {

// An expression with the box of its loop space that a piece runs over.
struct Space {
  const Expr* full = nullptr;
  const Expr* run = nullptr;
  std::vector<int64_t> lower, upper;
  int cut = -1;  // the dimension of the axis
};

void add_dims(Space& space, const std::vector<int64_t>& extents, bool cut, const PlanStep& step) {
  for (size_t d = 0; d < extents.size(); ++d) {
    bool here = cut && d == 0;
    if (here) space.cut = static_cast<int>(space.lower.size());
    space.lower.push_back(here ? step.lower : 0);
    space.upper.push_back(here ? step.upper : extents[d]);
  }
}

int cut_loop_dim(const LoopKernel& loop, PieceAxis axis) {
  if (axis.parallel()) return axis.dim;
  for (size_t d = 0; d < loop.roles.size(); ++d)
    if (loop.roles[d] == LoopRole::reduced) return static_cast<int>(d);
  return -1;
}

std::vector<Space> spaces(const Kernel& kernel, const Kernel& running, const PlanStep& step) {
  std::vector<Space> out;
  if (const LoopKernel* loop = kernel.get<LoopKernel>()) {
    Space space{&loop->expr, &running.get<LoopKernel>()->expr, {}, {}, -1};
    int cut = step.axis.whole() ? -1 : cut_loop_dim(*loop, step.axis);
    for (size_t d = 0; d < loop->extents.size(); ++d)
      add_dims(space, {loop->extents[d]}, static_cast<int>(d) == cut, step);
    space.cut = cut;
    return {space};
  }
  const DotKernel& dot = *kernel.get<DotKernel>();
  const DotKernel& run = *running.get<DotKernel>();
  bool m = step.axis.parallel() && step.axis.dim == 0;
  bool n = step.axis.parallel() && step.axis.dim == 1;
  bool k = step.axis.contracted(), batch = step.axis.parallel() && step.axis.dim == 2;
  out = {{&dot.lhs, &run.lhs, {}, {}, -1},
         {&dot.rhs, &run.rhs, {}, {}, -1},
         {&dot.epilogue, &run.epilogue, {}, {}, -1}};
  for (Space& space : out) add_dims(space, dot.batch, batch, step);
  add_dims(out[0], dot.m, m, step);
  add_dims(out[0], dot.k, k, step);
  add_dims(out[1], dot.k, k, step);
  add_dims(out[1], dot.n, n, step);
  add_dims(out[2], dot.m, m, step);
  add_dims(out[2], dot.n, n, step);
  return out;
}

int64_t at(const Affine& affine, const std::vector<int64_t>& point) {
  int64_t address = affine.constant;
  for (size_t d = 0; d < affine.coefficients.size(); ++d)
    address += affine.coefficients[d] * point[d];
  return address;
}

// The least and the greatest that the terms which depend on data add to an address, where each is
// clamped by constants.
std::optional<std::pair<int64_t, int64_t>> data_reach(const Expr& expr, const Access& access) {
  std::pair<int64_t, int64_t> reach{0, 0};
  for (const Access::Dynamic& term : access.dynamic) {
    const ExprNode& index = expr.nodes[static_cast<size_t>(term.node)];
    if (index.kind != ExprNode::Kind::op || index.op != OpKind::clamp) return {};
    std::array<int64_t, 2> ends;
    for (size_t e = 0; e < 2; ++e) {
      const ExprNode& bound = expr.nodes[static_cast<size_t>(index.operands[2 * e])];
      if (bound.kind != ExprNode::Kind::constant) return {};
      ends[e] = static_cast<int64_t>(bound.bits[0]) * term.stride;
    }
    reach.first += std::min(ends[0], ends[1]);
    reach.second += std::max(ends[0], ends[1]);
  }
  return reach;
}

// Calls f(point) at the ends, next to them and in the middle of every dimension; stops when it
// returns false.
template <typename F>
bool at_points(const Space& space, const F& f) {
  size_t rank = space.lower.size();
  std::vector<std::vector<int64_t>> values(rank);
  for (size_t d = 0; d < rank; ++d) {
    int64_t lower = space.lower[d], upper = space.upper[d];
    if (lower >= upper) return true;
    values[d] = {lower, upper - 1};
    if (rank <= 5) values[d].insert(values[d].end(), {lower + 1, (lower + upper) / 2});
    std::sort(values[d].begin(), values[d].end());
    values[d].erase(std::unique(values[d].begin(), values[d].end()), values[d].end());
    if (values[d].back() >= upper) values[d].pop_back();
  }
  std::vector<size_t> digits(rank, 0);
  std::vector<int64_t> point(rank);
  for (;;) {
    for (size_t d = 0; d < rank; ++d) point[d] = values[d][digits[d]];
    if (!f(point)) return false;
    size_t d = rank;
    while (d > 0 && ++digits[d - 1] == values[d - 1].size()) digits[--d] = 0;
    if (d == 0) return true;
  }
}

// Place of element `address` of the value in the buffer, or nothing if it is not there.
std::optional<int64_t> place(const Placement& placement, int64_t address) {
  if (placement.whole()) return address;
  int64_t round = placement.cut.stride * placement.cut.extent;
  int64_t coordinate = address / placement.cut.stride % placement.cut.extent;
  if (coordinate < placement.lower || coordinate >= placement.upper) return {};
  return address / round * placement.spacing +
         (coordinate - placement.origin) * placement.cut.stride + address % placement.cut.stride;
}

const std::vector<KernelOutput>& outputs(const Kernel& kernel) {
  const LoopKernel* loop = kernel.get<LoopKernel>();
  return loop ? loop->outputs : kernel.get<DotKernel>()->outputs;
}

bool same_nodes(const Expr& a, const Expr& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    ExprNode node = b.nodes[i];
    if (node.kind == ExprNode::Kind::load && a.nodes[i].access.dynamic == node.access.dynamic)
      node.access = a.nodes[i].access;
    if (!(node == a.nodes[i])) return false;
  }
  return true;
}

bool same_outputs(const Kernel& a, const Kernel& b) {
  return std::equal(outputs(a).begin(), outputs(a).end(), outputs(b).begin(), outputs(b).end(),
                    [](const KernelOutput& x, const KernelOutput& y) {
                      return x.node == y.node && x.store.dynamic == y.store.dynamic;
                    });
}

}  // namespace

std::optional<int64_t> cut_extent(const Kernel& kernel, const KernelGraph& graph, PieceAxis axis) {
  if (const LoopKernel* loop = kernel.get<LoopKernel>()) {
    int d = cut_loop_dim(*loop, axis);
    if (d < 0 || static_cast<size_t>(d) >= loop->extents.size()) return {};
    LoopRole role = axis.parallel() ? LoopRole::parallel : LoopRole::reduced;
    if (loop->roles[static_cast<size_t>(d)] != role) return {};
    return loop->extents[static_cast<size_t>(d)];
  }
  if (const DotKernel* dot = kernel.get<DotKernel>()) {
    const std::vector<int64_t>& group = axis.contracted() ? dot->k
                                        : axis.dim == 0   ? dot->m
                                        : axis.dim == 1   ? dot->n
                                                          : dot->batch;
    if (group.empty() || axis.dim > 2) return {};
    return group[0];
  }
  if (!kernel.get<RngKernel>() || !axis.parallel()) return {};
  const Type& bits = graph.values[static_cast<size_t>(kernel.outputs[1])].type;
  if (axis.dim < 0 || axis.dim > 1 || axis.dim >= bits.rank()) return {};
  return bits.shape[static_cast<size_t>(axis.dim)];
}

bool same_but_addresses(const Kernel& kernel, const Kernel& variant) {
  if (const RngKernel* a = kernel.get<RngKernel>()) {
    const RngKernel* b = variant.get<RngKernel>();
    return b && a->algorithm == b->algorithm;
  }
  if (const LoopKernel* a = kernel.get<LoopKernel>()) {
    const LoopKernel* b = variant.get<LoopKernel>();
    if (!b || a->extents != b->extents || a->roles != b->roles ||
        a->reduction.has_value() != b->reduction.has_value())
      return false;
    if (a->reduction && (a->reduction->combiner != b->reduction->combiner ||
                         a->reduction->initial != b->reduction->initial ||
                         a->reduction->body_results != b->reduction->body_results ||
                         a->reduction->body.nodes != b->reduction->body.nodes))
      return false;
    return same_nodes(a->expr, b->expr) && same_outputs(kernel, variant);
  }
  const DotKernel* a = kernel.get<DotKernel>();
  const DotKernel* b = variant.get<DotKernel>();
  return a && b && a->batch == b->batch && a->m == b->m && a->n == b->n && a->k == b->k &&
         a->lhs_root == b->lhs_root && a->rhs_root == b->rhs_root && same_nodes(a->lhs, b->lhs) &&
         same_nodes(a->rhs, b->rhs) && same_nodes(a->epilogue, b->epilogue) &&
         same_outputs(kernel, variant);
}

bool loads_agree(const Kernel& kernel, const Kernel& running, const PlanStep& step, size_t i,
                 const Placement& placement, int64_t shift, int64_t elements) {
  if (!kernel.get<LoopKernel>() && !kernel.get<DotKernel>()) return placement.whole() && shift == 0;
  for (const Space& space : spaces(kernel, running, step))
    for (size_t n = 0; n < space.full->nodes.size(); ++n) {
      const ExprNode& full = space.full->nodes[n];
      if (full.kind != ExprNode::Kind::load || full.input != static_cast<int32_t>(i)) continue;
      const Access& run = space.run->nodes[n].access;
      if (placement.whole()) {
        if (!(run == full.access) || shift != 0) return false;
        continue;
      }
      if (run.dynamic != full.access.dynamic) return false;
      auto reach = data_reach(*space.full, full.access);
      if (!reach) return false;
      bool agrees = at_points(space, [&](const std::vector<int64_t>& point) {
        for (int64_t moved : {reach->first, reach->second}) {
          int64_t address = at(full.access.affine, point) + moved;
          if (address < 0 || address >= elements) {
            if (full.guard < 0) return false;
          } else if (place(placement, address) != at(run.affine, point) + moved - shift) {
            return false;
          }
        }
        return true;
      });
      if (!agrees) return false;
    }
  return true;
}

std::optional<Placement> stored(const Kernel& kernel, const Kernel& running, const PlanStep& step,
                                size_t o, int64_t extent, int64_t shift, int64_t elements,
                                int64_t room) {
  Space space = spaces(kernel, running, step).back();
  const Access& full = outputs(kernel)[o].store;
  const Access& run = outputs(running)[o].store;
  if (space.cut < 0 || !full.dynamic.empty()) return {};
  size_t cut = static_cast<size_t>(space.cut);
  Placement out;
  out.cut.stride = full.affine.coefficients[cut];
  out.cut.extent = extent;
  out.lower = step.lower;
  out.upper = step.upper;
  int64_t round = out.cut.stride * out.cut.extent;
  if (out.cut.stride <= 0 || elements % round != 0) return {};
  if (room == elements) {
    out.spacing = round;
  } else {
    out.origin = step.lower;
    for (size_t d = 0; d < full.affine.coefficients.size(); ++d) {
      int64_t rounds = full.affine.coefficients[d] / round;
      if (d != cut && rounds > 0 && full.affine.coefficients[d] % round == 0)
        out.spacing = run.affine.coefficients[d] / rounds;
    }
    int64_t length = (out.upper - out.lower) * out.cut.stride;
    if (elements > round && out.spacing < length) return {};
    if ((elements / round - 1) * out.spacing + length > room) return {};
  }
  bool agrees = at_points(space, [&](const std::vector<int64_t>& point) {
    int64_t address = at(full.affine, point);
    return address / out.cut.stride % out.cut.extent == point[cut] &&
           place(out, address) == at(run.affine, point) - shift;
  });
  if (!agrees) return {};
  return out;
}

}  // namespace ullage
