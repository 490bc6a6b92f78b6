// A contender in a process of its own, so that its peak memory is its own and its threads sleep while the
// others are timed. It reads commands line by line and answers each with a line:
//   WHAT N      does one of the things it can do N times: seconds a call
//   memory      the largest resident size so far and that before the first call, in MB
// Its first line says what it is once it is ready. It ends when its input does.
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
  // `environment` holds NAME=value entries that are added to ours.
  Worker(std::vector<std::string> command, const std::vector<std::string>& environment);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::string& name() const { return name_; }  // its first line; empty if it ended without one
  double seconds(const std::string& what, int calls);
  struct Memory {
    double peak = 0, before = 0;
  };
  Memory memory();

 private:
  void tell(const std::string& line);
  std::string hear();

  pid_t process_ = 0;
  int input_ = -1, output_ = -1;
  std::string heard_, name_;
};

// A script of bench/peers and what runs it: Debian's PyTorch by default (/usr/bin/python3 with python3-torch),
// told to use the BLAS and the kernels that are fastest there.
struct Peer {
  std::vector<std::string> command, environment;
};
Peer peer(const Options& options, const std::string& script);

// The other side: answers commands until there are no more.
struct Work {
  std::string name;
  std::vector<std::pair<std::string, std::function<void()>>> calls;  // by what they are asked for
  double memory_before = 0;
};
void serve(const Work& work);

double peak_memory_mb();  // of this program since it was started, without what started it

// Times all workers in turns: of each the median of several rounds, in seconds a call.
struct Rounds {
  std::string what;
  int count;
  double least;  // seconds of calls in a round
};
std::vector<double> time_in_turns(const std::vector<Worker*>& workers, const Rounds& rounds);

}  // namespace bench
