#include "interp/parallel.h"

#include <cstring>

namespace ullage::interp {

Tensor copy_of(const Tensor& tensor) {
  if (!tensor.type().is_tensor()) {
    std::vector<Tensor> elements;
    for (const Tensor& element : tensor.elements()) elements.push_back(copy_of(element));
    return tensor.type().kind == Type::Kind::tuple ? Tensor::tuple(std::move(elements)) : Tensor();
  }
  Tensor out(tensor.type());
  if (tensor.size_bytes() > 0)
    std::memcpy(out.mutable_data(), tensor.data(), static_cast<size_t>(tensor.size_bytes()));
  return out;
}

Meeting::Brought Meeting::meet(const std::string& name, size_t members, size_t place,
                               const std::vector<Tensor>& tensors) {
  std::vector<Tensor> own;
  for (const Tensor& tensor : tensors) own.push_back(copy_of(tensor));
  std::unique_lock lock(mutex_);
  Table& table = tables_[name];
  if (!table.brought) table.brought = std::make_shared<std::vector<std::vector<Tensor>>>(members);
  (*table.brought)[place] = std::move(own);
  if (++table.arrived == members) {
    waiting_ -= static_cast<int64_t>(members) - 1;
    changed_.notify_all();
  } else {
    ++waiting_;
    check_stuck();
    changed_.wait(lock, [&] { return table.arrived == members || stuck_; });
    if (table.arrived < members) return nullptr;
  }
  Brought out = table.brought;
  if (++table.left == members) tables_.erase(name);
  return out;
}

void Meeting::leave() {
  std::unique_lock lock(mutex_);
  --present_;
  check_stuck();
}

void Meeting::check_stuck() {
  if (waiting_ == 0 || waiting_ < present_) return;
  stuck_ = true;
  changed_.notify_all();
}

}  // namespace ullage::interp
