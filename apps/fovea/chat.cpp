// fovea chat: a conversation with a model of the task dialogue, at a prompt or through a pipe.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/signals.h"
#include "base/thousands.h"
#include "fovea/commands.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "tasks/conversation.h"
#include "text/lines.h"
#include "view/reduce.h"
#include "view/terminal.h"
#include "view/terminal_text.h"

namespace fovea::app {

namespace {

constexpr std::string_view kHelp =
    "/look       what the last reply attended to, as a heat map\n"
    "/look text  the same as shaded text, a line for each word of the reply\n"
    "/reset      begin a new conversation\n"
    "/help       this text\n"
    "/quit       end; so does Ctrl-D. Ctrl-C stops a reply, or ends at the prompt\n";

struct ChatFlags : ModelFlags {
  int64_t context_turns = 0;  // 0 for the model's own number
  bool greedy = false;
  SearchOptions search;
};

// Shows a reply while it is generated, and stops it when it is interrupted.
class ReplyWatcher : public SearchWatcher {
 public:
  ReplyWatcher(const Vocabulary& vocabulary, Output& output, bool streams, const std::atomic<bool>& stopped)
      : vocabulary_(vocabulary), output_(output), streams_(streams), stopped_(stopped) {}

  bool should_continue(int64_t) override { return !stopped_; }
  bool wants_steps(int64_t) override { return streams_; }
  void step(int64_t, const SearchStep& step) override {
    ids_.resize(static_cast<size_t>(step.step));
    ids_.push_back(step.id);
    std::string text = vocabulary_.decode(ids_);
    constexpr std::string_view kIncomplete = "\uFFFD";  // the first bytes of a character
    while (text.ends_with(kIncomplete)) text.resize(text.size() - kIncomplete.size());
    show(text);
  }
  void finish(const std::string& reply) {
    if (!show(reply)) output_.write("\n" + harmless(reply, false));  // another hypothesis became the best one
    output_.write("\n");
  }

 private:
  // Writes what follows the text that was shown. Returns false if the text does not begin with that.
  bool show(const std::string& text) {
    if (!text.starts_with(shown_)) return false;
    const std::string more = text.substr(shown_.size());
    if (!more.empty()) output_.write(streams_ ? harmless(more, false) : more);
    shown_ = text;
    return true;
  }

  const Vocabulary& vocabulary_;
  Output& output_;
  bool streams_;
  const std::atomic<bool>& stopped_;
  std::vector<int32_t> ids_;
  std::string shown_;
};

class Chat {
 public:
  Chat(const ChatFlags& flags, bool at_prompt)
      : search_(flags.search), at_prompt_(at_prompt), translator_(flags.load()), conversation_(format(flags)) {
    search_.capture_weights = true;  // for /look
    max_tokens_ = translator_.max_source();
  }

  // Returns false if the line ends the conversation.
  bool take(const std::string& line) {
    if (line.starts_with('/')) return command(line);
    if (line.find_first_not_of(" \t") == std::string::npos) {
      if (!at_prompt_) output_.write("\n");  // one line for each line
      return true;
    }
    reply(line);
    return true;
  }
  void interrupt() {
    stopped_ = true;
    if (!replying_) ::_exit(kInterrupted);
  }

 private:
  DialogueFormat format(const ChatFlags& flags) const {
    const FolderConfig& config = translator_.model().config;
    check(config.task == "dialogue", "{}: expected a model of the task dialogue, got one of the task {}",
          flags.models.front(), config.task);
    DialogueFormat format = config.dialogue;
    if (flags.context_turns > 0) format.context_turns = flags.context_turns;
    return format;
  }

  void reply(const std::string& line) {
    conversation_.hear(line);
    const Vocabulary& vocabulary = *translator_.model().source;
    const std::vector<std::string> source = {conversation_.source(vocabulary, max_tokens_)};
    const std::vector<SharedLine> lines = translator_.tokenise_source(source, Offsets::kTokens);
    stopped_ = false;
    ReplyWatcher watcher(*translator_.model().target, output_, at_prompt_ && search_.beam == 1, stopped_);
    SearchOptions search = search_;
    search.watcher = &watcher;
    search.seed += replies_++;
    replying_ = at_prompt_;
    const std::vector<Translation> translations = translator_.translate(lines, search);
    replying_ = false;
    const Translation& translation = translations.front();
    watcher.finish(translation.text());
    if (translation.truncated) {
      fmt::print(stderr, "warning: the model read {} of {} tokens of that\n", thousands(max_tokens_),
                 thousands(translation.source_tokens));
    }
    conversation_.reply(translation.text());
    record_ = translator_.record(*lines.front(), translation.candidates.front().hypothesis);
  }

