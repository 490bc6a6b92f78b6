#include "store/foreign_vocabulary.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "text/renumbered_vocabulary.h"

namespace fovea {

namespace {

// Receives the events of a parser for one flat object of whole numbers. A handler that returns false stops the parser.
class TokenIds final : public nlohmann::json_sax<Json> {
 public:
  using Ids = std::vector<std::pair<std::string, int64_t>>;

  const Ids& ids() const { return ids_; }
  bool complete() const { return ended_; }

  bool key(std::string& token) override {
    ids_.emplace_back(std::move(token), -1);
    return true;
  }
  bool number_integer(int64_t id) override { return take(id); }
  bool number_unsigned(uint64_t id) override { return id <= INT32_MAX && take(static_cast<int64_t>(id)); }
  bool start_object(size_t) override { return ++depth_ == 1; }
  bool end_object() override { return ended_ = true; }
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_float(double, const std::string&) override { return false; }
  bool string(std::string&) override { return false; }
  bool binary(Json::binary_t&) override { return false; }
  bool start_array(size_t) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  bool take(int64_t id) {
    if (ids_.empty()) return false;
    ids_.back().second = id;
    return true;
  }

  Ids ids_;
  int depth_ = 0;
  bool ended_ = false;
};

}  // namespace

std::vector<std::pair<std::string, int64_t>> read_token_ids(const std::string& path) {
  TokenIds ids;
  const bool read = Json::sax_parse(read_file(path), &ids);
  check(read && ids.complete(), "{}: expected a JSON object of tokens and their ids{}", path,
        ids.ids().empty() ? "" : fmt::format(", got something else after \"{}\"", brief(ids.ids().back().first)));
  return ids.ids();
}

std::shared_ptr<const Vocabulary> load_foreign_side(const std::string& model, std::vector<std::string> pieces) {
  return renumbered_vocabulary(read_file(model), std::move(pieces), model);
}

}  // namespace fovea
