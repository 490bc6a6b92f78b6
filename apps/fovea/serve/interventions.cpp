#include "fovea/serve/interventions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "store/caption_folder.h"

namespace fovea::app {

namespace {

constexpr int64_t kMaxPrefix = 40'000;  // bytes

// The ids of the text, then those of the tokens, of which `copied` may be one: its first has the id `copied_from`.
ForcedPrefix forced_ids(const WrittenPrefix& written, const Hosted& model, const std::vector<int32_t>& text_ids,
                        const std::vector<std::string>& copied = {}, int64_t copied_from = 0) {
  ForcedPrefix forced;
  for (const int32_t id : text_ids) forced.push_back({id});
  const auto add_token = [&](const std::string& name, const std::string& text) {
    std::vector<int32_t> ids = model.token_ids(text);
    if (const auto found = std::find(copied.begin(), copied.end(), text); found != copied.end()) {
      ids.push_back(static_cast<int32_t>(copied_from + (found - copied.begin())));
    }
    if (ids.empty()) throw bad_request(fmt::format("{}: the model has no token \"{}\".", name, brief(text)));
    forced.push_back(std::move(ids));
  };
  for (const std::string& token : written.tokens) add_token("prefix", token);
  if (!written.next.empty()) add_token("next", written.next);
  return forced;
}

// A number from 1, or all where it is absent.
int64_t read_place(Members& members, std::string_view name, int64_t most) {
  if (members.find(name) == nullptr) return AttentionEdit::kAll;
  const int64_t place = members.count(name, 1, most);
  if (place < 1) throw bad_request(fmt::format("edits: expected {} from 1 to {}, got {}.", name, most, place));
  return place - 1;
}

std::vector<float> read_weights(const Json& list) {
  if (!list.is_array()) throw expected("edits: weights", "a list of numbers", list);
  std::vector<float> weights;
  double sum = 0;
  for (const Json& w : list) {
    if (!w.is_number() || !(w.get<double>() >= 0) || !std::isfinite(w.get<float>())) {
      throw bad_request("edits: expected weights that are numbers from 0.");
    }
    weights.push_back(w.get<float>());
    sum += w.get<double>();
  }
  if (!(sum > 0) || !std::isfinite(sum)) throw bad_request("edits: expected weights with a sum above 0.");
  for (float& w : weights) w = static_cast<float>(static_cast<double>(w) / sum);
  return weights;
}

WeightEdit read_edit(const Json& json, const Model& model) {
  Members members(json);
  const std::string kind = members.text("kind", "cross");
  const std::vector<AttentionInfo> attentions = model.attentions();
  // The weights that a model copies by follow from its attention, or from its output layer.
  const auto found = std::find_if(attentions.begin(), attentions.end(), [&](const AttentionInfo& attention) {
    return attention.kind != AttentionKind::kCopy && name_of(attention.kind) == kind;
  });
  if (found == attentions.end()) {
    throw bad_request(fmt::format("edits: the model has no attention of kind \"{}\".", brief(kind)));
  }
  WeightEdit edit{.kind = found->kind};
  edit.layer = read_place(members, "layer", found->layers);
  edit.edit.head = read_place(members, "head", found->config.heads);
  if (members.find("row") != nullptr) edit.edit.row = members.count("row", 0, Limits::kMostLength);
  edit.edit.off = members.flag("off");
  if (const Json* weights = members.find("weights")) edit.edit.weights = read_weights(*weights);
  if (edit.edit.off == !edit.edit.weights.empty()) {
    throw bad_request("edits: expected each edit to have weights or \"off\": true, and not both.");
  }
  members.finish();
  return edit;
}

}  // namespace

WrittenPrefix read_prefix(Members& members) {
  WrittenPrefix written;
  if (const Json* prefix = members.find("prefix")) {
    if (prefix->is_string()) {
      if (std::ssize(prefix->get_ref<const std::string&>()) > kMaxPrefix) {
        throw too_large(fmt::format("prefix: expected at most {} bytes.", kMaxPrefix));
      }
      written.text = prefix->get<std::string>();
    } else {
      written.tokens = members.texts("prefix");
    }
  }
  written.next = members.text("next");
  return written;
}

ForcedPrefix prefix_ids(const WrittenPrefix& written, const Hosted& model, const TokenisedLine& source) {
  const Translator& translator = model.translator();
  std::vector<int32_t> ids;
  if (!written.text.empty()) ids = translator.target_ids(source, *translator.tokenise_target(written.text));
  return forced_ids(written, model, ids, source.copied.words, translator.model().target->size());
}

ForcedPrefix caption_prefix_ids(const WrittenPrefix& written, const Hosted& model) {
  const Vocabulary& target = *model.captioner().model().loaded.target;
  return forced_ids(written, model, written.text.empty() ? std::vector<int32_t>() : target.encode(written.text));
}

std::vector<WeightEdit> read_edits(Members& members, const Model& model) {
  std::vector<WeightEdit> edits;
  const Json* list = members.find("edits");
  if (list == nullptr) return edits;
  if (!list->is_array()) throw expected("edits", "a list", *list);
  if (list->size() > 1000) throw too_large("edits: expected at most 1,000.");
  for (const Json& json : *list) edits.push_back(read_edit(json, model));
  return edits;
}

}  // namespace fovea::app
