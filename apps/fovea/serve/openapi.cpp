// The OpenAPI description, made from the routes and settings that the server itself uses. The schemas of bodies are
// written here; the tests validate real answers against them.
#include <fmt/format.h>

#include "fovea/serve/api.h"

namespace fovea::app {

namespace {

// An answer has what is required and may have more.
constexpr std::string_view kSchemas = R"json({
  "Error": {"type": "object", "required": ["error"], "properties": {"error": {
    "type": "object", "required": ["code", "message"],
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}}}}},
  "LibreError": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
  "Health": {"type": "object", "required": ["status"], "properties": {"status": {"type": "string", "enum": ["ok", "ready"]}}},
  "Document": {"type": "object", "required": ["openapi", "info", "paths"]},
  "Models": {"type": "object", "required": ["models"], "properties": {"models": {
    "type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Model"}}}},
  "Model": {"type": "object",
    "required": ["name", "task", "path", "architecture", "parameters", "source_language", "target_language", "layers",
                 "attentions", "examples"],
    "properties": {
      "name": {"type": "string"},
      "task": {"type": "string", "enum": ["sequence", "summarise", "dialogue", "classify", "answer", "caption"]},
      "path": {"type": "string", "description": "Where requests to the model go."},
      "labels": {"type": "array", "items": {"type": "string"}, "description": "Of a classifier."},
      "beam": {"type": "integer", "description":
        "Of a model that writes: the beam size of requests that name none."},
      "grid": {"type": "object", "required": ["rows", "columns"], "description":
        "Of a captioner: the cells of a picture that it attends to.",
        "properties": {"rows": {"type": "integer"}, "columns": {"type": "integer"}}},
      "architecture": {"type": "string"}, "parameters": {"type": "integer"},
      "source_language": {"type": ["string", "null"]}, "target_language": {"type": ["string", "null"]},
      "layers": {"type": "integer"},
      "attentions": {"type": "array", "items": {"type": "object", "required": ["kind", "layers", "heads", "mechanism"],
        "properties": {"kind": {"$ref": "#/components/schemas/Kind"}, "layers": {"type": "integer"},
                       "heads": {"type": "integer"}, "mechanism": {"type": "string"}}}},
      "examples": {"type": "array", "items": {"$ref": "#/components/schemas/Example"}}}},
  "Example": {"type": ["string", "array", "object"], "items": {"type": "string"}, "description":
    "An input: a text; of a dialogue model also a list of turns; of a reader a passage and a question.",
    "properties": {"passage": {"type": "string"}, "question": {"type": "string"}}},
  "Kind": {"type": "string", "enum": ["cross", "encoder-self", "decoder-self", "pooling", "copy",
    "passage-to-question", "question-to-passage"]},
  "Mechanisms": {"type": "object", "required": ["scores", "scopes", "selections", "relative_positions", "models",
      "encoders", "tasks"],
    "properties": {
      "scores": {"type": "array", "items": {"$ref": "#/components/schemas/Mechanism"}},
      "scopes": {"type": "array", "items": {"$ref": "#/components/schemas/Mechanism"}},
      "selections": {"type": "array", "items": {"$ref": "#/components/schemas/Mechanism"}},
      "relative_positions": {"type": "array", "items": {"$ref": "#/components/schemas/Mechanism"}},
      "models": {"type": "array", "items": {"type": "object", "required": ["name", "paper", "help"]}},
      "encoders": {"type": "array", "items": {"type": "object", "required": ["name", "help"]}},
      "tasks": {"type": "array", "items": {"type": "object", "required": ["name", "help"]}}}},
  "Mechanism": {"type": "object", "required": ["name", "equation", "paper", "cost", "help"],
    "properties": {"name": {"type": "string"}, "equation": {"type": "string"}, "paper": {"type": "string"},
                   "cost": {"type": "string"}, "help": {"type": "string"}}},
  "Texts": {"type": ["string", "array"], "items": {"type": "string"}},
  "Edit": {"type": "object", "additionalProperties": false, "properties": {
    "kind": {"$ref": "#/components/schemas/Kind"},
    "layer": {"type": ["integer", "null"], "minimum": 1, "description": "From 1; null for all."},
    "head": {"type": ["integer", "null"], "minimum": 1, "description": "From 1; null for all."},
    "row": {"type": ["integer", "null"], "minimum": 0, "description": "The target step, from 0; null for all."},
    "weights": {"type": ["array", "null"], "items": {"type": "number", "minimum": 0},
                "description": "One for each source token, the end mark counted, or cell of a picture; then that of a sentinel, if it has one. Made to sum to 1."},
    "off": {"type": "boolean", "description": "What these heads bring is zero."}}},
  "TranslateRequest": {"type": "object", "additionalProperties": false, "required": ["text"], "properties": {
    "text": {"$ref": "#/components/schemas/Texts"},
    "model": {"type": ["string", "null"]},
    "alternatives": {"type": "integer", "minimum": 0, "maximum": 100,
                     "description": "Likeliest tokens of every step, in records and streams."},
    "attention": {"$ref": "#/components/schemas/Attention"},
    "tree": {"type": "boolean", "description": "Bring every continuation that entered the beam."},
    "stream": {"type": "boolean", "description": "Server-sent events; one text."},
    "split_above": {"type": "integer", "minimum": 0, "description":
      "Texts of more source tokens are translated sentence by sentence; 0 for never. By default as the model's folder says; 0 with attention, stream, tree, prefix or edits."},
    "prefix": {"$ref": "#/components/schemas/Texts", "description":
      "What the target must begin with: text, or a list of tokens as records write them."},
    "next": {"type": ["string", "null"], "description": "The token that must follow, as records write it."},
    "edits": {"type": "array", "items": {"$ref": "#/components/schemas/Edit"}}}},
  "AttentionRequest": {"type": "object", "description":
    "As TranslateRequest, for one text, or as ChatRequest. With a target, that is what is written.", "properties": {
    "text": {"type": "string"}, "turns": {"$ref": "#/components/schemas/Turns"},
    "target": {"type": ["string", "null"]}}},
  "Attention": {"type": ["boolean", "string"], "enum": [true, false, "compact"], "description":
    "Bring the attention record; \"compact\": in the compact form that docs/record.md describes."},
  "Turns": {"type": "array", "minItems": 1, "maxItems": 1000, "description":
    "The conversation so far, the oldest turn first: texts by two speakers in turn, or texts with their speakers.",
    "items": {"type": ["string", "object"], "required": ["speaker", "text"], "additionalProperties": false,
      "properties": {"speaker": {"type": "string"}, "text": {"type": "string"}}}},
  "ChatRequest": {"type": "object", "additionalProperties": false, "required": ["turns"], "properties": {
    "turns": {"$ref": "#/components/schemas/Turns"}}},
  "Chat": {"type": "object", "required": ["reply", "candidates", "cut", "source_tokens", "model", "milliseconds"],
    "properties": {"reply": {"type": "string"}, "candidates": {"$ref": "#/components/schemas/Candidates"},
      "cut": {"type": "boolean"}, "source_tokens": {"type": "integer"}, "tree": {"$ref": "#/components/schemas/Tree"},
      "model": {"type": "string"}, "milliseconds": {"type": "number"}}},
  "ClassifyRequest": {"type": "object", "additionalProperties": false, "required": ["text"], "properties": {
    "text": {"$ref": "#/components/schemas/Texts"}, "model": {"type": ["string", "null"]},
    "attention": {"$ref": "#/components/schemas/Attention"}}},
  "Class": {"type": "object", "required": ["label", "probability"], "properties": {
    "label": {"type": "string"}, "probability": {"type": "number"}}},
  "Classifications": {"type": "object", "required": ["classifications", "model", "milliseconds"], "properties": {
    "classifications": {"type": "array", "minItems": 1, "items": {"type": "object",
      "required": ["label", "probability", "classes", "truncated"], "properties": {
        "label": {"type": "string"}, "probability": {"type": "number"},
        "classes": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Class"}, "description":
          "All classes, likeliest first."},
        "truncated": {"type": "boolean"}, "record": {"$ref": "#/components/schemas/Record"}}}},
    "model": {"type": "string"}, "milliseconds": {"type": "number"}}},
  "AnswerRequest": {"type": "object", "additionalProperties": false, "required": ["passage", "question"], "properties": {
    "passage": {"type": "string"}, "question": {"$ref": "#/components/schemas/Texts"},
    "model": {"type": ["string", "null"]},
    "nbest": {"type": "integer", "minimum": 1, "maximum": 64, "description": "How many answers to return, best first."},
    "attention": {"$ref": "#/components/schemas/Attention"}}},
  "Found": {"type": "object", "description": "A part of the passage, in characters (code points) and in bytes of UTF-8.",
    "required": ["text", "begin", "end", "begin_byte", "end_byte", "probability"], "properties": {
      "text": {"type": "string"}, "begin": {"type": "integer"}, "end": {"type": "integer"},
      "begin_byte": {"type": "integer"}, "end_byte": {"type": "integer"}, "probability": {"type": "number"}}},
  "Answers": {"type": "object", "required": ["answers", "model", "milliseconds"], "properties": {
    "answers": {"type": "array", "minItems": 1, "items": {"type": "object",
      "required": ["text", "begin", "end", "begin_byte", "end_byte", "probability", "candidates"], "properties": {
        "text": {"type": "string"}, "begin": {"type": "integer"}, "end": {"type": "integer"},
        "begin_byte": {"type": "integer"}, "end_byte": {"type": "integer"}, "probability": {"type": "number"},
        "candidates": {"type": "array", "items": {"$ref": "#/components/schemas/Found"}},
        "record": {"$ref": "#/components/schemas/Record"}}}},
    "model": {"type": "string"}, "milliseconds": {"type": "number"}}},
  "CaptionRequest": {"type": "object", "additionalProperties": false, "required": ["image"], "properties": {
    "image": {"$ref": "#/components/schemas/Texts", "description":
      "A picture or a list of them: JPEG, PNG or WebP in base64, or as a data URL. In a form, one part with a file."}}},
  "Captions": {"type": "object", "required": ["captions", "model", "milliseconds"], "properties": {
    "captions": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["text", "candidates"],
      "properties": {"text": {"type": "string"}, "candidates": {"$ref": "#/components/schemas/Candidates"},
        "tree": {"$ref": "#/components/schemas/Tree"}}}},
    "model": {"type": "string"}, "milliseconds": {"type": "number"}}},
  "ScoreRequest": {"type": "object", "additionalProperties": false, "required": ["text", "target"], "properties": {
    "text": {"type": "string"}, "target": {"type": "string"}, "model": {"type": ["string", "null"]},
    "alternatives": {"type": "integer", "minimum": 0, "maximum": 100},
    "edits": {"type": "array", "items": {"$ref": "#/components/schemas/Edit"}}}},
  "Translations": {"type": "object", "required": ["translations", "model", "milliseconds"], "properties": {
    "translations": {"type": "array", "items": {"$ref": "#/components/schemas/Translation"}},
    "model": {"type": "string"}, "milliseconds": {"type": "number"}}},
  "Translation": {"type": "object", "required": ["text", "candidates", "cut", "source_tokens"], "properties": {
    "text": {"type": "string"},
    "candidates": {"$ref": "#/components/schemas/Candidates"},
    "cut": {"type": "boolean"}, "source_tokens": {"type": "integer"},
    "warnings": {"type": "array", "items": {"type": "object", "required": ["kind", "message"], "properties": {
      "kind": {"type": "string", "enum": ["repetition", "length", "attention"]}, "message": {"type": "string"}}}},
    "parts": {"type": "array", "items": {"type": "object",
      "required": ["text", "begin", "end", "candidates", "cut", "source_tokens"], "properties": {
        "text": {"type": "string"}, "begin": {"type": "integer"}, "end": {"type": "integer"},
        "candidates": {"$ref": "#/components/schemas/Candidates"},
        "cut": {"type": "boolean"}, "source_tokens": {"type": "integer"}}}},
    "tree": {"$ref": "#/components/schemas/Tree"}}},
  "Candidates": {"type": "array", "minItems": 1, "items": {"type": "object",
    "required": ["text", "score", "log_probability", "ended"], "properties": {
      "text": {"type": "string"}, "score": {"type": "number"}, "log_probability": {"type": "number"},
      "ended": {"type": "boolean"}, "record": {"$ref": "#/components/schemas/Record"}}}},
  "Tree": {"type": "object", "required": ["nodes"], "properties": {"nodes": {"type": "array", "items": {
    "type": "object", "required": ["id", "parent", "text", "log_probability", "total", "step", "kept", "ended"],
    "properties": {"id": {"type": "integer"}, "parent": {"type": ["integer", "null"]}, "text": {"type": "string"},
      "log_probability": {"type": "number"}, "total": {"type": "number"}, "step": {"type": "integer"},
      "kept": {"type": "boolean"}, "ended": {"type": "boolean"}}}}}},
  "Token": {"type": "object", "required": ["text", "begin", "end"], "properties": {
    "text": {"type": "string"}, "begin": {"type": "integer"}, "end": {"type": "integer"},
    "starts_word": {"type": "boolean"}, "mark": {"type": "boolean"}, "unknown": {"type": "boolean"}}},
  "Side": {"type": "object", "required": ["text", "tokens"], "properties": {"text": {"type": "string"},
    "tokens": {"type": "array", "items": {"$ref": "#/components/schemas/Token"}}}},
  "Alternatives": {"type": "array", "items": {"type": "object", "required": ["text", "log_probability"],
    "properties": {"text": {"type": "string"}, "log_probability": {"type": "number"}}}},
  "Record": {"type": "object", "description": "The attention record; docs/record.md describes it.",
    "required": ["fovea_record", "line", "rank", "architecture", "search", "convention", "target", "steps", "score",
                 "log_probability", "ended", "cut", "attentions"],
    "properties": {
      "fovea_record": {"type": "integer", "enum": [1]}, "line": {"type": "integer"}, "rank": {"type": "integer"},
      "architecture": {"type": "string"}, "search": {"type": "string"}, "convention": {"type": "string"},
      "shares": {"type": "object", "required": ["rank", "tokens", "rows"], "description":
        "Compact: what is left out because the candidate of that rank has it.", "properties": {
          "rank": {"type": "integer"}, "tokens": {"type": "integer"}, "rows": {"type": "integer"}}},
      "source": {"$ref": "#/components/schemas/Side"}, "target": {"$ref": "#/components/schemas/Side"},
      "steps": {"type": "array", "items": {"type": "object", "required": ["log_probability", "alternatives"],
        "properties": {"log_probability": {"type": "number"},
                       "alternatives": {"$ref": "#/components/schemas/Alternatives"}}}},
      "score": {"type": "number"}, "log_probability": {"type": "number"},
      "ended": {"type": "boolean"}, "cut": {"type": "boolean"},
      "attentions": {"type": "array", "items": {"type": "object",
        "required": ["kind", "mechanism", "scope", "selection"],
        "properties": {"kind": {"$ref": "#/components/schemas/Kind"}, "mechanism": {"type": "string"},
          "scope": {"type": "string"}, "selection": {"type": "string"},
          "shape": {"type": "array", "items": {"type": "integer"}, "description":
            "Compact: layers, heads, rows, columns."},
          "packed": {"type": "string", "description": "Compact, instead of weights: a byte for each weight, base64."},
          "weights": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {
            "type": "array", "items": {"type": ["number", "null"]}}}}}}}}}},
  "AttentionAnswer": {"type": "object", "required": ["record"], "properties": {
    "record": {"$ref": "#/components/schemas/Record"}}},
  "Score": {"type": "object", "required": ["log_probability", "perplexity", "tokens"], "properties": {
    "log_probability": {"type": "number"}, "perplexity": {"type": "number"},
    "tokens": {"type": "array", "items": {"type": "object",
      "required": ["text", "begin", "end", "log_probability", "alternatives"], "properties": {
        "text": {"type": "string"}, "begin": {"type": "integer"}, "end": {"type": "integer"},
        "log_probability": {"type": "number"}, "alternatives": {"$ref": "#/components/schemas/Alternatives"}}}}}},
  "LibreRequest": {"type": "object", "required": ["q", "target"], "properties": {
    "q": {"$ref": "#/components/schemas/Texts"}, "source": {"type": "string"}, "target": {"type": "string"},
    "format": {"type": "string", "enum": ["text", "html"]}, "alternatives": {"type": "integer"},
    "api_key": {"type": "string"}}},
  "LibreAnswer": {"type": "object", "required": ["translatedText"], "properties": {
    "translatedText": {"$ref": "#/components/schemas/Texts"},
    "alternatives": {"type": "array", "items": {"$ref": "#/components/schemas/Texts"}},
    "detectedLanguage": {"$ref": "#/components/schemas/Detection"}}},
  "FileRequest": {"type": "object", "required": ["file", "target"], "properties": {
    "file": {"type": "string", "format": "binary"}, "source": {"type": "string"}, "target": {"type": "string"},
    "api_key": {"type": "string"}}},
  "FileAnswer": {"type": "object", "required": ["translatedFileUrl"], "properties": {
    "translatedFileUrl": {"type": "string"}}},
  "DetectRequest": {"type": "object", "required": ["q"], "properties": {
    "q": {"$ref": "#/components/schemas/Texts"}, "api_key": {"type": "string"}}},
  "Detection": {"type": "object", "required": ["confidence", "language"], "properties": {
    "confidence": {"type": "number"}, "language": {"type": "string"}}},
  "Detections": {"type": "array", "items": {"$ref": "#/components/schemas/Detection"}},
  "Languages": {"type": "array", "items": {"type": "object", "required": ["code", "name", "targets"], "properties": {
    "code": {"type": "string"}, "name": {"type": "string"},
    "targets": {"type": "array", "items": {"type": "string"}}}}},
  "Settings": {"type": "object",
    "required": ["apiKeys", "charLimit", "frontendTimeout", "keyRequired", "language", "suggestions",
                 "supportedFilesFormat"],
    "properties": {"apiKeys": {"type": "boolean"}, "charLimit": {"type": "integer"},
      "frontendTimeout": {"type": "integer"}, "keyRequired": {"type": "boolean"},
      "language": {"type": "object", "required": ["source", "target"]}, "suggestions": {"type": "boolean"},
      "supportedFilesFormat": {"type": "array", "items": {"type": "string"}}}}
})json";

