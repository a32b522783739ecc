#include "ir/equal.h"

#include <unordered_map>

namespace ullage {

namespace {

class Comparison {
 public:
  explicit Comparison(std::string* why) : why_(why) {}

  bool functions(const Function& a, const Function& b) {
    where_ = "function @" + a.name;
    if (a.name != b.name) return differ("its name is @" + b.name);
    if (a.is_public != b.is_public) return differ("visibility");
    if (a.result_types != b.result_types) return differ("result types");
    if (a.result_extra != b.result_extra) return differ("attributes of results");
    if (a.extra != b.extra) return differ("attributes");
    if (a.argument_info.size() != b.argument_info.size()) return differ("number of arguments");
    for (size_t i = 0; i < a.argument_info.size(); ++i) {
      const ArgumentInfo& x = a.argument_info[i];
      const ArgumentInfo& y = b.argument_info[i];
      if (x.aliases_output != y.aliases_output || x.donated != y.donated || x.extra != y.extra)
        return differ("attributes of argument " + std::to_string(i));
    }
    return regions(a.body(), b.body());
  }

  bool differ(const std::string& what) {
    if (why_)
      *why_ = where_ + ": " + what + (what.find("differ") == std::string::npos ? " differ" : "");
    return false;
  }

 private:
  bool regions(const Region& a, const Region& b) {
    if (a.arguments().size() != b.arguments().size()) return differ("number of region arguments");
    for (size_t i = 0; i < a.arguments().size(); ++i) {
      if (!(a.argument(i)->type == b.argument(i)->type))
        return differ("types of region argument " + std::to_string(i));
      values_[a.argument(i)] = b.argument(i);
    }
    const Op* y = b.first();
    for (const Op* x = a.first(); x; x = x->next(), y = y->next()) {
      if (!y) return differ("number of operations");
      if (!operations(*x, *y)) return false;
    }
    return y ? differ("number of operations") : true;
  }

  bool operations(const Op& a, const Op& b) {
    std::string outer = where_;
    where_ =
        outer + ", operation " + std::to_string(count_++) + " (" + std::string(a.mnemonic()) + ")";
    if (a.kind != b.kind) return differ("kinds (the other is " + std::string(b.mnemonic()) + ")");
    if (a.num_operands() != b.num_operands()) return differ("number of operands");
    for (size_t i = 0; i < a.num_operands(); ++i) {
      auto mapped = values_.find(a.operand(i));
      if (mapped == values_.end() || mapped->second != b.operand(i))
        return differ("operand " + std::to_string(i));
    }
    if (!(a.attributes == b.attributes)) return differ("attributes");
    if (a.extra != b.extra) return differ("kept attributes");
    if (a.num_results() != b.num_results()) return differ("number of results");
    for (size_t i = 0; i < a.num_results(); ++i)
      if (!(a.result(i)->type == b.result(i)->type))
        return differ("types of result " + std::to_string(i) + " (" + to_string(a.result(i)->type) +
                      ", " + to_string(b.result(i)->type) + ")");
    if (a.num_regions() != b.num_regions()) return differ("number of regions");
    for (size_t i = 0; i < a.num_regions(); ++i)
      if (!regions(a.nested(i), b.nested(i))) return false;
    for (size_t i = 0; i < a.num_results(); ++i) values_[a.result(i)] = b.result(i);
    where_ = outer;
    return true;
  }

  std::string* why_;
  std::string where_ = "module";
  size_t count_ = 0;
  std::unordered_map<const Value*, const Value*> values_;
};

}  // namespace

bool equal(const Function& a, const Function& b, std::string* why) {
  return Comparison(why).functions(a, b);
}

bool equal(const Module& a, const Module& b, std::string* why) {
  Comparison comparison(why);
  if (a.name != b.name) return comparison.differ("names");
  if (a.extra != b.extra) return comparison.differ("attributes");
  if (a.meshes != b.meshes) return comparison.differ("meshes");
  if (a.functions.size() != b.functions.size()) return comparison.differ("number of functions");
  for (size_t i = 0; i < a.functions.size(); ++i)
    if (!equal(*a.functions[i], *b.functions[i], why)) return false;
  return true;
}

}  // namespace ullage
