// Builds a graph of ONNX, the Open Neural Network Exchange format (https://onnx.ai): nodes between named values. The
// parameters of a model become initialisers under their own names.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/protobuf.h"
#include "nn/parameters.h"

namespace fovea::onnx {

constexpr int64_t kOpset = 17;

enum class Type : uint8_t { kFloat = 1, kUint8 = 2, kInt32 = 6, kInt64 = 7, kBool = 9 };  // as in TensorProto.DataType
std::string_view name_of(Type type);

// An axis of an input or output: a size, or the name of a size that differs between calls.
using Dimension = std::variant<int64_t, std::string>;
using Dimensions = std::vector<Dimension>;

// An input or output of a graph.
struct Port {
  std::string name;
  Type type = Type::kFloat;
  Dimensions shape;
};

class Graph;

// A value of a graph: an input, an initialiser or the output of a node. A default value is absent.
class Value {
 public:
  Value() = default;
  explicit operator bool() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  const std::string& name() const { return name_; }

 private:
  friend class Graph;
  Value(Graph& graph, std::string name) : graph_(&graph), name_(std::move(name)) {}

  Graph* graph_ = nullptr;
  std::string name_;
};

struct Attribute {
  std::string_view name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>> value;
};
using Attributes = std::initializer_list<Attribute>;

class Graph {
 public:
  // Weights are looked up by name in all of `parameters`.
  Graph(std::string name, std::vector<const Parameters*> parameters);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Value input(const Port& port);
  void output(const Port& port, const Value& value);
  Value node(std::string_view op, const std::vector<Value>& inputs, Attributes attributes = {}) {
    return nodes(op, inputs, attributes, 1)[0];
  }
  // A node with several outputs. An absent input is one that the operator may do without.
  std::vector<Value> nodes(std::string_view op, const std::vector<Value>& inputs, Attributes attributes, int outputs);

  bool has_weight(std::string_view name) const { return find(name) != nullptr; }
  const Parameter& parameter(std::string_view name) const;
  Value weight(const std::string& name);
  // Constants. Equal ones are stored once.
  Value integers(const std::vector<int64_t>& values);  // int64 [n]
  Value integer(int64_t value);                        // int64 []
  Value number(float value);                           // float []
  // An initialiser that is computed. The same name is stored once, and `values` is called once.
  template <class Function> Value tensor(const std::string& name, const std::vector<int64_t>& shape, Function values) {
    if (names_.insert(name).second) store(name, shape, values());
    return {*this, name};
  }

  // Names of nodes start with the scope.
  class Scope {
   public:
    Scope(Graph& graph, std::string_view name) : graph_(graph), before_(graph.scope_) {
      graph.scope_ += std::string(name) + "/";
    }
    ~Scope() { graph_.scope_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
    std::string before_;
  };

  const std::string& name() const { return name_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  // The graph as a file: a ModelProto. Error if it is larger than `most`, by default the limit of protocol buffers.
  std::string bytes(int64_t most = std::numeric_limits<int32_t>::max()) const;

 private:
  const Parameter* find(std::string_view name) const;
  void store(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values);
  void store(const std::string& name, Type type, const std::vector<int64_t>& shape, std::string_view raw);
  std::string unique(const std::string& name);

  std::string name_, scope_;
  std::vector<const Parameters*> parameters_;
  std::vector<Port> inputs_, outputs_;
  std::set<std::string, std::less<>> names_;  // of all values
  ProtobufWriter nodes_, initialisers_;       // fields of GraphProto
};

// The elements of a parameter in f32.
std::vector<float> elements_of(const Parameter& parameter);

}  // namespace fovea::onnx
