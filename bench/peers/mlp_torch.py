"""Forward and backward pass of a ReLU network in PyTorch, one thread; the peer of bench/mlp.c.

Reads a line "in width depth out rows f32|f64 seconds" and answers with the median microseconds of
the variants: eager autograd, and torch.compile (inductor) if it works here, else 0. The loss is the
mean over rows of the sum of squared outputs; gradients are of all weights and biases.
"""
import os
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
warnings.filterwarnings("ignore")
try:
    import torch
except ImportError:
    print("absent", flush=True)
    sys.exit(0)

torch.set_num_threads(1)
torch.set_flush_denormal(True)
cases = {}


def make(n_in, width, depth, n_out, rows, dtype):
    sizes = [n_in] + [width] * depth + [n_out]
    params = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        bound = a ** -0.5
        params.append(((torch.rand(b, a, dtype=dtype) * 2 - 1) * bound).requires_grad_())
        params.append(((torch.rand(b, dtype=dtype) * 2 - 1) * bound).requires_grad_())
    x = torch.randn(rows, n_in, dtype=dtype)

    def loss(x, params):
        h = x
        for k in range(0, len(params), 2):
            h = torch.nn.functional.linear(h, params[k], params[k + 1])
            if k + 2 < len(params):
                h = torch.relu(h)
        return (h * h).sum(1).mean()

    variants = [lambda: torch.autograd.grad(loss(x, params), params)]
    try:
        fused = torch.compile(loss)
        torch.autograd.grad(fused(x, params), params)
        variants.append(lambda: torch.autograd.grad(fused(x, params), params))
    except Exception as error:
        print("torch.compile does not work here:", str(error).splitlines()[0], file=sys.stderr)
    return variants


def median_us(call, seconds):
    for _ in range(3):
        call()
    times, begin = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    times.sort()
    return times[len(times) // 2] * 1e6


print("ready", torch.__version__, flush=True)
for line in sys.stdin:
    if line.strip() == "quit":
        break
    *sizes, dtype, seconds = line.split()
    key = tuple(sizes) + (dtype,)
    if key not in cases:
        cases[key] = make(*map(int, sizes), torch.float32 if dtype == "f32" else torch.float64)
    print(*(f"{median_us(v, float(seconds)):.3f}" for v in cases[key]), flush=True)
