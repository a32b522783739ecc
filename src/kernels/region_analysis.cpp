#include "kernels/region_analysis.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <unordered_map>

#include "kernels/expr.h"
#include "kernels/expr_builder.h"
#include "kernels/kernel_graph.h"
#include "kernels/window.h"

namespace ullage {

namespace {

constexpr size_t kMaxLeaves = 24;       // buffers one kernel reads
constexpr double kMaxOperations = 500;  // operations one expression holds
constexpr double kCheapOperations =
    64;  // computed again in each kernel that reads it, if that keeps nothing alive
constexpr double kBroadcastOperations = 4;  // computed for every repetition of a broadcast
constexpr int64_t kSmallBytes = 4096;       // values that matter to nobody
constexpr int64_t kLargeBytes = int64_t{1} << 20;
constexpr int64_t kFewElements = 64;  // one in so many

struct Info {
  std::vector<Value*> leaves;  // stored values that the expression reads
  double operations = 0;       // per element, without those of generators
  // What the expression holds: elementwise operations once each, and what is read at another index
  // with all that computes it, by position.
  std::vector<std::pair<int64_t, double>> held;
  double held_operations() const {
    double total = 0;
    for (const auto& [position, operations] : held) total += operations;
    return total;
  }
  bool generator = false;  // a function of small things: never worth memory
};

class Analyzer {
 public:
  Analyzer(const Module& module, const Region& region) : module_(module), region_(region) {}

  RegionAnalysis run() {
    number_operations();
    find_forced();
    find_post_dominators();
    for (Op* op : region_) visit(op);
    return std::move(result_);
  }

 private:
  static bool is_splat(const Op& op) {
    if (op.kind != OpKind::constant) return false;
    const Literal& literal = op.as<ConstantAttributes>().value;
    return literal.splat || literal.type.num_elements() == 1;
  }

  // The same bytes under another type.
  static bool is_bitcast(const Op& op) {
    if (op.kind == OpKind::bitcast_convert) {
      int from = bit_width(op.operand(0)->type.dtype), to = bit_width(op.result()->type.dtype);
      return from != to && from >= 8 && to >= 8;
    }
    return op.kind == OpKind::reshape && !is_unit_reshape(op.operand(0)->type, op.result()->type);
  }

  // Whether the result is its operand's buffer. One element in each place needs none to be
  // reshaped, but the parts of an element do.
  static bool shares_buffer(const Op& op) {
    return is_bitcast(op) && (op.kind == OpKind::bitcast_convert || !is_splat_value(op.operand(0)));
  }

  void number_operations() {
    int64_t position = 0;
    for (Op* op : region_) position_[op] = position++;
    end_ = position;
  }

  // The operation of this region that `user` is, or is nested in.
  Op* in_region(Op* user) const {
    while (user->region() != &region_) user = user->region()->parent();
    return user;
  }

  bool needs_buffer(const Op& op, size_t operand) const {
    switch (op.kind) {
      case OpKind::reduce:
      case OpKind::dot_general:
        return false;
      case OpKind::dynamic_update_slice:
        return operand == 0 && !is_fusible(module_, op);
      case OpKind::scatter:  // updates and indices may be virtual
        return operand < op.num_results();
      case OpKind::reduce_window:  // elements that many windows cover are computed once
        return operand < op.num_results() && !cumulative(op) &&
               !is_splat_value(op.operand(operand));
      case OpKind::select_and_scatter:
        return operand == 0 && !is_splat_value(op.operand(0));
      case OpKind::reshape:
      case OpKind::bitcast_convert:
        return shares_buffer(op);
      default:
        return !is_fusible(module_, op);
    }
  }

  // The regions are part of the kernel.
  static bool has_combiner(OpKind kind) {
    return kind == OpKind::reduce || kind == OpKind::scatter || kind == OpKind::reduce_window ||
           kind == OpKind::select_and_scatter;
  }

  static bool is_splat_value(Value* value) { return value->op() && is_splat(*value->op()); }

