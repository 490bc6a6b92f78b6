// Numbers of fields are those of onnx.proto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
#include "onnx/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "base/error.h"
#include "ops/ops.h"

namespace fovea::onnx {

namespace {

constexpr int64_t kIrVersion = 8;  // of the file format; that of ONNX 1.12, which has opset 17

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

template <class T> std::string_view raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

ProtobufWriter attribute_message(const Attribute& attribute) {
  enum AttributeType { kFloat = 1, kInt = 2, kString = 3, kInts = 7 };
  ProtobufWriter message;
  message.bytes(1, attribute.name);
  int64_t type = kInt;
  if (const auto* i = std::get_if<int64_t>(&attribute.value)) {
    message.integer(3, *i);
  } else if (const auto* f = std::get_if<float>(&attribute.value)) {
    message.number(2, *f);
    type = kFloat;
  } else if (const auto* s = std::get_if<std::string>(&attribute.value)) {
    message.bytes(4, *s);
    type = kString;
  } else {
    message.integers(8, std::get<std::vector<int64_t>>(attribute.value));
    type = kInts;
  }
  message.integer(20, type);
  return message;
}

// ValueInfoProto: name, TypeProto { tensor_type { elem_type, shape { dim { dim_value or dim_param } } } }.
ProtobufWriter port_message(const Port& port) {
  ProtobufWriter shape, tensor, type, message;
  for (const Dimension& dimension : port.shape) {
    ProtobufWriter dim;
    if (const auto* size = std::get_if<int64_t>(&dimension)) {
      dim.integer(1, *size);
    } else {
      dim.bytes(2, std::get<std::string>(dimension));
    }
    shape.message(1, dim);
  }
  tensor.integer(1, static_cast<int64_t>(port.type));
  tensor.message(2, shape);
  type.message(1, tensor);
  message.bytes(1, port.name);
  message.message(2, type);
  return message;
}

}  // namespace

std::string_view name_of(Type type) {
  switch (type) {
    case Type::kFloat: return "float32";
    case Type::kUint8: return "uint8";
    case Type::kInt32: return "int32";
    case Type::kInt64: return "int64";
    case Type::kBool: break;
  }
  return "bool";
}

std::vector<float> elements_of(const Parameter& parameter) { return to_host<float>(parameter.value()); }

Graph::Graph(std::string name, std::vector<const Parameters*> parameters)
    : name_(std::move(name)), parameters_(std::move(parameters)) {}

Value Graph::input(const Port& port) {
  check(names_.insert(port.name).second, "onnx: the name {} is used twice", port.name);
  inputs_.push_back(port);
  return {*this, port.name};
}

void Graph::output(const Port& port, const Value& value) {
  check(names_.insert(port.name).second, "onnx: the name {} is used twice", port.name);
  outputs_.push_back(port);
  ProtobufWriter node;
  node.bytes(1, value.name());
  node.bytes(2, port.name);
  node.bytes(3, "output/" + port.name);
  node.bytes(4, "Identity");
  nodes_.message(1, node);
}

std::vector<Value> Graph::nodes(std::string_view op, const std::vector<Value>& inputs, Attributes attributes,
                                int outputs) {
  ProtobufWriter node;
  for (const Value& input : inputs) node.bytes(1, input.name());
  std::vector<Value> results;
  for (int i = 0; i < outputs; ++i) {
    results.push_back(Value(*this, unique(scope_ + std::string(op))));
    node.bytes(2, results.back().name());
  }
  node.bytes(3, results[0].name());
  node.bytes(4, op);
  for (const Attribute& attribute : attributes) node.message(5, attribute_message(attribute));
  nodes_.message(1, node);
  return results;
}

std::string Graph::unique(const std::string& name) {
  std::string candidate = name;
  for (int count = 2; !names_.insert(candidate).second; ++count) candidate = fmt::format("{}_{}", name, count);
  return candidate;
}

const Parameter* Graph::find(std::string_view name) const {
  for (const Parameters* parameters : parameters_) {
    for (const Parameter& parameter : parameters->list()) {
      if (parameter.name() == name) return &parameter;
    }
  }
  return nullptr;
}

const Parameter& Graph::parameter(std::string_view name) const {
  const Parameter* found = find(name);
  check(found != nullptr, "onnx: the model has no parameter {}", name);
  return *found;
}

Value Graph::weight(const std::string& name) {
  const Parameter& found = parameter(name);
  return tensor(name, {found.shape().begin(), found.shape().end()}, [&] { return elements_of(found); });
}

Value Graph::integers(const std::vector<int64_t>& values) {
  const std::string name = fmt::format("integers.{}", fmt::join(values, "_"));
  if (names_.insert(name).second) store(name, Type::kInt64, {std::ssize(values)}, raw(values));
  return {*this, name};
}

Value Graph::integer(int64_t value) {
  const std::string name = fmt::format("integer.{}", value);
  if (names_.insert(name).second) store(name, Type::kInt64, {}, raw(std::vector{value}));
  return {*this, name};
}

Value Graph::number(float value) {
  return tensor(fmt::format("number.{}", value), {}, [&] { return std::vector{value}; });
}

void Graph::store(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values) {
  store(name, Type::kFloat, shape, raw(values));
}

void Graph::store(const std::string& name, Type type, const std::vector<int64_t>& shape, std::string_view raw) {
  ProtobufWriter tensor;
  if (!shape.empty()) tensor.integers(1, shape);
  tensor.integer(2, static_cast<int64_t>(type));
  tensor.bytes(8, name);
  tensor.bytes(9, raw);
  initialisers_.message(5, tensor);
}

std::string Graph::bytes(int64_t most) const {
  ProtobufWriter name, ports, opset, model;
  name.bytes(2, name_);
  for (const Port& port : inputs_) ports.message(11, port_message(port));
  for (const Port& port : outputs_) ports.message(12, port_message(port));
  const std::string graph = nodes_.bytes() + name.bytes() + initialisers_.bytes() + ports.bytes();
  opset.bytes(1, "");
  opset.integer(2, kOpset);
  model.integer(1, kIrVersion);
  model.bytes(2, "fovea");
  model.bytes(7, graph);
  model.message(8, opset);
  check(std::ssize(model.bytes()) <= most,
        "onnx: the graph {} has {:.2f} GB; expected at most {:.2f} GB, the limit of a single ONNX file", name_,
        static_cast<double>(model.bytes().size()) / 1e9, static_cast<double>(most) / 1e9);
  return model.bytes();
}

}  // namespace fovea::onnx