// A setting as a property.
Json property_of(const Field& field) {
  Json json;
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        json["type"] = std::is_same_v<T, bool>      ? "boolean"
                       : std::is_same_v<T, int64_t> ? "integer"
                       : std::is_same_v<T, double>  ? "number"
                                                    : "string";
        json["default"] = value;
      },
      field.value());
  json["description"] = field.help();
  return json;
}

Json schema_ref(std::string_view name) { return {{"$ref", fmt::format("#/components/schemas/{}", name)}}; }

Json content_of(std::string_view schema) {
  const bool type = schema.find('/') != std::string_view::npos;
  return type ? Json{{std::string(schema), {{"schema", {{"type", "string"}}}}}}
              : Json{{"application/json", {{"schema", schema_ref(schema)}}}};
}

Json operation(const Api::Route& route) {
  const bool libre = route.kind == Api::Route::Kind::kLibre;
  Json json{{"summary", route.summary}};
  if (!route.request.empty()) {
    json["requestBody"] = {{"required", true}, {"content", content_of(route.request)}};
    if (route.request == "FileRequest") {
      json["requestBody"]["content"] = {{"multipart/form-data", {{"schema", schema_ref(route.request)}}}};
    } else if (route.kind == Api::Route::Kind::kImage) {
      json["requestBody"]["content"]["multipart/form-data"] = {{"schema", schema_ref(route.request)}};
    } else if (libre) {
      json["requestBody"]["content"]["application/x-www-form-urlencoded"] = {{"schema", schema_ref(route.request)}};
    }
  }
  Json answer{{"description", "What was asked for."}, {"content", content_of(route.answer)}};
  if (route.path == "/v1/translate" || route.path == "/v1/chat") {
    answer["content"]["text/event-stream"] = {{"schema", {{"type", "string"}}}};
  }
  json["responses"] = {
      {"200", std::move(answer)},
      {"default", {{"description", "What went wrong."}, {"content", content_of(libre ? "LibreError" : "Error")}}}};
  if (route.kind == Api::Route::Kind::kOpen) json["security"] = Json::array();
  return json;
}

}  // namespace

Json openapi_json() {
  Json schemas = parse_json(kSchemas, "schemas");
  SearchOptions search;
  const Fields fields = fields_of(search);
  for (const Field& field : fields.list()) {
    schemas["TranslateRequest"]["properties"][field.key()] = property_of(field);
  }
  for (const auto& [name, property] : schemas["TranslateRequest"]["properties"].items()) {
    Json& attention = schemas["AttentionRequest"]["properties"];
    Json& chat = schemas["ChatRequest"]["properties"];
    if (!attention.contains(name) && name != "stream") attention[name] = property;
    if (name != "text") chat[name] = property;
    if (name != "text" && name != "stream") schemas["CaptionRequest"]["properties"][name] = property;
  }
  Json paths = Json::object();
  for (const Api::Route& route : Api::routes()) {
    const std::string method = route.method == "GET" ? "get" : "post";
    paths[std::string(route.path)][method] = operation(route);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Fovea"}, {"version", FOVEA_VERSION}, {"description", "Attention you can train, run and see."}}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", std::move(schemas)}, {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
          {"security", {{{"key", Json::array()}}}}};
}

}  // namespace fovea::app
