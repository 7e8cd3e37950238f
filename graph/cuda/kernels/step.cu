// What frames a training step. The launches of a step name no number that changes from
// step to step, so one recorded graph of launches serves a whole fit: the cursor counts
// the steps of the epoch in device memory.
#include "common.cuh"

// Taken is a part of the rows that a step takes of a table, elements from…end−1, at most a
// block's threads; where there is no table, it is the numbers of those rows.
struct Taken {
    int *out;
    const int *table;
    long long width, from, end;
};

// take_rows takes the rows of step *cursor of the epoch's order, or of its first where there
// is no cursor, a block a piece: words of 4 bytes, of any type.
extern "C" __global__ void take_rows(const Taken *pieces, const int *order, const int *cursor, int batch) {
    Taken t = pieces[blockIdx.x];
    unsigned i = (unsigned)t.from + threadIdx.x, width = (unsigned)t.width;
    if (i >= t.end) return;
    int row = order[(cursor ? (size_t)*cursor * batch : 0) + i / width];
    t.out[i] = t.table ? t.table[(size_t)row * width + i % width] : row;
}

// Piece is a part of a parameter θ with its gradient, at most a block's threads long. It
// begins `from` elements into what the optimizer remembers of all parameters.
struct Piece {
    float *theta;
    const float *grad;
    long long from, size;
};

// adam is one step of Adam with weight decay, coupled (decay) or not (shrink):
//
//   g ← g + λθ,  m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  θ ← shrink·θ − η/(1−β₁ᵗ) · m/(√(v/(1−β₂ᵗ)) + ε)
//
// corrections holds η/(1−β₁ᵗ) and 1/√(1−β₂ᵗ) of each step of the epoch. A gradient
// that is not finite is reported as the first such step. A block a piece.
extern "C" __global__ void adam(const Piece *pieces, float *m, float *v, const float *corrections, const int *cursor, int *trouble,
                                float beta1, float beta2, float add1, float add2, float decay, float shrink, float epsilon) {
    Piece p = pieces[blockIdx.x];
    if (threadIdx.x >= p.size) return;
    float rate = corrections[2 * *cursor], scale = corrections[2 * *cursor + 1];
    size_t i = p.from + threadIdx.x;
    float x = p.theta[threadIdx.x], raw = p.grad[threadIdx.x], g = raw + decay * x;
    if (!is_finite(raw)) atomicMin(trouble, *cursor);
    m[i] = beta1 * m[i] + add1 * g;
    v[i] = beta2 * v[i] + add2 * g * g;
    p.theta[threadIdx.x] = shrink * x - rate * m[i] / (sqrtf(v[i]) * scale + epsilon);
}

// sgd is one step of heavy-ball momentum with weight decay, a block a piece:
//
//   g ← g + λθ,  u ← μu + g,  θ ← θ − ηu
extern "C" __global__ void sgd(const Piece *pieces, float *u, const int *cursor, int *trouble, float rate, float momentum, float decay) {
    Piece p = pieces[blockIdx.x];
    if (threadIdx.x >= p.size) return;
    size_t i = p.from + threadIdx.x;
    float x = p.theta[threadIdx.x], raw = p.grad[threadIdx.x];
    if (!is_finite(raw)) atomicMin(trouble, *cursor);
    u[i] = momentum * u[i] + raw + decay * x;
    p.theta[threadIdx.x] = x - rate * u[i];
}

// end_step replaces θ by g, a block a piece; the block after those adds the step's loss, times
// its rows, to the epoch's, and moves the cursor.
extern "C" __global__ void end_step(const Piece *pieces, double *total, const float *loss, int *cursor, int *trouble, int rows) {
    if (blockIdx.x < gridDim.x - 1) {
        Piece p = pieces[blockIdx.x];
        if (threadIdx.x < p.size) p.theta[threadIdx.x] = p.grad[threadIdx.x];
    } else if (threadIdx.x == 0) {
        if (!is_finite(*loss)) atomicMin(trouble, *cursor);
        *total += (double)*loss * rows;
        *cursor += 1;
    }
}
