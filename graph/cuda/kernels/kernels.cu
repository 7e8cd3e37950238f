// All kernels, as one module.
#include "codebook.cu"
#include "dirichlet.cu"
#include "elementwise.cu"
#include "local.cu"
#include "product.cu"
#include "softmax.cu"
#include "step.cu"
