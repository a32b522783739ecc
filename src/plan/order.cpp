// Order of kernels. Program order is a good start (it is what the user wrote, and JAX's backward
// pass is sensible); what it lacks is that kernels which need no memory, or free some, run as soon
// as they can: a parameter is updated when its gradient exists, and the gradient is gone.
#include <algorithm>
#include <queue>
#include <set>

#include "plan/schedule.h"

namespace ullage {

namespace {

constexpr int64_t kSmallBytes = 4096;
constexpr int64_t kFewElements = 512;  // one in so many

class ListScheduler {
 public:
  ListScheduler(const KernelGraph& graph, const KernelCosts& costs, OrderRule rule)
      : graph_(graph), costs_(costs), rule_(rule) {}

  std::vector<KernelId> run() {
    size_t count = graph_.kernels.size();
    missing_.assign(count, 0);
    readers_left_.assign(graph_.values.size(), 0);
    for (size_t v = 0; v < graph_.values.size(); ++v)
      readers_left_[v] = static_cast<int32_t>(graph_.values[v].consumers.size());
    is_output_.assign(graph_.values.size(), false);
    for (ValueId v : graph_.outputs) is_output_[static_cast<size_t>(v)] = true;
    donated_.assign(graph_.values.size(), true);
    for (size_t a = 0; a < graph_.arguments.size(); ++a)
      donated_[static_cast<size_t>(graph_.arguments[a])] = graph_.argument_info[a].donated;
    for (size_t k = 0; k < count; ++k) {
      for (ValueId input : distinct(graph_.kernels[k].inputs))
        if (graph_.values[static_cast<size_t>(input)].producer >= 0) ++missing_[k];
      if (missing_[k] == 0) ready_.insert(static_cast<KernelId>(k));
    }
    find_small_bytes();
    while (!ready_.empty()) {
      KernelId next = choose();
      ready_.erase(next);
      order_.push_back(next);
      finish(next);
    }
    return std::move(order_);
  }

 private:
  static std::vector<ValueId> distinct(std::vector<ValueId> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  // Bytes that running the kernel now adds to what is alive.
  int64_t net_bytes(KernelId k) const {
    const Kernel& kernel = graph_.kernels[static_cast<size_t>(k)];
    if (kernel.get<BarrierKernel>()) return 0;
    int64_t net = 0;
    for (ValueId output : kernel.outputs) net += graph_.values[static_cast<size_t>(output)].bytes;
    for (ValueId input : distinct(kernel.inputs)) {
      const KernelValue& value = graph_.values[static_cast<size_t>(input)];
      bool dies = readers_left_[static_cast<size_t>(input)] == 1 &&
                  !is_output_[static_cast<size_t>(input)] &&
                  value.kind != KernelValue::Kind::constant && donated_[static_cast<size_t>(input)];
      if (dies) net -= value.bytes;
    }
    return net;
  }

  // What each kernel may add and still run at once: little, or little of an input that another
  // reader could then overwrite.
  void find_small_bytes() {
    std::vector<std::vector<ValueId>> overwrites(graph_.kernels.size());  // by each kernel
    std::vector<int32_t> overwriters(graph_.values.size(), 0);
    for (size_t k = 0; k < graph_.kernels.size(); ++k) {
      const Kernel& kernel = graph_.kernels[k];
      for (const auto& pair : kernel.in_place)
        overwrites[k].push_back(kernel.inputs[static_cast<size_t>(pair.input)]);
      overwrites[k] = distinct(std::move(overwrites[k]));
      for (ValueId v : overwrites[k]) ++overwriters[static_cast<size_t>(v)];
    }
    small_bytes_.assign(graph_.kernels.size(), kSmallBytes);
    for (size_t k = 0; k < graph_.kernels.size(); ++k)
      for (ValueId v : graph_.kernels[k].inputs) {
        const KernelValue& value = graph_.values[static_cast<size_t>(v)];
        bool own = std::binary_search(overwrites[k].begin(), overwrites[k].end(), v);
        if (value.producer >= 0 && overwriters[static_cast<size_t>(v)] > (own ? 1 : 0))
          small_bytes_[k] = std::max(small_bytes_[k], value.bytes / kFewElements);
      }
  }

  KernelId choose() const {
    for (KernelId k : ready_)
      if (net_bytes(k) <= small_bytes_[static_cast<size_t>(k)] &&
          costs_.extra_bytes[static_cast<size_t>(k)] <= largest_extra_)
        return first_reader(k);
    return first_reader(*ready_.begin());
  }

  // The kernel, or one that is ready to read an argument which the kernel would overwrite but for
  // that other reader.
  KernelId first_reader(KernelId k) const {
    if (rule_ != OrderRule::readers_first) return k;
    const Kernel& kernel = graph_.kernels[static_cast<size_t>(k)];
    for (const Kernel::InPlace& pair : kernel.in_place) {
      ValueId v = kernel.inputs[static_cast<size_t>(pair.input)];
      const KernelValue& value = graph_.values[static_cast<size_t>(v)];
      if (value.kind != KernelValue::Kind::argument || !donated_[static_cast<size_t>(v)]) continue;
      for (KernelId reader : value.consumers)
        if (reader != k && ready_.contains(reader)) return reader;
    }
    return k;
  }

  void finish(KernelId k) {
    largest_extra_ = std::max(largest_extra_, costs_.extra_bytes[static_cast<size_t>(k)]);
    for (ValueId input : distinct(graph_.kernels[static_cast<size_t>(k)].inputs))
      --readers_left_[static_cast<size_t>(input)];
    for (ValueId output : graph_.kernels[static_cast<size_t>(k)].outputs)
      for (KernelId consumer : graph_.values[static_cast<size_t>(output)].consumers)
        if (--missing_[static_cast<size_t>(consumer)] == 0) ready_.insert(consumer);
  }

  const KernelGraph& graph_;
  const KernelCosts& costs_;
  OrderRule rule_;
  std::vector<int32_t> missing_;       // inputs of each kernel that do not exist yet
  std::vector<int32_t> readers_left_;  // of each value
  std::vector<bool> is_output_, donated_;
  std::vector<int64_t> small_bytes_;
  std::set<KernelId> ready_;
  std::vector<KernelId> order_;
  int64_t largest_extra_ = 0;
};

}  // namespace

std::vector<KernelId> memory_order(const KernelGraph& graph, const KernelCosts& costs,
                                   OrderRule rule) {
  return ListScheduler(graph, costs, rule).run();
}

}  // namespace ullage
