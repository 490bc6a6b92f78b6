// The words of a caption, as the usual caption evaluation scripts (coco-caption) count them: Penn Treebank tokens in
// lower case without punctuation. "A man's T-shirt isn't red, it's blue." is a man 's t-shirt is n't red it 's blue.
//
// - Letters and digits form words; hyphens, underscores and slashes between them belong to the word (merry-go-round),
//   and so do points and commas inside numbers (2.5, 3,000).
// - 's, 'm, 'd, 're, 've, 'll and n't are words of their own; cannot, gonna and the like are two.
// - Abbreviations keep their point: mr., u.s., st.; so does a single letter.
// - . , : ; ? ! quotes, apostrophes and dashes are left out. Brackets and other signs (& # % $ + =) stay.
// - In scripts without spaces between words each character is a word, and all punctuation is left out; the scripts
//   themselves leave that to a segmenter.
//
// Unlike the Penn Treebank tokeniser of those scripts (CoreNLP 3.4.1), it does not know addresses of the web and of
// mail, telephone numbers, smileys and mark-up, leaves out repeated marks (!!) and low quotes, splits A&M, and treats
// all letters alike: schwarz/weiß is one word. Of 66,015 English captions of Flickr8k and Multi30k five differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

std::vector<std::string> caption_words(std::string_view caption);

}  // namespace fovea