  void find_forced() {
    for (Op* op : region_) {
      for (size_t i = 0; i < op->num_operands(); ++i)
        if (needs_buffer(*op, i)) forced_.insert(op->operand(i));
      for (size_t r = 0; r < op->num_regions(); ++r) {
        if (has_combiner(op->kind)) continue;
        walk(op->nested(r), [&](Op* inner) {
          for (Value* operand : inner->operands())
            if (defined_here(operand) && !is_splat_value(operand)) forced_.insert(operand);
        });
      }
    }
  }

  bool defined_here(Value* value) const {
    return value->op() ? value->op()->region() == &region_ : value->region() == &region_;
  }

  // Immediate post-dominators over the operations through which values can flow without being
  // stored. Operations that end the flow (kernels, forced buffers) hang below a common exit,
  // written as null.
  void find_post_dominators() {
    std::vector<Op*> order;
    for (Op* op : region_) order.push_back(op);
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Op* op = *it;
      bool flows = is_fusible(module_, *op) && !is_bitcast(*op);
      bool first = true;
      Op* common = nullptr;
      for (Value* value : op->results()) {
        if (forced_.contains(value)) flows = false;
        for (const Use* use = value->first_use(); use && flows; use = use->next) {
          Op* user = in_region(use->owner);
          common = first ? user : nearest_common(common, user);
          first = false;
          if (!common) flows = false;
        }
      }
      if (!flows) common = nullptr;
      post_dominator_[op] = common;
      depth_[op] = common ? depth_[common] + 1 : 1;
    }
  }

  Op* nearest_common(Op* a, Op* b) {
    while (a != b) {
      if (!a || !b) return nullptr;
      if (depth_[a] >= depth_[b])
        a = post_dominator_[a];
      else
        b = post_dominator_[b];
    }
    return a;
  }

  const Info& info(Value* value) {
    auto it = info_.find(value);
    if (it != info_.end()) return it->second;
    // Arguments and values from outside the region are leaves.
    Info leaf;
    leaf.leaves = {value};
    return info_.emplace(value, std::move(leaf)).first->second;
  }

  void make_leaf(Value* value) {
    Info leaf;
    leaf.leaves = {value};
    info_[value] = std::move(leaf);
  }

  void visit(Op* op) {
    if (op->kind == OpKind::constant) {
      Value* value = op->result();
      if (is_splat(*op)) {
        Info splat;
        splat.generator = true;
        info_[value] = splat;
        if (forced_.contains(value)) result_.stored.insert(value);
      } else {
        make_leaf(value);
        result_.stored.insert(value);
      }
      return;
    }
    if (in_cluster_.contains(op)) return;
    if (!is_fusible(module_, *op) || is_bitcast(*op)) {
      for (Value* value : op->results()) {
        make_leaf(value);
        result_.stored.insert(value);
      }
      if (shares_buffer(*op)) result_.alias[op->result()] = op->operand(0);
      if (op->kind == OpKind::dot_general && !forced_.contains(op->result())) grow_epilogue(op);
      return;
    }
    Info combined = combine(op);
    for (Value* value : op->results()) {
      if (should_store(value, combined)) {
        make_leaf(value);
        result_.stored.insert(value);
        reading_position_.clear();  // what flowed through it no longer does
      } else {
        info_[value] = combined;
      }
    }
  }

  double own_operations(const Op& op) {
    if (op.kind == OpKind::call) {
      const Function* callee = module_.find(op.as<CallAttributes>().callee);
      if (auto it = call_cost_.find(callee); it != call_cost_.end()) return it->second;
      double total = 0;
      for (Op* inner : callee->body())
        if (!has_trait(inner->kind, kTerminator) && inner->kind != OpKind::constant)
          total += own_operations(*inner);
      return call_cost_[callee] = total;
    }
    if (!has_trait(op.kind, kElementwise)) return 0;
    return operation_cost(op.kind, op.result()->type.dtype);
  }

