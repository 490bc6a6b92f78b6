// The views of an attention record by name: as text for a terminal, as SVG and as HTML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/record.h"
#include "view/picture_style.h"
#include "view/reduce.h"
#include "view/terminal.h"

namespace fovea {

struct RecordView {
  std::string as;                        // a name of record_views(); empty: the view that suits the record
  ReduceOptions heads{.heads = "auto"};  // which attention, layers and heads
  PictureStyle style;
  std::string cell;  // attention between the cells of a picture: "ROW,COLUMN" from 1, the only cell that is drawn
};

// heatmap, highlight, flow, heads, steps; of pictures overlay, strip, heads.
const std::vector<std::string>& record_views();

// The view with `as` chosen if it was empty. Throws an Error if the record has no such view.
RecordView suitable_view(const AttentionRecord& record, RecordView view);

// Each of these chooses a suitable view. record_svg and record_html throw an Error for the record of an empty line and
// for a model without attention.
//
// The text begins with the source and the output.
std::string record_text(const AttentionRecord& record, const RecordView& view, const TerminalStyle& terminal);
std::string record_svg(const AttentionRecord& record, const RecordView& view);
std::string record_html(const AttentionRecord& record, const RecordView& view);

}  // namespace fovea
