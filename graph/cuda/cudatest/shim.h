// Runs CUDA kernels on the host, for tests: the blocks of a launch one after the other,
// the threads of a block as fibers that change at barriers. Which of the ready threads
// runs next is drawn from a seed, so a kernel that forgets a barrier gives other bytes
// under another seed. Shared memory is filled with NaNs before each block. A thread that
// leaves while others wait at a barrier, or waits at another one, is an error.
#pragma once

#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("shared_memory")))

struct Index { unsigned x, y, z; };
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
struct int4 { int x, y, z, w; };
static Index threadIdx, blockIdx, blockDim, gridDim;

static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
// __fdividef is as far off as the card's may be.
static inline float __fdividef(float x, float y) { return x / y * 1.00000024f; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }

static inline int atomicMin(int *at, int v) {
    int old = *at;
    if (v < old) *at = v;
    return old;
}

enum State { ready, at_block, at_warp, done };

struct Fiber {
    ucontext_t start;
    jmp_buf resume;
    bool started;
    State state;
    Index index;
    unsigned char stack[128 << 10];
};

static const int most = 1024;
static Fiber *fibers;
static jmp_buf home;
static ucontext_t home_context;
static int current;
static uint64_t slots[most];

struct Body { virtual void run() = 0; };
static Body *body;

static void __attribute__((noinline)) leave(State s) {
    Fiber &f = fibers[current];
    f.state = s;
    if (!_setjmp(f.resume)) _longjmp(home, 1);
}

static void fiber_main() {
    for (;;) {
        body->run();
        leave(done);
    }
}

static void __attribute__((noinline)) __syncthreads() { leave(at_block); }

template <class T> static T exchange(T v, int from) {
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof v);
    slots[current] = bits;
    leave(at_warp);
    memcpy(&v, &slots[current / 32 * 32 + from], sizeof v);
    leave(at_warp);
    return v;
}

template <class T> static T __shfl_xor_sync(unsigned, T v, int o) { return exchange(v, (current % 32) ^ o); }

static unsigned __ballot_sync(unsigned, bool vote) {
    slots[current] = vote;
    leave(at_warp);
    unsigned votes = 0;
    for (int l = 0; l < 32; l++) votes |= (unsigned)slots[current / 32 * 32 + l] << l;
    leave(at_warp);
    return votes;
}

static uint64_t drawn;

static unsigned draw(unsigned n) {
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return drawn % n;
}

static void __attribute__((noinline)) resume(int i) {
    Fiber &f = fibers[i];
    current = i;
    threadIdx = f.index;
    if (_setjmp(home)) return;
    if (f.started) _longjmp(f.resume, 1);
    f.started = true;
    getcontext(&f.start);
    f.start.uc_stack.ss_sp = f.stack;
    f.start.uc_stack.ss_size = sizeof f.stack;
    f.start.uc_link = &home_context;
    makecontext(&f.start, fiber_main, 0);
    setcontext(&f.start);
}

extern "C" char __start_shared_memory[], __stop_shared_memory[];

// run_block runs the threads of a block to their end, or says what went wrong.
static const char *run_block(int threads) {
    int order[most];
    memset(__start_shared_memory, 0xff, __stop_shared_memory - __start_shared_memory);
    for (int i = 0; i < threads; i++) {
        order[i] = i;
        fibers[i].state = ready;
        fibers[i].index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
    }
    for (;;) {
        for (int i = threads - 1; i > 0; i--) std::swap(order[i], order[draw(i + 1)]);
        bool moved = false;
        for (int l = 0; l < threads; l++)
            if (fibers[order[l]].state == ready) resume(order[l]), moved = true;
        if (moved) continue;
        int count[4] = {};
        for (int i = 0; i < threads; i++) count[fibers[i].state]++;
        if (count[done] == threads) return nullptr;
        bool released = false;
        for (int w = 0; w < threads; w += 32) {
            int waiting = 0;
            for (int i = w; i < w + 32; i++) waiting += fibers[i].state == at_warp;
            if (waiting == 32) {
                released = true;
                for (int i = w; i < w + 32; i++) fibers[i].state = ready;
            }
        }
        if (released) continue;
        if (count[at_block] != threads) return "threads of a block wait at different barriers, or one has left";
        for (int i = 0; i < threads; i++) fibers[i].state = ready;
    }
}

template <class T> static T cell(uint64_t bits) {
    T v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

template <class... A> struct Call : Body {
    void (*kernel)(A...);
    std::tuple<A...> args;
    void run() override { std::apply(kernel, args); }
};

template <class... A, size_t... I> static const char *launch_cells(void (*kernel)(A...), const uint64_t *cells, std::index_sequence<I...>) {
    Call<A...> call;
    call.kernel = kernel;
    call.args = std::tuple<A...>(cell<A>(cells[I])...);
    body = &call;
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
                if (const char *wrong = run_block(blockDim.x * blockDim.y * blockDim.z)) {
                    for (int i = 0; i < most; i++) fibers[i].started = false;
                    return wrong;
                }
    return nullptr;
}

template <class... A> static const char *launch(void (*kernel)(A...), const uint64_t *cells, int count) {
    if (count != sizeof...(A)) return "the number of arguments is not the kernel's";
    return launch_cells(kernel, cells, std::index_sequence_for<A...>{});
}

// size is {grid x, y, z, block x, y, z, arguments}.
static void prepare(const unsigned *size, uint64_t seed) {
    if (!fibers) fibers = new Fiber[most]();
    gridDim = {size[0], size[1], size[2]};
    blockDim = {size[3], size[4], size[5]};
    drawn = seed * 0x9e3779b97f4a7c15u + 1;
    if (!drawn) drawn = 1;
}