  Info combine(Op* op) {
    Info out;
    out.operations = own_operations(*op);
    bool all_generators = true;
    for (Value* operand : op->operands()) {
      const Info& part = info(operand);
      for (Value* leaf : part.leaves)
        if (std::find(out.leaves.begin(), out.leaves.end(), leaf) == out.leaves.end())
          out.leaves.push_back(leaf);
      out.operations += part.operations;
      std::vector<std::pair<int64_t, double>> both;
      std::set_union(out.held.begin(), out.held.end(), part.held.begin(), part.held.end(),
                     std::back_inserter(both));
      out.held = std::move(both);
    }
    if (has_trait(op->kind, kElementwise) || op->kind == OpKind::call)
      out.held.emplace_back(position_.at(op), own_operations(*op));  // operands come before
    else if (!out.held.empty())
      out.held = {{position_.at(op), out.held_operations()}};
    int64_t leaf_bytes = 0;
    for (Value* leaf : out.leaves) leaf_bytes += leaf->type.is_tensor() ? leaf->type.bytes() : 0;
    int64_t bytes = op->result()->type.bytes();
    all_generators = leaf_bytes <= bytes / 8 || (leaf_bytes <= kSmallBytes && bytes > kSmallBytes);
    if (all_generators) {
      out.generator = true;
      out.operations = 0;
    }
    return out;
  }

  // Whether the leaf is needed later anyway, by something else than `value`, so that reading it
  // again keeps nothing alive.
  bool outlives(Value* leaf, Value* value) {
    if (!defined_here(leaf)) return true;  // captured: lives as long as the region
    if (!leaf->op() && region_.parent()) return false;
    if (!leaf->op()) {
      const ArgumentInfo& argument = region_.function()->argument_info[leaf->index()];
      if (!argument.donated && !argument.aliases_output) return true;
    }
    std::unordered_set<Op*> own;
    collect_expression(value, own);
    int64_t last = -1;
    for (const Use* use = leaf->first_use(); use; use = use->next) {
      Op* user = in_region(use->owner);
      if (!own.contains(user)) last = std::max(last, reading_position(user));
    }
    return last >= last_use(value);
  }

  // The operations that compute `value` from its leaves.
  void collect_expression(Value* value, std::unordered_set<Op*>& out) const {
    if (!value->op() || out.size() > 256 || !out.insert(value->op()).second) return;
    for (Value* operand : value->op()->operands())
      if (!result_.stored.contains(operand) && defined_here(operand))
        collect_expression(operand, out);
  }

  // Where an operation reads its operands if all that can be virtual is, apart from what is known
  // to be stored: at the last kernel that its result flows into.
  int64_t reading_position(Op* op) {
    for (Value* result : op->results())
      if (result_.stored.contains(result)) return position_.at(op);
    if (auto it = reading_position_.find(op); it != reading_position_.end()) return it->second;
    int64_t position = position_.at(op);
    bool flows = is_fusible(module_, *op) && !is_bitcast(*op);
    for (Value* result : op->results()) flows = flows && !forced_.contains(result);
    if (flows)
      for (Value* result : op->results())
        for (const Use* use = result->first_use(); use; use = use->next)
          position = std::max(position, reading_position(in_region(use->owner)));
    return reading_position_[op] = position;
  }

  int64_t last_use(const Value* value) const {
    int64_t last = -1;
    for (const Use* use = value->first_use(); use; use = use->next)
      last = std::max(last, position_.at(in_region(use->owner)));
    return last;
  }

  // Bytes of large leaves whose last reader would otherwise come before `value` is read.
  int64_t kept_alive(Value* value, const Info& combined) {
    int64_t bytes = 0;
    for (Value* leaf : combined.leaves)
      if (leaf->type.bytes() > value->type.bytes() / 8 && leaf->type.bytes() > kSmallBytes &&
          !outlives(leaf, value))
        bytes += leaf->type.bytes();
    return bytes;
  }

  bool kernel_between(int64_t from, int64_t to) const {
    for (int64_t position : kernels_)
      if (position > from && position < to) return true;
    return false;
  }

