#include "partition/sharding.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace ullage {

int64_t Mesh::devices() const {
  int64_t out = 1;
  for (int64_t size : sizes) out *= size;
  return out;
}

int64_t Mesh::device_at(int64_t place) const {
  return device_ids.empty() ? place : device_ids[static_cast<size_t>(place)];
}

int64_t Mesh::place_of(int64_t device) const {
  if (device_ids.empty()) return device < devices() ? device : -1;
  auto it = std::find(device_ids.begin(), device_ids.end(), device);
  return it == device_ids.end() ? -1 : it - device_ids.begin();
}

int64_t Mesh::coordinate(int64_t place, size_t axis) const {
  for (size_t i = sizes.size(); i-- > axis + 1;) place /= sizes[i];
  return place % sizes[axis];
}

namespace {

int64_t parts_along(const std::vector<MeshAxis>& axes) {
  int64_t out = 1;
  for (const MeshAxis& axis : axes) out *= axis.size;
  return out;
}

int64_t part_along(const Mesh& mesh, const std::vector<MeshAxis>& axes, int64_t place) {
  int64_t out = 0;
  for (const MeshAxis& axis : axes)
    out = out * axis.size + mesh.coordinate(place, axis.axis) / axis.stride % axis.size;
  return out;
}

}  // namespace

int64_t Sharding::parts(size_t dim) const {
  return parts_along(dims[dim]);
}

int64_t Sharding::part(size_t dim, int64_t place) const {
  return part_along(*mesh, dims[dim], place);
}

int64_t Sharding::summands() const {
  return parts_along(unreduced);
}

int64_t Sharding::summand(int64_t place) const {
  return part_along(*mesh, unreduced, place);
}

bool Sharding::replicated() const {
  for (size_t d = 0; d < dims.size(); ++d)
    if (parts(d) != 1) return false;
  return unreduced.empty();
}

std::vector<int64_t> Sharding::local_shape(const std::vector<int64_t>& shape) const {
  std::vector<int64_t> out = shape;
  for (size_t d = 0; d < dims.size() && d < out.size(); ++d) out[d] /= parts(d);
  return out;
}

namespace {

class Reader {
 public:
  Reader(std::string_view text, std::span<const Mesh> meshes) : rest_(text), meshes_(meshes) {}

  bool take(std::string_view word) {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())))
      rest_.remove_prefix(1);
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool quoted(std::string& out) {
    if (!take("\"")) return false;
    size_t end = rest_.find('"');
    if (end == std::string_view::npos) return false;
    out = std::string(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool number(int64_t& out) {
    take("");
    auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (parsed.ec != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(parsed.ptr - rest_.data()));
    return true;
  }

  // "x" or "x":(2)4, the part of size 4 below a part of size 2.
  bool axis(const Mesh& mesh, MeshAxis& out) {
    std::string name;
    if (!quoted(name)) return false;
    auto it = std::find(mesh.axes.begin(), mesh.axes.end(), name);
    if (it == mesh.axes.end()) return false;
    out.axis = static_cast<size_t>(it - mesh.axes.begin());
    out.size = mesh.sizes[out.axis];
    out.stride = 1;
    if (!take(":(")) return true;
    int64_t before = 1, size = 1;
    if (!number(before) || !take(")") || !number(size) || before < 1 || size < 1) return false;
    out.stride = std::max<int64_t>(1, mesh.sizes[out.axis] / (before * size));
    out.size = size;
    return true;
  }

  // {"x", "y", ?}p0: axes, whether more may be added, a priority.
  bool axes(const Mesh& mesh, std::vector<MeshAxis>& out, bool* open = nullptr) {
    if (!take("{")) return false;
    while (!take("}")) {
      if (!take("?")) {
        out.emplace_back();
        if (!axis(mesh, out.back())) return false;
      } else if (open) {
        *open = true;
      }
      take(",");
    }
    int64_t priority = 0;
    if (take("p")) number(priority);
    return true;
  }

  bool sharding(Sharding& out) {
    take("#sdy.sharding");
    if (!take("<@")) return false;
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != ',' && rest_[end] != '>') ++end;
    std::string_view name = rest_.substr(0, end);
    if (name.starts_with('"') && name.size() >= 2) name = name.substr(1, name.size() - 2);
    auto it = std::find_if(meshes_.begin(), meshes_.end(),
                           [&](const Mesh& mesh) { return mesh.name == name; });
    if (it == meshes_.end()) return false;
    out.mesh = &*it;
    rest_.remove_prefix(end);
    if (!take(",") || !take("[")) return false;
    while (!take("]")) {
      out.dims.emplace_back();
      bool open = false;
      if (!axes(*out.mesh, out.dims.back(), &open)) return false;
      out.open.push_back(open);
      take(",");
    }
    while (take(",")) {
      std::vector<MeshAxis> ignored;
      if (take("replicated=")) {
        if (!axes(*out.mesh, ignored)) return false;
      } else if (!take("unreduced=") || !axes(*out.mesh, out.unreduced)) {
        return false;
      }
    }
    return take(">");
  }

  bool at_end() {
    take("");
    return rest_.empty();
  }

 private:
  std::string_view rest_;
  std::span<const Mesh> meshes_;
};

bool read_mesh(std::string_view text, Mesh& out) {
  Reader reader(text, {});
  reader.take("#sdy.mesh");
  if (!reader.take("<[")) return false;
  while (!reader.take("]")) {
    std::string name;
    int64_t size = 0;
    if (!reader.quoted(name) || !reader.take("=") || !reader.number(size) || size < 1) return false;
    out.axes.push_back(name);
    out.sizes.push_back(size);
    reader.take(",");
  }
  if (reader.take(", device_ids=[")) {
    while (!reader.take("]")) {
      int64_t id = 0;
      if (!reader.number(id)) return false;
      out.device_ids.push_back(id);
      reader.take(",");
    }
  }
  return out.device_ids.empty() || out.axes.empty() ||
         static_cast<int64_t>(out.device_ids.size()) == out.devices();
}

}  // namespace

Result<std::vector<Mesh>> read_meshes(const Module& module) {
  std::vector<Mesh> out;
  for (const NamedAttribute& attribute : module.meshes) {
    Mesh mesh;
    mesh.name = attribute.name;
    if (!read_mesh(attribute.text, mesh))
      return error("the mesh @" + attribute.name + " cannot be read: " + attribute.text);
    out.push_back(std::move(mesh));
  }
  return out;
}

Result<Sharding> parse_sharding(std::string_view text, std::span<const Mesh> meshes) {
  Sharding out;
  if (!Reader(text, meshes).sharding(out))
    return error("the sharding " + std::string(text) + " cannot be read");
  return out;
}

Result<std::vector<Sharding>> parse_shardings(std::string_view text, std::span<const Mesh> meshes) {
  Reader reader(text, meshes);
  std::vector<Sharding> out;
  bool fine = reader.take("[");
  while (fine && !reader.take("]")) {
    out.emplace_back();
    fine = reader.sharding(out.back());
    reader.take(",");
  }
  if (!fine || !reader.at_end())
    return error("the shardings " + std::string(text) + " cannot be read");
  return out;
}

std::vector<std::string> parse_axis_names(std::string_view text) {
  Reader reader(text, {});
  std::vector<std::string> out;
  std::string name;
  reader.take("{");
  while (reader.quoted(name)) {
    out.push_back(name);
    reader.take(",");
  }
  return out;
}

}  // namespace ullage