  bool command(const std::string& line) {
    if (line == "/quit" || line == "/exit") return false;
    if (line == "/reset") {
      conversation_.reset();
      record_.reset();
    } else if (line == "/help") {
      fmt::print(stderr, "{}", kHelp);
    } else if (line == "/look" || line == "/look text") {
      look(line != "/look");
    } else {
      fmt::print(stderr, "there is no command {}; /help lists them, and a space before it makes it text\n",
                 harmless(line, false));
    }
    return true;
  }

  // Through a pipe the picture goes to standard error: the output has a line for each line of input and no others.
  void look(bool as_text) {
    if (!record_) return static_cast<void>(fmt::print(stderr, "/look: there is no reply yet\n"));
    if (record_->attentions.empty()) {
      return static_cast<void>(fmt::print(stderr, "/look: this model has no attention\n"));
    }
    const Grid grid = reduce(*record_, {});
    const TerminalStyle terminal = terminal_style(at_prompt_ ? STDOUT_FILENO : STDERR_FILENO);
    const std::string picture = as_text ? highlight_text(grid, {}, terminal) : heatmap_text(grid, {}, terminal);
    if (at_prompt_) {
      output_.write(picture);
    } else {
      fmt::print(stderr, "{}", picture);
    }
  }

  SearchOptions search_;
  bool at_prompt_;
  Output output_{""};
  Translator translator_;
  Conversation conversation_;
  int64_t max_tokens_ = 0, replies_ = 0;
  std::optional<AttentionRecord> record_;  // of the last reply
  // Set by the thread that receives signals: at a prompt, an interrupt stops the reply that is being generated.
  std::atomic<bool> replying_ = false, stopped_ = false;
};

// Reads a line. At a prompt, a line that is no text is reported and the next one is read.
bool read_line(LineReader& reader, bool at_prompt, std::string& line) {
  while (true) {
    if (at_prompt) fmt::print(stderr, "> ");
    const int64_t before = reader.line_number();
    try {
      return reader.next(line);
    } catch (const Error& error) {
      if (!at_prompt || reader.line_number() == before) throw;
      fmt::print(stderr, "{}\n", error.what());
    }
  }
}

int chat(ChatFlags flags) {
  if (flags.greedy || flags.search.beam > 1) {
    flags.search.sample = false;
    flags.search.temperature = flags.search.top_p = 1;
    flags.search.top_k = 0;
  }
  check(flags.search.nbest == 1, "--nbest: expected 1, because a conversation has one reply, got {}",
        flags.search.nbest);
  check_search_flags(flags.search);
  const bool at_prompt = isatty(STDIN_FILENO) == 1;
  block_signals();  // from here on they are received by `signals` alone
  std::atomic<Chat*> running = nullptr;
  const auto interrupt = [&] {
    Chat* now = running;
    if (now == nullptr) ::_exit(kInterrupted);
    now->interrupt();
  };
  std::optional<Signals> signals(std::in_place, interrupt);
  Chat chat(flags, at_prompt);
  running = &chat;
  LineReader reader("-");
  if (at_prompt) fmt::print(stderr, "/help lists the commands; Ctrl-D ends\n");
  std::string line;
  while (read_line(reader, at_prompt, line) && chat.take(line)) {
    if (at_prompt) signals.emplace(interrupt);  // so that the next Ctrl-C is a first one again
  }
  signals.reset();
  if (at_prompt) fmt::print(stderr, "\n");
  return kDone;
}

}  // namespace

void add_chat(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("chat", "Talk with a model of the task dialogue.");
  const auto flags = std::make_shared<ChatFlags>();
  flags->search.sample = true;
  flags->search.temperature = 0.8;
  flags->search.top_p = 0.9;
  flags->search.no_repeat_ngram = 3;
  flags->search.min_length = 1;
  flags->search.max_length = 80;
  add_model_flags(*command, *flags)->required();
  command
      ->add_option(
          "--context-turns", flags->context_turns,
          "Number of turns before a reply that the model reads, at most; 0 for as many as it was trained with.")
      ->check(at_least(0));
  command->add_flag("--greedy", flags->greedy,
                    "The most likely reply instead of a sampled one; --beam above 1 implies it.");
  add_flags(*command, flags->search, "Search");
  command->footer(std::string("At a prompt:\n") + std::string(kHelp) +
                  "Through a pipe there is a line of reply for each line of input, the same ones for the same --seed.\n"
                  "Lines that begin with / are commands there, too; what they print goes to standard error.");
  command->callback([flags, &run] { run = [flags] { return chat(*flags); }; });
}

}  // namespace fovea::app
