// Several processes of one program in this one: a grid of replicas and partitions, each a thread
// that interprets a function of its own. They meet at collective operations, where each brings its
// operands and sees those of the others. What comes out does not depend on which is quicker:
// whoever waits for one that never comes is told so as soon as nobody is left to come. Private to
// interp/.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "interp/tensor.h"

namespace ullage::interp {

class Meeting {
 public:
  using Brought = std::shared_ptr<const std::vector<std::vector<Tensor>>>;

  explicit Meeting(int64_t processes) : present_(processes) {}

  // Process number `place` of the `members` that meet under this name brings its tensors. Returns
  // everyone's, in order, when all are there; null if they never will be. What is brought is
  // copied, and what is returned must be: its bytes belong to all.
  Brought meet(const std::string& name, size_t members, size_t place,
               const std::vector<Tensor>& tensors);
  void leave();  // the process meets nobody any more

 private:
  struct Table {
    std::shared_ptr<std::vector<std::vector<Tensor>>> brought;
    size_t arrived = 0, left = 0;
  };
  void check_stuck();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Table> tables_;
  int64_t present_ = 0, waiting_ = 0;
  bool stuck_ = false;
};

// Where a process stands in the grid. `meeting` is null for a program that runs alone.
struct Process {
  int64_t replica = 0, partition = 0;
  int64_t num_replicas = 1, num_partitions = 1;
  Meeting* meeting = nullptr;
  bool stuck = false;                    // it waited in vain
  std::map<std::string, int64_t> times;  // how often it was at each meeting

  int64_t number() const { return replica * num_partitions + partition; }
};

// A tensor with bytes of its own.
Tensor copy_of(const Tensor& tensor);

}  // namespace ullage::interp
