#include "bench/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "bench/harness.h"

namespace bench {

Worker::Worker(std::vector<std::string> command, const std::vector<std::string>& environment) {
  int to[2], from[2];
  // The pipes are not inherited: a worker does not end while another one holds its input open.
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) wrong("cannot make a pipe");
  std::signal(SIGPIPE, SIG_IGN);  // a dead worker is noticed when its answer is missing
  process_ = fork();
  if (process_ < 0) wrong("cannot start a process");
  if (process_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (const std::string& entry : environment) {
      const size_t equals = entry.find('=');
      setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
    }
    std::vector<char*> arguments(command.size() + 1, nullptr);
    for (size_t i = 0; i < command.size(); ++i) arguments[i] = command[i].data();
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  input_ = to[1];
  output_ = from[0];
  name_ = receive();
}

Worker::~Worker() {
  close(input_);
  close(output_);
  waitpid(process_, nullptr, 0);
}

void Worker::send(const std::string& line) {
  const std::string text = line + '\n';
  if (write(input_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) wrong(name_ + " has ended");
}

std::string Worker::receive() {
  for (;;) {
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      const std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    char buffer[256];
    const ssize_t count = read(output_, buffer, sizeof(buffer));
    if (count <= 0) return {};
    received_.append(buffer, static_cast<size_t>(count));
  }
}

double Worker::seconds(const std::string& what, int calls) {
  send(fmt::format("{} {}", what, calls));
  const std::string answer = receive();
  if (answer.empty()) wrong(name_ + " has ended");
  return std::strtod(answer.c_str(), nullptr);
}

std::string Worker::output(const std::string& what) {
  send("output " + what);
  return receive();
}

Worker::Memory Worker::memory() {
  send("memory");
  std::istringstream answer(receive());
  Memory memory;
  answer >> memory.peak >> memory.before;
  return memory;
}

std::string peer_script(const std::string& script) {
  // The folder of the build, or the repository that is the working directory.
  const std::string built = FOVEA_PEERS "/" + script;
  return std::filesystem::exists(built) ? built : "bench/peers/" + script;
}

Peer peer(const Options& options, const std::string& script) {
  const std::string path = peer_script(script);
  if (!options.python.empty()) return {{options.python, path}, {}};
  return {{"/usr/bin/python3", path},
          {"LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-openmp", "OPENBLAS_CORETYPE=SkylakeX"}};
}

namespace {

template <class Call>
const Call& named(const Work& work, const std::vector<std::pair<std::string, Call>>& calls, const std::string& name) {
  const auto found = std::find_if(calls.begin(), calls.end(), [&](const auto& c) { return c.first == name; });
  if (found == calls.end()) wrong(work.name + " has no call named " + name);
  return found->second;
}

}  // namespace

void serve(const Work& work) {
  std::cout << work.name << std::endl;
  for (std::string what; std::cin >> what;) {
    if (what == "memory") {
      std::cout << peak_memory_mb() << ' ' << work.memory_before << std::endl;
      continue;
    }
    if (what == "output") {
      std::cin >> what;
      std::cout << named(work, work.outputs, what)() << std::endl;
      continue;
    }
    int calls = 0;
    std::cin >> calls;
    const auto& call = named(work, work.calls, what);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::cout << fmt::format("{:.9g}", taken.count() / calls) << std::endl;
  }
}

double peak_memory_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

std::vector<double> time_in_turns(const std::vector<Worker*>& workers, const Rounds& rounds) {
  std::vector<std::vector<double>> times(workers.size());
  std::vector<int> calls;
  for (Worker* worker : workers) {
    const double once = std::min(worker->seconds(rounds.what, 1), worker->seconds(rounds.what, 1));
    calls.push_back(std::clamp(static_cast<int>(rounds.least / std::max(once, 1e-7)), 1, 10000));
  }
  for (int round = 0; round < rounds.count; ++round) {
    for (size_t i = 0; i < workers.size(); ++i) {
      // Idle threads of the previous worker still spin for a while.
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      workers[i]->seconds(rounds.what, 1);
      times[i].push_back(workers[i]->seconds(rounds.what, calls[i]));
    }
  }
  std::vector<double> medians(workers.size());
  for (size_t i = 0; i < workers.size(); ++i) medians[i] = median_of(times[i]);
  return medians;
}

}  // namespace bench
