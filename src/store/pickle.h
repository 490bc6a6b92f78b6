// Reads Python's pickles of tensors without executing them. A pickle is a program that may call any function; this
// reader knows plain values and the few functions that rebuild tensors, and refuses everything else. Nested values are
// indices into one list, so that no depth exhausts the stack.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBoolean,
    kInteger,
    kNumber,
    kText,      // also an integer of more than 64 bits: its bytes
    kSequence,  // a tuple or a list
    kMapping,   // items: key, value, key, value
    kFunction,  // text: module.name
    kStorage,   // items: those of the tuple that names it
    kTensor,    // items: the arguments of _rebuild_tensor_v2
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<uint32_t> items;
};

class Pickle {
 public:
  // Error messages start with `name`. Reads one pickle at the start of the bytes.
  Pickle(std::string_view bytes, std::string name);

  size_t size() const { return at_; }  // of the pickle, in bytes
  const PickleValue& root() const { return value(root_); }
  const PickleValue& value(uint32_t index) const { return values_[index]; }
  // Item i of a value; Error unless there is one.
  const PickleValue& item(const PickleValue& of, size_t i) const;
  // Error unless the value has this kind.
  int64_t integer(const PickleValue& of) const;
  const std::string& text(const PickleValue& of) const;
  std::vector<int64_t> integers(const PickleValue& of) const;

 private:
  using Kind = PickleValue::Kind;
  void run();
  bool step(uint8_t code);  // false: it was the last
  bool step_containers(uint8_t code);
  void build();
  void reduce();
  [[noreturn]] void refuse(std::string_view what) const;
  void expect(bool ok, std::string_view what) const;

  std::string_view take(uint64_t count);
  uint64_t number(size_t bytes);
  std::string_view line();
  uint32_t add(PickleValue value);
  void push(PickleValue value) { stack_.push_back(add(std::move(value))); }
  void push_function(std::string_view module, std::string_view name);
  uint32_t pop();
  PickleValue& top();
  std::vector<uint32_t> pop_to_mark();
  void push_sequence(size_t count);
  void append(std::vector<uint32_t> items, Kind kind);
  void remember(uint64_t index);
  void recall(uint64_t index);

  std::string_view bytes_;
  std::string name_;
  size_t at_ = 0;
  std::vector<PickleValue> values_;
  std::vector<uint32_t> stack_, memo_;
  std::vector<size_t> marks_;
  uint32_t root_ = 0;
};

}  // namespace fovea