  bool should_store(Value* value, const Info& combined) {
    if (!value->has_uses()) return false;
    if (forced_.contains(value)) return true;
    if (combined.leaves.size() > kMaxLeaves || combined.held_operations() > kMaxOperations)
      return true;
    if (combined.generator) return false;
    int64_t elements = value->type.num_elements();
    if (elements > 1 && combined.operations > kBroadcastOperations && is_broadcast_by_reader(value))
      return true;
    Op* post_dominator = post_dominator_.at(value->op());
    if (post_dominator) {
      // One kernel reads it. Far from there it may still be better to have the value than all it is
      // made from.
      int64_t kept = kept_alive(value, combined);
      if (kept <= value->type.bytes()) return false;
      // A few elements of much: once they are taken, what is overwritten next can be the rest.
      if (kept >= kLargeBytes && kept >= kFewElements * value->type.bytes()) return true;
      return kernel_between(position_.at(value->op()), position_.at(post_dominator));
    }
    if (value->type.bytes() <= kSmallBytes)
      return combined.operations > kBroadcastOperations || elements == 1;
    return combined.operations > kCheapOperations || kept_alive(value, combined) > 0 ||
           large_leaves(value, combined) > 1;
  }

  static size_t large_leaves(Value* value, const Info& combined) {
    size_t count = 0;
    for (Value* leaf : combined.leaves) count += leaf->type.bytes() > value->type.bytes() / 8;
    return count;
  }

  static bool is_broadcast_by_reader(Value* value) {
    for (const Use* use = value->first_use(); use; use = use->next) {
      const Op* reader = use->owner;
      if (reader->kind == OpKind::broadcast_in_dim &&
          reader->result()->type.num_elements() >= 2 * value->type.num_elements())
        return true;
    }
    return false;
  }

  // Follows a product's result through operations on the same elements. The epilogue ends where a
  // single value, no wider than the product's result, is all that the rest of the program reads.
  void grow_epilogue(Op* root) {
    Value* result = root->result();
    std::unordered_set<Op*> cluster = {root};
    std::unordered_set<Op*>
        tainted;  // depends on the product through something outside the epilogue
    std::vector<Op*> members;
    std::unordered_map<Value*, Dims> orders = {{result, long_dims(*result)}};
    size_t best = 0;
    Value* best_value = result;
    int misses = 0;
    for (Op* op = root->next(); op && misses < 64 && is_matmul(*root); op = op->next()) {
      bool reads_cluster = false, reads_tainted = false;
      for (Value* operand : op->operands()) {
        reads_cluster |= operand->op() && cluster.contains(operand->op());
        reads_tainted |= operand->op() && tainted.contains(operand->op());
      }
      if (!reads_cluster && !reads_tainted) {
        ++misses;
        continue;
      }
      std::optional<Dims> order;
      if (reads_cluster && !reads_tainted && can_join(op, root, cluster))
        order = order_of(*op, orders);
      if (!order) {
        tainted.insert(op);
        continue;
      }
      orders[op->result()] = std::move(*order);
      misses = 0;
      cluster.insert(op);
      members.push_back(op);
      std::vector<Value*> frontier = values_read_outside(root, members, cluster);
      if (frontier.size() == 1 && frontier[0]->type.bytes() <= result->type.bytes()) {
        best = members.size();
        best_value = frontier[0];
      }
    }
    members.resize(best);
    for (Op* op : members) in_cluster_.insert(op);
    kernels_.push_back(position_.at(root));
    if (best_value == result) return;
    result_.stored.erase(result);
    result_.stored.insert(best_value);
    result_.epilogue_of[best_value] = {result, std::move(orders.at(best_value))};
    make_leaf(best_value);
  }

  static Dims long_dims(const Value& value) {
    Dims out;
    for (size_t d = 0; d < value.type.shape.size(); ++d)
      if (value.type.shape[d] != 1) out.push_back(static_cast<int64_t>(d));
    return out;
  }

