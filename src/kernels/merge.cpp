// One kernel with several outputs where loop nests follow each other element by element: an
// optimiser's new moments and new parameters are computed in a single pass over the gradient.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kernels/build.h"
#include "support/check.h"

namespace ullage {

namespace {

constexpr size_t kMaxOutputs = 8;
constexpr size_t kMaxInputs = 24;
constexpr int64_t kSmallBytes = 4096;

bool is_plain_loop(const Kernel& kernel) {
  const LoopKernel* loop = kernel.get<LoopKernel>();
  return loop && !loop->reduction && !has_complex_parts(*loop) &&
         std::none_of(kernel.in_place.begin(), kernel.in_place.end(),
                      [](const auto& p) { return p.required; });
}

// The last kernel that is not a plain loop, or small enough not to matter, which must have run
// before a kernel can start: two loops with the same anchor can start at the same moment.
std::vector<KernelId> anchors(const KernelGraph& graph) {
  std::vector<KernelId> out(graph.kernels.size(), -1);
  for (size_t k = 0; k < graph.kernels.size(); ++k) {
    const Kernel& kernel = graph.kernels[k];
    KernelId anchor = -1;
    for (ValueId input : kernel.inputs) {
      KernelId producer = graph.values[static_cast<size_t>(input)].producer;
      if (producer >= 0) anchor = std::max(anchor, out[static_cast<size_t>(producer)]);
    }
    if (!is_plain_loop(kernel)) anchor = std::max(anchor, static_cast<KernelId>(k));
    out[k] = anchor;
  }
  return out;
}

// Reads every element of `value` exactly where it writes its own outputs.
bool reads_elementwise(const Kernel& reader, ValueId value, const Access& store) {
  const LoopKernel& loop = *reader.get<LoopKernel>();
  for (const ExprNode& node : loop.expr.nodes) {
    if (node.kind != ExprNode::Kind::load ||
        reader.inputs[static_cast<size_t>(node.input)] != value)
      continue;
    if (node.guard >= 0 || !(node.access == store)) return false;
  }
  return true;
}

// Appends `from`'s nodes to `to`. `input_of` renumbers inputs; `replaced` gives, for an input of
// `from`, the node that stands for its loads (or -1). Returns the new number of each node.
std::vector<int32_t> append(Expr& to, const Expr& from, const std::vector<int32_t>& input_of,
                            const std::vector<int32_t>& replaced) {
  std::vector<int32_t> number(from.nodes.size());
  for (size_t i = 0; i < from.nodes.size(); ++i) {
    ExprNode node = from.nodes[i];
    if (node.kind == ExprNode::Kind::load) {
      if (int32_t stand_in = replaced[static_cast<size_t>(node.input)]; stand_in >= 0) {
        number[i] = stand_in;
        continue;
      }
      node.input = input_of[static_cast<size_t>(node.input)];
    }
    for (int32_t& operand : node.operands)
      if (operand >= 0) operand = number[static_cast<size_t>(operand)];
    if (node.guard >= 0) node.guard = number[static_cast<size_t>(node.guard)];
    for (Access::Dynamic& term : node.access.dynamic)
      term.node = number[static_cast<size_t>(term.node)];
    number[i] = to.add(std::move(node));
  }
  return number;
}

// The producer's computation followed by the consumer's, which takes the producer's outputs from
// registers.
Kernel merged(const Kernel& producer, const Kernel& consumer) {
  Kernel out;
  out.name = consumer.name;
  out.location = consumer.location;
  out.inputs = producer.inputs;
  out.outputs = producer.outputs;
  const LoopKernel& first = *producer.get<LoopKernel>();
  const LoopKernel& second = *consumer.get<LoopKernel>();
  LoopKernel loop;
  loop.extents = first.extents;
  loop.roles = first.roles;
  loop.expr = first.expr;
  loop.outputs = first.outputs;
  std::vector<int32_t> input_of, replaced;
  for (ValueId input : consumer.inputs) {
    auto made = std::find(producer.outputs.begin(), producer.outputs.end(), input);
    if (made != producer.outputs.end()) {
      replaced.push_back(first.outputs[static_cast<size_t>(made - producer.outputs.begin())].node);
      input_of.push_back(-1);
      continue;
    }
    replaced.push_back(-1);
    auto have = std::find(out.inputs.begin(), out.inputs.end(), input);
    input_of.push_back(static_cast<int32_t>(have - out.inputs.begin()));
    if (have == out.inputs.end()) out.inputs.push_back(input);
  }
  std::vector<int32_t> number = append(loop.expr, second.expr, input_of, replaced);
  for (const KernelOutput& output : second.outputs) {
    KernelOutput moved = output;
    moved.node = number[static_cast<size_t>(output.node)];
    for (Access::Dynamic& term : moved.store.dynamic)
      term.node = number[static_cast<size_t>(term.node)];
    loop.outputs.push_back(std::move(moved));
  }
  out.outputs.insert(out.outputs.end(), consumer.outputs.begin(), consumer.outputs.end());
  out.body = std::move(loop);
  return out;
}

class Merger {
 public:
  explicit Merger(KernelGraph& graph) : graph_(graph) {}

