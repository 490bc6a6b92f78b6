// A contender in a process of its own, so that its peak memory can be measured and its threads sleep while the others
// are timed. It reads commands from standard input and answers each with one line:
//   NAME N      makes N calls of that name; answers with the seconds per call
//   output NAME answers with what a call of that name computes, as text
//   memory      answers with the peak resident size and the resident size before the first call, in MB
// Its first line is its own name, written when it is ready. It ends at the end of its input.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.h"

namespace bench {

class Worker {
 public:
  // `environment` holds NAME=value entries that are added to the environment of this process.
  Worker(std::vector<std::string> command, const std::vector<std::string>& environment);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::string& name() const { return name_; }  // its first line; empty if it ended before it was ready
  double seconds(const std::string& what, int calls);
  std::string output(const std::string& what);
  struct Memory {
    double peak = 0, before = 0;
  };
  Memory memory();

 private:
  void send(const std::string& line);
  std::string receive();

  pid_t process_ = 0;
  int input_ = -1, output_ = -1;
  std::string received_, name_;
};

// The path of a script of bench/peers.
std::string peer_script(const std::string& script);
// The command that runs a script of bench/peers with Python. The default is Debian's PyTorch (/usr/bin/python3 with
// python3-torch) with the BLAS and the kernels that are fastest there.
struct Peer {
  std::vector<std::string> command, environment;
};
Peer peer(const Options& options, const std::string& script);

// The worker's side: answers commands until the end of the input.
struct Work {
  std::string name;
  std::vector<std::pair<std::string, std::function<void()>>> calls;                // by name
  std::vector<std::pair<std::string, std::function<std::string()>>> outputs = {};  // by name
  double memory_before = 0;
};
void serve(const Work& work);

double peak_memory_mb();  // of this process, in MB

// Times all workers in turns. Returns for each the median over the rounds, in seconds per call.
struct Rounds {
  std::string what;
  int count;
  double least;  // shortest duration of a round, in seconds
};
std::vector<double> time_in_turns(const std::vector<Worker*>& workers, const Rounds& rounds);

}  // namespace bench
