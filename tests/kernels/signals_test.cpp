// The signal handlers of a program that embeds the library never interrupt code whose stack pointer is outside the
// stack.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction
#include <sys/time.h>
#include <ucontext.h>

#include <atomic>
#include <vector>

#include "base/threads.h"
#include "kernels/kernels.h"

namespace fovea {
namespace {

#if defined(__x86_64__)

std::atomic<int> on_stack = 0, off_stack = 0;

struct Stack {
  uintptr_t begin, end;

  static Stack of_this_thread() {
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    return {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + size};
  }
};
thread_local Stack stack = {0, 0};

void look_at_stack_pointer(int, siginfo_t*, void* context) {
  const auto pointer = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
  ++(pointer >= stack.begin && pointer < stack.end ? on_stack : off_stack);
}

// While it exists, the handler is called every fraction of a millisecond. It has its own stack, so that it is safe to
// call anywhere.
class Alarms {
 public:
  Alarms() : handler_stack_(1 << 16) {
    stack = Stack::of_this_thread();
    on_stack = off_stack = 0;
    const stack_t own = {.ss_sp = handler_stack_.data(), .ss_flags = 0, .ss_size = handler_stack_.size()};
    sigaltstack(&own, nullptr);
    struct sigaction action {};
    action.sa_sigaction = look_at_stack_pointer;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    const itimerval often = {.it_interval = {0, 200}, .it_value = {0, 200}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Alarms() {
    const itimerval never = {};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
    const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

 private:
  std::vector<char> handler_stack_;
  struct sigaction before_ {};
};

TEST(Signals, HandlersInterruptOnlyWhatIsOnTheStack) {
  const int threads = thread_count();
  for (const int count : {1, 2}) {
    set_thread_count(count);
    // oneDNN's blocked kernels do not accept rows with gaps. At these sizes its older ones read the factors in place,
    // with the stack pointer in a workspace.
    constexpr int64_t kM = 96, kN = 200, kK = 300, kGap = 8;
    const auto matrix = [](int64_t rows, int64_t columns) {
      return Matrix{.tensor = zeros({rows * (columns + kGap)}, DType::kF32, Device::cpu()),
                    .row_stride = columns + kGap};
    };
    const MatmulArgs product{.a = matrix(kM, kK), .b = matrix(kK, kN), .c = matrix(kM, kN), .m = kM, .n = kN, .k = kK};
    const Alarms alarms;
    while (on_stack + off_stack < 500) {
      for (int i = 0; i < 20; ++i) kernels(Device::cpu()).matmul(stream(Device::cpu()), product);
    }
    EXPECT_EQ(off_stack, 0) << "of " << on_stack + off_stack;
  }
  set_thread_count(threads);
}

#endif

}  // namespace
}  // namespace fovea
