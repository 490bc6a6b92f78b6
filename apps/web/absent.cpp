// Parts of `fovea serve` that the engine in a page leaves out: the page, which is a file beside it; the command line;
// recipes, which its models come without; LibreTranslate's API; and descriptions of all these.
#include "base/error.h"
#include "decode/options.h"
#include "fovea/flags.h"
#include "fovea/mechanisms.h"
#include "fovea/serve/api.h"
#include "fovea/serve/page.h"
#include "recipe/recipe.h"

namespace fovea {

Recipe read_recipe(const std::string& path, std::span<const std::string>, std::vector<std::string>*) {
  fail("{}: the engine in a page reads no recipes", path);
}

}  // namespace fovea

namespace fovea::app {

namespace {
[[noreturn]] void absent(std::string_view what) {
  throw ApiError(404, "not_found", fmt::format("The engine in a page has no {}.", what));
}
}  // namespace

bool is_page(const std::string&) { return false; }
Answer page_answer(const Call& call) { absent(call.path); }

SearchOptions SearchFlags::for_task(std::string_view task) const { return default_search(task); }
SearchOptions SearchFlags::for_model(const FolderConfig& config) const { return default_search(config); }

Json openapi_json() { absent("/openapi.json"); }
nlohmann::ordered_json mechanisms_json() { absent("/v1/mechanisms"); }

Reply Api::libre_translate(const Call& call) { absent(call.path); }
Reply Api::translate_file(const Call& call) { absent(call.path); }
Reply Api::download_file(const Call& call) { absent(call.path); }
Reply Api::languages(const Call& call) { absent(call.path); }
Reply Api::detect(const Call& call) { absent(call.path); }
Reply Api::settings(const Call& call) { absent(call.path); }

}  // namespace fovea::app
