#include "store/pickle.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/json.h"

namespace fovea {

namespace {

// The pickle of a model of 1,000 tensors has 200 kB.
constexpr size_t kMostBytes = size_t{16} << 20, kMostValues = 1'000'000;
constexpr size_t kMostArguments = 8;  // of a function; they are copied
constexpr uint32_t kNothing = UINT32_MAX;

// The operations of protocols 2 to 5 that pickled tensors consist of, by their names in Python's pickletools.
enum Code : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kBinFloat = 'G',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

constexpr std::string_view kOrderedDict = "collections.OrderedDict",
                           kTensorFunction = "torch._utils._rebuild_tensor_v2",
                           kParameterFunction = "torch._utils._rebuild_parameter";

// Types of storages are names only, and are never called.
bool is_storage_type(std::string_view function) {
  return function.starts_with("torch.") && function.ends_with("Storage") &&
         std::count(function.begin(), function.end(), '.') == 1;
}

}  // namespace

Pickle::Pickle(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) { run(); }

void Pickle::run() {
  uint8_t code = kNone;
  do {
    expect(at_ < kMostBytes, "it is too long");
    expect(stack_.size() < kMostValues && values_.size() < kMostValues, "it has too many values");
    code = static_cast<uint8_t>(take(1)[0]);
  } while (step(code));
  root_ = pop();
}

void Pickle::refuse(std::string_view what) const {
  fail("{}: expected a pickle of tensors, but at byte {} {}", name_, at_, what);
}

void Pickle::expect(bool ok, std::string_view what) const {
  if (!ok) refuse(what);
}

bool Pickle::step(uint8_t code) {
  switch (code) {
    case kStop: return false;
    case kProto: take(1); break;
    case kFrame: take(8); break;
    case kNone: push({}); break;
    case kNewTrue:
    case kNewFalse: push({.kind = Kind::kBoolean, .integer = code == kNewTrue ? 1 : 0}); break;
    case kBinInt1: push({.kind = Kind::kInteger, .integer = static_cast<int64_t>(number(1))}); break;
    case kBinInt2: push({.kind = Kind::kInteger, .integer = static_cast<int64_t>(number(2))}); break;
    case kBinInt: push({.kind = Kind::kInteger, .integer = static_cast<int32_t>(number(4))}); break;
    case kLong1: {
      const auto count = static_cast<size_t>(number(1));
      if (count > 8) {
        push({.kind = Kind::kText, .text = std::string(take(count))});
        break;
      }
      const uint64_t value = number(count);
      const int unused = 64 - 8 * static_cast<int>(count);  // the sign is extended
      push({.kind = Kind::kInteger, .integer = count == 0 ? 0 : static_cast<int64_t>(value << unused) >> unused});
      break;
    }
    case kBinFloat: {  // big-endian, unlike everything else
      uint64_t bits = 0;
      for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
      push({.kind = Kind::kNumber, .number = std::bit_cast<double>(bits)});
      break;
    }
    case kShortBinString:
    case kShortBinUnicode: push({.kind = Kind::kText, .text = std::string(take(number(1)))}); break;
    case kBinString:
    case kBinUnicode: push({.kind = Kind::kText, .text = std::string(take(number(4)))}); break;
    case kGlobal: {
      const std::string_view module = line();
      push_function(module, line());
      break;
    }
    case kStackGlobal: {
      const uint32_t name = pop(), module = pop();
      push_function(text(value(module)), text(value(name)));
      break;
    }
    case kBinPersId: {
      PickleValue storage = value(pop());
      expect(storage.kind == Kind::kSequence && storage.items.size() <= kMostArguments,
             "a persistent id is not a short tuple");
      storage.kind = Kind::kStorage;
      push(std::move(storage));
      break;
    }
    case kReduce: reduce(); break;
    case kBuild: build(); break;
    default: return step_containers(code);
  }
  return true;
}

bool Pickle::step_containers(uint8_t code) {
  switch (code) {
    case kMark: marks_.push_back(stack_.size()); break;
    case kPop: pop(); break;
    case kEmptyTuple:
    case kEmptyList: push({.kind = Kind::kSequence}); break;
    case kEmptyDict: push({.kind = Kind::kMapping}); break;
    case kTuple1: push_sequence(1); break;
    case kTuple2: push_sequence(2); break;
    case kTuple3: push_sequence(3); break;
    case kTuple:
    case kList: push({.kind = Kind::kSequence, .items = pop_to_mark()}); break;
    case kAppend: append({pop()}, Kind::kSequence); break;
    case kAppends: append(pop_to_mark(), Kind::kSequence); break;
    case kSetItem: {
      const uint32_t element = pop(), key = pop();
      append({key, element}, Kind::kMapping);
      break;
    }
    case kSetItems: {
      std::vector<uint32_t> items = pop_to_mark();
      expect(items.size() % 2 == 0, "a dictionary has a key without a value");
      append(std::move(items), Kind::kMapping);
      break;
    }
    case kBinPut: remember(number(1)); break;
    case kLongBinPut: remember(number(4)); break;
    case kMemoize: remember(memo_.size()); break;
    case kBinGet: recall(number(1)); break;
    case kLongBinGet: recall(number(4)); break;
    default: refuse(fmt::format("there is an operation {:#04x} that tensors do not need", code));
  }
  return true;
}

void Pickle::reduce() {
  const uint32_t arguments = pop(), function = pop();
  expect(value(function).kind == Kind::kFunction && value(arguments).kind == Kind::kSequence &&
             value(arguments).items.size() <= kMostArguments,
         "something that is no function is called, or with too many arguments");
  const std::string& name = value(function).text;
  if (name == kOrderedDict) {
    expect(value(arguments).items.empty(), "an OrderedDict has arguments");
    push({.kind = Kind::kMapping});
  } else if (name == kTensorFunction) {
    push({.kind = Kind::kTensor, .items = value(arguments).items});
  } else if (name == kParameterFunction) {
    expect(!value(arguments).items.empty(), "a parameter has no tensor");
    stack_.push_back(value(arguments).items[0]);
  } else {
    refuse(fmt::format("{} is called, which does not make a tensor", brief(name)));
  }
}

// The state of an object: that of an OrderedDict of tensors holds versions, which are not needed.
void Pickle::build() {
  pop();
  expect(top().kind == Kind::kMapping, "an object has a state that is not a dictionary");
}

void Pickle::push_function(std::string_view module, std::string_view name) {
  const std::string function = fmt::format("{}.{}", module, name);
  const bool known = function == kOrderedDict || function == kTensorFunction || function == kParameterFunction ||
                     is_storage_type(function);
  if (!known) refuse(fmt::format("it asks for {}, which is refused and was not run", brief(function)));
  push({.kind = Kind::kFunction, .text = function});
}

std::string_view Pickle::take(uint64_t count) {
  expect(count <= bytes_.size() - at_, "it is truncated");
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

uint64_t Pickle::number(size_t bytes) {
  uint64_t value = 0;
  int shift = 0;
  for (const char c : take(bytes)) {
    value |= uint64_t{static_cast<unsigned char>(c)} << shift;
    shift += 8;
  }
  return value;
}

std::string_view Pickle::line() {
  const size_t end = bytes_.find('\n', at_);
  expect(end != std::string_view::npos, "it is truncated");
  const std::string_view text = take(end - at_);
  take(1);
  return text;
}

uint32_t Pickle::add(PickleValue value) {
  values_.push_back(std::move(value));
  return static_cast<uint32_t>(values_.size() - 1);
}

uint32_t Pickle::pop() {
  expect(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "a value is missing");
  const uint32_t popped = stack_.back();
  stack_.pop_back();
  return popped;
}

PickleValue& Pickle::top() {
  expect(!stack_.empty(), "a value is missing");
  return values_[stack_.back()];
}

std::vector<uint32_t> Pickle::pop_to_mark() {
  expect(!marks_.empty(), "a mark is missing");
  const auto begin = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
  std::vector<uint32_t> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

void Pickle::push_sequence(size_t count) {
  std::vector<uint32_t> items(count);
  for (size_t i = count; i > 0; --i) items[i - 1] = pop();
  push({.kind = Kind::kSequence, .items = std::move(items)});
}

void Pickle::append(std::vector<uint32_t> items, Kind kind) {
  PickleValue& container = top();
  expect(container.kind == kind, "items are added to something that is no list and no dictionary");
  container.items.insert(container.items.end(), items.begin(), items.end());
}

void Pickle::remember(uint64_t index) {
  expect(index < kMostValues && !stack_.empty(), "a value is remembered in an impossible place");
  if (index >= memo_.size()) memo_.resize(index + 1, kNothing);
  memo_[index] = stack_.back();
}

void Pickle::recall(uint64_t index) {
  expect(index < memo_.size() && memo_[index] != kNothing, "a value is recalled that was not remembered");
  stack_.push_back(memo_[index]);
}

const PickleValue& Pickle::item(const PickleValue& of, size_t i) const {
  check(i < of.items.size(), "{}: expected a pickle of tensors, but a value has no item {}", name_, i);
  return value(of.items[i]);
}

int64_t Pickle::integer(const PickleValue& of) const {
  check(of.kind == Kind::kInteger, "{}: expected a pickle of tensors, but a size is no integer", name_);
  return of.integer;
}

const std::string& Pickle::text(const PickleValue& of) const {
  check(of.kind == Kind::kText || of.kind == Kind::kFunction, "{}: expected a pickle of tensors, but a name is no text",
        name_);
  return of.text;
}

std::vector<int64_t> Pickle::integers(const PickleValue& of) const {
  check(of.kind == Kind::kSequence, "{}: expected a pickle of tensors, but a shape is no tuple", name_);
  std::vector<int64_t> all;
  for (const uint32_t index : of.items) all.push_back(integer(value(index)));
  return all;
}

}  // namespace fovea
