// Attention records: their weights as arrays that share the record's memory, and their views.
#include <fovea/base/files.h>
#include <fovea/view/curves.h>
#include <fovea/view/given_record.h>
#include <fovea/view/record_file.h>
#include <fovea/view/record_view.h>
#include <fovea/view/svg_render.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "bindings.h"

namespace fovea::python {

namespace {

// One attention of a record.
struct PyAttention {
  SharedRecord record;
  size_t index;
  const RecordedAttention& get() const { return record->attentions[index]; }
};

// A view of a record, drawn when it is asked for.
struct PyView {
  SharedRecord record;
  RecordView view;
};

struct PyCurves {
  std::vector<RunCurves> runs;
};

// A read-only array [layers, heads, rows, columns] over memory of the record, which stays alive as long as the array.
py::array_t<float> shared_array(const SharedRecord& record, const RecordedAttention& a,
                                const std::vector<float>& values) {
  py::array_t<float> array({a.layers, a.heads, a.rows, a.columns}, values.data(), py::cast(record));
  array.attr("flags").attr("writeable") = false;
  return array;
}

PyView view_of(const SharedRecord& record, const std::string& as, const py::kwargs& options, const char* function) {
  PyView view{record, {}};
  Fields fields;
  view.view.heads.describe(fields);
  view.view.style.describe(fields);
  fields.add("cell", view.view.cell, "");
  set_options(fields, options, function);
  view.view.as = as;
  view.view = suitable_view(*record, view.view);
  return view;
}

std::string html_of(const PyView& view) {
  const py::gil_scoped_release released;
  return record_html(*view.record, view.view);
}
std::string svg_of(const PyView& view) {
  const py::gil_scoped_release released;
  return record_svg(*view.record, view.view);
}
std::string text_of(const PyView& view, int width) {
  TerminalStyle terminal;
  terminal.width = width;
  return record_text(*view.record, view.view, terminal);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '"' ? "&quot;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

// A page in a frame of its own, so that its styles, names and keys do not meet those of the notebook. The frame grows
// with its content; where scripts of the notebook do not run it has the given height and scrolls.
std::string framed(const std::string& page, int height) {
  return fmt::format(
      "<iframe srcdoc=\"{}\" style=\"width:100%;height:{}px;border:0\" title=\"attention\" onload=\"const f=this,"
      "d=f.contentDocument.documentElement,fit=()=>f.style.height=d.querySelector('main').offsetHeight+2+'px';"
      "fit();new f.contentWindow.ResizeObserver(fit).observe(d.querySelector('main'))\"></iframe>",
      escaped(page), height);
}

std::string notebook_view(const PyView& view) {
  constexpr int kHeight = 420;
  return framed(html_of(view), kHeight);
}

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

void save_svg(const std::string& svg, const std::string& path, const std::string& extension) {
  if (extension == ".svg") return write_file_atomically(path, svg);
  for (const MissingGlyphs& missing : missing_glyphs(svg)) warn(missing.statement());
  const py::gil_scoped_release released;
  write_file_atomically(path, extension == ".png" ? svg_to_png(svg) : svg_to_pdf(svg));
}

bool is_picture(const std::string& extension) {
  return extension == ".svg" || extension == ".png" || extension == ".pdf";
}

void save_view(const PyView& view, const py::object& file) {
  const std::string path = path_of(file), extension = extension_of(path);
  if (is_picture(extension)) return save_svg(svg_of(view), path, extension);
  if (extension == ".html") return write_file_atomically(path, html_of(view));
  if (extension == ".txt") return write_file_atomically(path, text_of(view, 100));
  fail("{}: expected the ending svg, png, pdf, html or txt", path);
}

void save_record(const SharedRecord& record, const py::object& file, const std::string& as, const py::kwargs& options) {
  const std::string path = path_of(file), extension = extension_of(path);
  if (extension == ".json" || extension == ".jsonl") {
    check(as.empty() && options.empty(), "{}: expected no options, because JSON holds the whole record", path);
    return write_file_atomically(path, to_json(*record) + "\n");
  }
  check(is_picture(extension) || extension == ".html" || extension == ".txt",
        "{}: expected the ending svg, png, pdf, html, txt or json", path);
  save_view(view_of(record, as, options, "save"), file);
}

py::list attentions_of(const SharedRecord& record) {
  py::list list;
  for (size_t i = 0; i < record->attentions.size(); ++i) list.append(py::cast(PyAttention{record, i}));
  return list;
}

py::array_t<float> default_weights(const SharedRecord& record) {
  check(!record->attentions.empty(), "weights: {} has no attention", record->architecture);
  const std::string kind = default_attention(*record);
  const auto found = std::find_if(record->attentions.begin(), record->attentions.end(),
                                  [&](const RecordedAttention& a) { return a.kind == kind; });
  return shared_array(record, *found, found->weights);
}

// The weights have four dimensions: [layers, heads, rows, columns].
SharedRecord given_record(std::vector<std::string> source, std::vector<std::string> target,
                          const py::array_t<float, py::array::c_style | py::array::forcecast>& weights, bool causal,
                          bool any_sums, std::string model) {
  const auto rows = static_cast<py::ssize_t>(target.empty() ? source.size() : target.size());
  check(weights.ndim() == 4 && weights.shape(2) == rows && weights.shape(3) == static_cast<py::ssize_t>(source.size()),
        "record: expected weights with the shape [layers, heads, {}, {}] or with fewer dimensions, got {}", rows,
        source.size(), std::string(py::str(weights.attr("shape"))));
  return std::make_shared<AttentionRecord>(
      record_of_weights({.source = std::move(source),
                         .target = std::move(target),
                         .layers = weights.shape(0),
                         .heads = weights.shape(1),
                         .weights = {weights.data(), static_cast<size_t>(weights.size())},
                         .causal = causal,
                         .any_sums = any_sums,
                         .model = std::move(model)}));
}

void add_tokens(py::module_& module) {
  py::class_<RecordToken>(module, "Token", "A token and its characters from begin to end in the text.")
      .def_readonly("text", &RecordToken::text)
      .def_readonly("begin", &RecordToken::begin)
      .def_readonly("end", &RecordToken::end)
      .def_readonly("starts_word", &RecordToken::starts_word)
      .def_readonly("mark", &RecordToken::mark, "The end or the beginning of a sentence.")
      .def_readonly("unknown", &RecordToken::unknown, "The model's vocabulary does not have it.")
      .def("__str__", [](const RecordToken& t) { return t.text; })
      .def("__repr__", [](const RecordToken& t) {
        return fmt::format("Token({}, {}, {})", std::string(py::repr(py::str(t.text))), t.begin, t.end);
      });
}

void add_attentions(py::module_& module) {
  py::class_<PyAttention>(module, "Attention", "All layers and heads of one kind of attention.")
      .def_property_readonly(
          "kind", [](const PyAttention& a) { return a.get().kind; }, "For instance cross.")
      .def_property_readonly("mechanism", [](const PyAttention& a) { return a.get().mechanism; })
      .def_property_readonly("layers", [](const PyAttention& a) { return a.get().layers; })
      .def_property_readonly("heads", [](const PyAttention& a) { return a.get().heads; })
      .def_property_readonly(
          "weights", [](const PyAttention& a) { return shared_array(a.record, a.get(), a.get().weights); },
          "float32 [layers, heads, rows, columns], NaN in masked cells: a read-only view of the record's memory.")
      .def_property_readonly(
          "scores",
          [](const PyAttention& a) -> py::object {
            if (a.get().scores.empty()) return py::none();
            return shared_array(a.record, a.get(), a.get().scores);
          },
          "The same before softmax, if they were asked for; otherwise None.")
      .def("__repr__", [](const PyAttention& a) {
        return fmt::format("Attention({}, layers={}, heads={}, rows={}, columns={})", a.get().kind, a.get().layers,
                           a.get().heads, a.get().rows, a.get().columns);
      });
}

void add_views(py::module_& module) {
  py::class_<PyView>(module, "View",
                     "A picture of a record: it shows itself in a notebook, and print() writes it as text.")
      .def_property_readonly("kind", [](const PyView& v) { return v.view.as; })
      .def("html", html_of, "A whole page, interactive, that asks nothing of a network.")
      .def("svg", svg_of)
      .def("to_text", text_of, py::arg("width") = 80)
      .def("save", save_view, py::arg("path"), "Write a file by its ending: svg, png, pdf, html or txt.")
      .def("_repr_html_", notebook_view)
      .def("__str__", [](const PyView& v) { return text_of(v, 80); })
      .def("__repr__", [](const PyView& v) { return fmt::format("<fovea.View {}>", v.view.as); });
}

template <class Class> void add_view_methods(Class& records) {
  const std::pair<const char*, const char*> views[] = {
      {"heatmap", "A cell for every weight, tokens along both sides."},
      {"highlight", "Each sentence shaded by what the other's words looked at."},
      {"flow", "Ribbons between the two sentences, as thick as weights."},
      {"steps", "A film: one frame for each token written."},
      {"heads", "A small heat map for every head of every layer."},
      {"overlay", "A picture for each word, lit by its attention."},
      {"strip", "The same as a film strip."}};
  for (const auto& [name, help] : views) {
    const std::string doc = std::string(help) +
                            "\n\nOptions: attention, heads (mean, max, one, rollout, best), layer, head, words, "
                            "member, scale, palette, background, max_weight, hide.";
    records.def(
        name,
        [name = name](const SharedRecord& r, const py::kwargs& options) { return view_of(r, name, options, name); },
        doc.c_str());
  }
}

void add_record_class(py::module_& module) {
  py::class_<AttentionRecord, SharedRecord> records(
      module, "Record", "What a model attended to while it wrote one output; it shows itself in a notebook.");
  records.def_readonly("task", &AttentionRecord::task)
      .def_readonly("architecture", &AttentionRecord::architecture)
      .def_readonly("search", &AttentionRecord::search)
      .def_readonly("source_text", &AttentionRecord::source_text)
      .def_readonly("target_text", &AttentionRecord::target_text)
      .def_readonly("source", &AttentionRecord::source, "The tokens of the source.")
      .def_readonly("target", &AttentionRecord::target, "The tokens of the target, the end mark included.")
      .def_readonly("score", &AttentionRecord::score)
      .def_readonly("log_probability", &AttentionRecord::log_probability)
      .def_readonly("classes", &AttentionRecord::classes)
      .def_property_readonly("attentions", attentions_of)
      .def_property_readonly("weights", default_weights, "The weights of cross attention, or of the first attention.")
      .def(
          "view",
          [](const SharedRecord& r, const std::string& as, const py::kwargs& o) { return view_of(r, as, o, "view"); },
          py::arg("kind") = "", py::pos_only(), "A view by its name; by default the one that suits the record.")
      .def(
          "to_text",
          [](const SharedRecord& r, const std::string& as, int width, const py::kwargs& options) {
            return text_of(view_of(r, as, options, "to_text"), width);
          },
          py::arg("kind") = "", py::arg("width") = 80, "The view as text for a terminal.")
      .def(
          "to_json", [](const AttentionRecord& r) { return to_json(r); }, "One line; docs/record.md has the schema.")
      .def("save", save_record, py::arg("path"), py::arg("kind") = "",
           "Write a file by its ending: svg, png, pdf, html or txt of a view, or json of the whole record.")
      .def("_repr_html_", [](const SharedRecord& r) { return notebook_view(view_of(r, "", {}, "view")); })
      .def("__repr__", [](const AttentionRecord& r) {
        return fmt::format("<fovea.Record {} -> {}>", std::string(py::repr(py::str(r.source_text))),
                           std::string(py::repr(py::str(r.target_text))));
      });
  add_view_methods(records);
}

void add_curves(py::module_& module) {
  const auto svg = [](const PyCurves& c) { return curves_svg(c.runs); };
  py::class_<PyCurves>(module, "Curves", "Loss, validation metrics and learning rate of training runs.")
      .def("svg", svg)
      .def(
          "to_text",
          [](const PyCurves& c, int width) {
            TerminalStyle terminal;
            terminal.width = width;
            return curves_text(c.runs, terminal);
          },
          py::arg("width") = 80)
      .def(
          "save",
          [svg](const PyCurves& c, const py::object& file) {
            const std::string path = path_of(file), extension = extension_of(path);
            check(is_picture(extension), "{}: expected the ending svg, png or pdf", path);
            save_svg(svg(c), path, extension);
          },
          py::arg("path"), "Write a file by its ending: svg, png or pdf.")
      .def("_repr_html_",
           [svg](const PyCurves& c) {
             const py::object encoded = py::module_::import("base64").attr("b64encode")(py::bytes(svg(c)));
             return fmt::format("<img alt=\"training curves\" src=\"data:image/svg+xml;base64,{}\">",
                                encoded.attr("decode")().cast<std::string>());
           })
      .def("__str__", [](const PyCurves& c) { return curves_text(c.runs, TerminalStyle()); });
  module.def(
      "curves",
      [](const py::args& folders) {
        PyCurves curves;
        for (const py::handle folder : folders) curves.runs.push_back(read_run(path_of(folder)));
        curves_svg(curves.runs);  // raises the error of a run without anything to draw now, not in the notebook
        return curves;
      },
      "curves(*folders)\n\nThe curves of training runs, drawn over one another; also of a run that is being trained.");
}

}  // namespace

void add_records(py::module_& module) {
  add_tokens(module);
  add_attentions(module);
  add_views(module);
  add_record_class(module);
  add_curves(module);
  module.def("_record", given_record, py::arg("source"), py::arg("target"), py::arg("weights"), py::arg("causal"),
             py::arg("any_sums"), py::arg("model"));
  module.def(
      "read_records",
      [](const py::object& file) {
        std::vector<SharedRecord> records;
        for (AttentionRecord& record : read_records(path_of(file))) {
          records.push_back(std::make_shared<AttentionRecord>(std::move(record)));
        }
        return records;
      },
      py::arg("path"), "The records of a JSON file, one a line, as fovea view and Record.save write them.");
}

}  // namespace fovea::python