  void run() {
    std::vector<KernelId> anchor = anchors(graph_);
    alive_.assign(graph_.kernels.size(), true);
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      if (!is_plain_loop(graph_.kernels[k])) continue;
      bool again = true;
      while (again) {
        again = false;
        for (ValueId input : std::vector<ValueId>(graph_.kernels[k].inputs)) {
          KernelId producer = graph_.values[static_cast<size_t>(input)].producer;
          if (producer < 0 || anchor[static_cast<size_t>(producer)] != anchor[k] ||
              !can_merge(producer, static_cast<KernelId>(k)))
            continue;
          graph_.kernels[k] =
              merged(graph_.kernels[static_cast<size_t>(producer)], graph_.kernels[k]);
          for (ValueId output : graph_.kernels[k].outputs)
            graph_.values[static_cast<size_t>(output)].producer = static_cast<KernelId>(k);
          alive_[static_cast<size_t>(producer)] = false;
          again = true;
          break;
        }
      }
    }
    drop_unread();
    compact();
  }

 private:
  bool can_merge(KernelId producer, KernelId consumer) const {
    const Kernel& p = graph_.kernels[static_cast<size_t>(producer)];
    const Kernel& c = graph_.kernels[static_cast<size_t>(consumer)];
    if (!is_plain_loop(p) || p.get<LoopKernel>()->extents != c.get<LoopKernel>()->extents)
      return false;
    if (p.outputs.size() + c.outputs.size() > kMaxOutputs ||
        p.inputs.size() + c.inputs.size() > kMaxInputs)
      return false;
    for (size_t o = 0; o < p.outputs.size(); ++o)
      if (!reads_elementwise(c, p.outputs[o], p.get<LoopKernel>()->outputs[o].store)) return false;
    // Nothing in between may read what the producer makes: the merged kernel runs where the
    // consumer stands.
    for (KernelId k = producer + 1; k < consumer; ++k) {
      if (!alive_[static_cast<size_t>(k)]) continue;
      for (ValueId input : graph_.kernels[static_cast<size_t>(k)].inputs)
        if (std::find(p.outputs.begin(), p.outputs.end(), input) != p.outputs.end()) return false;
    }
    return true;
  }

  // What only the kernel read that it is now made in need not be stored.
  void drop_unread() {
    std::unordered_set<ValueId> read(graph_.outputs.begin(), graph_.outputs.end());
    for (size_t k = 0; k < graph_.kernels.size(); ++k)
      if (alive_[k]) read.insert(graph_.kernels[k].inputs.begin(), graph_.kernels[k].inputs.end());
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      Kernel& kernel = graph_.kernels[k];
      if (!alive_[k] || !is_plain_loop(kernel)) continue;
      std::vector<KernelOutput>& stores = kernel.get<LoopKernel>()->outputs;
      for (size_t o = kernel.outputs.size(); o-- > 0 && kernel.outputs.size() > 1;) {
        if (read.contains(kernel.outputs[o])) continue;
        graph_.values[static_cast<size_t>(kernel.outputs[o])].producer = -1;
        kernel.outputs.erase(kernel.outputs.begin() + static_cast<int64_t>(o));
        stores.erase(stores.begin() + static_cast<int64_t>(o));
      }
    }
  }

  void compact() {
    std::vector<KernelId> number(graph_.kernels.size(), -1);
    std::vector<Kernel> kept;
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      if (!alive_[k]) continue;
      number[k] = static_cast<KernelId>(kept.size());
      kept.push_back(std::move(graph_.kernels[k]));
    }
    graph_.kernels = std::move(kept);
    for (KernelValue& value : graph_.values)
      if (value.producer >= 0) value.producer = number[static_cast<size_t>(value.producer)];
  }

  KernelGraph& graph_;
  std::vector<bool> alive_;
};

}  // namespace

void merge_loops(KernelGraph& graph) {
  Merger(graph).run();
  for (KernelValue& value : graph.values) value.consumers.clear();
  for (size_t k = 0; k < graph.kernels.size(); ++k)
    for (ValueId input : graph.kernels[k].inputs) {
      auto& consumers = graph.values[static_cast<size_t>(input)].consumers;
      if (consumers.empty() || consumers.back() != static_cast<KernelId>(k))
        consumers.push_back(static_cast<KernelId>(k));
    }
}

}  // namespace ullage
