// The readers of the formats, one function each. Errors name the file and, where there are lines, the line.
#pragma once

#include "corpora/byte_source.h"
#include "corpora/pairs.h"

namespace fovea {

void read_tmx(ByteSource source, PairWriter& writer);    // Translation Memory eXchange 1.1 to 1.4
void read_xliff(ByteSource source, PairWriter& writer);  // 1.x and 2.x
void read_po(ByteSource source, PairWriter& writer);     // gettext's text files
void read_mo(ByteSource source, PairWriter& writer);     // gettext's binary files
void read_csv(ByteSource source, PairWriter& writer);    // RFC 4180; , or ; between columns
void read_table(ByteSource source, PairWriter& writer);  // columns between tabs, without quotes
void read_json_lines(ByteSource source, PairWriter& writer);
// Two files, aligned line by line.
void read_moses(ByteSource source, ByteSource target, PairWriter& writer);

}  // namespace fovea
