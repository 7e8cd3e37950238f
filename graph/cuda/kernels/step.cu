// What frames a training step. The launches of a step name no number that changes from
// step to step, so one recorded graph of launches serves a whole fit: the cursor counts
// the steps of the epoch in device memory.
#include "common.cuh"

// load_rows copies the row numbers of step *cursor from the epoch's order.
extern "C" __global__ void load_rows(int *rows, const int *order, const int *cursor, int batch, int n) {
    for (unsigned i = first(); i < n; i += stride()) rows[i] = order[(size_t)*cursor * batch + i];
}

// adam is one step of Adam with weight decay, coupled (decay) or not (shrink):
//
//   g ← g + λθ,  m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  θ ← shrink·θ − η/(1−β₁ᵗ) · m/(√(v/(1−β₂ᵗ)) + ε)
//
// corrections holds η/(1−β₁ᵗ) and 1/√(1−β₂ᵗ) of each step of the epoch. A gradient
// that is not finite is reported as the first such step.
extern "C" __global__ void adam(float *theta, const float *grad, float *m, float *v, const float *corrections, const int *cursor, int *trouble,
                                float beta1, float beta2, float add1, float add2, float decay, float shrink, float epsilon, int n) {
    float rate = corrections[2 * *cursor], scale = corrections[2 * *cursor + 1];
    for (unsigned i = first(); i < n; i += stride()) {
        float x = theta[i], raw = grad[i], g = raw + decay * x;
        if (!is_finite(raw)) atomicMin(trouble, *cursor);
        m[i] = beta1 * m[i] + add1 * g;
        v[i] = beta2 * v[i] + add2 * g * g;
        theta[i] = shrink * x - rate * m[i] / (sqrtf(v[i]) * scale + epsilon);
    }
}

// sgd is one step of heavy-ball momentum with weight decay:
//
//   g ← g + λθ,  u ← μu + g,  θ ← θ − ηu
extern "C" __global__ void sgd(float *theta, const float *grad, float *u, const int *cursor, int *trouble, float rate, float momentum, float decay, int n) {
    for (unsigned i = first(); i < n; i += stride()) {
        float x = theta[i], raw = grad[i];
        if (!is_finite(raw)) atomicMin(trouble, *cursor);
        u[i] = momentum * u[i] + raw + decay * x;
        theta[i] = x - rate * u[i];
    }
}

// end_step adds the step's loss, times its rows, to the epoch's, and moves the cursor.
extern "C" __global__ void end_step(double *total, const float *loss, int *cursor, int *trouble, int rows) {
    if (!is_finite(*loss)) atomicMin(trouble, *cursor);
    *total += (double)*loss * rows;
    *cursor += 1;
}