  // The product's dimensions (of extent above 1) in the order in which the operation's result has
  // them; none if it reads the product in two orders. An epilogue has one element of the product,
  // so x * y less its own transpose is none.
  static std::optional<Dims> order_of(const Op& op,
                                      const std::unordered_map<Value*, Dims>& orders) {
    const Dims* read = nullptr;
    for (Value* operand : op.operands()) {
      auto it = orders.find(operand);
      if (it == orders.end()) continue;
      if (read && *read != it->second) return {};
      read = &it->second;
    }
    if (!read) return {};
    if (op.kind != OpKind::transpose) return *read;
    const std::vector<int64_t>& shape = op.operand(0)->type.shape;
    Dims rank(shape.size(), -1);  // among the operand's long dimensions
    int64_t next = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1) rank[d] = next++;
    Dims out;
    for (int64_t d : op.as<DimsAttributes>().dims)
      if (int64_t at = rank[static_cast<size_t>(d)]; at >= 0)
        out.push_back((*read)[static_cast<size_t>(at)]);
    return out;
  }

  // A product that sums over the rows of both operands, as weight gradients do. It is what the
  // planner cuts along the rows, and a sum that goes on from piece to piece has no place for an
  // epilogue until it is finished.
  static bool sums_over_rows(const Op& dot) {
    const auto& attributes = dot.as<DotAttributes>();
    if (attributes.lhs_contracting.empty() || attributes.lhs_contracting[0] != 0 ||
        attributes.rhs_contracting[0] != 0)
      return false;
    return dot.operand(0)->type.shape[0] >= 2 * kDotBlock;
  }

  bool can_join(Op* op, Op* root, const std::unordered_set<Op*>& cluster) {
    if (sums_over_rows(*root) && op->kind != OpKind::transpose && op->kind != OpKind::reshape)
      return false;
    if (!is_fusible(module_, *op) || op->num_results() != 1) return false;
    if (op->result()->type.num_elements() != root->result()->type.num_elements()) return false;
    switch (op->kind) {
      case OpKind::transpose:
        break;
      case OpKind::reshape:
        if (is_bitcast(*op)) return false;
        break;
      case OpKind::call:
        break;
      default:
        if (!has_trait(op->kind, kElementwise)) return false;
    }
    for (Value* operand : op->operands()) {
      if (operand->op() && cluster.contains(operand->op())) continue;
      if (!available_before(operand, root, 0)) return false;
    }
    return true;
  }

  // Whether a value can exist when the product starts: it was made before, or is a function of such
  // values.
  bool available_before(Value* value, Op* root, int depth) const {
    if (!defined_here(value) || !value->op()) return true;
    Op* op = value->op();
    if (position_.at(op) < position_.at(root)) return true;
    if (depth > 32 || !is_fusible(module_, *op)) return false;
    for (Value* operand : op->operands())
      if (!available_before(operand, root, depth + 1)) return false;
    return true;
  }

  std::vector<Value*> values_read_outside(Op* root, const std::vector<Op*>& members,
                                          const std::unordered_set<Op*>& cluster) {
    std::vector<Value*> out;
    auto check = [&](Value* value) {
      bool outside = forced_.contains(value);
      for (const Use* use = value->first_use(); use && !outside; use = use->next)
        outside = !cluster.contains(in_region(use->owner));
      if (outside) out.push_back(value);
    };
    check(root->result());
    for (Op* op : members) check(op->result());
    return out;
  }

  const Module& module_;
  const Region& region_;
  RegionAnalysis result_;
  std::unordered_map<const Op*, int64_t> position_;
  int64_t end_ = 0;
  std::unordered_set<Value*> forced_;
  std::unordered_map<Op*, Op*> post_dominator_;
  std::unordered_map<Op*, int64_t> depth_;
  std::unordered_map<Value*, Info> info_;
  std::unordered_map<const Function*, double> call_cost_;
  std::unordered_map<Op*, int64_t> reading_position_;
  std::unordered_set<Op*> in_cluster_;
  std::vector<int64_t> kernels_;  // positions of products so far
};

}  // namespace

bool is_matmul(const Op& dot) {
  auto feeds_f32 = [](DType t) { return is_float(t) && bit_width(t) <= 32; };
  return feeds_f32(dot.operand(0)->type.dtype) && feeds_f32(dot.operand(1)->type.dtype) &&
         feeds_f32(dot.result()->type.dtype);
}

RegionAnalysis analyze_region(const Module& module, const Region& region) {
  return Analyzer(module, region).run();
}

}  // namespace ullage
