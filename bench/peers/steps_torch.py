"""Gradient steps of trained proposals, and samplers, in PyTorch: a peer of bench/steps.c.

    steps_torch.py THREADS [--first FOLDER]

Variants: eager, torch.jit.trace and torch.compile, of the loss or of loss and gradient together, each with mu and
sigma networks apart or as one batched product; Adam is PyTorch's fused kernel. See steps.py for the protocol.
"""
import gc
import sys
import warnings
from types import SimpleNamespace

import steps

threads = steps.prepare()
warnings.filterwarnings("ignore")
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("absent", flush=True)
    sys.exit(0)

torch.set_num_threads(threads)
torch.set_flush_denormal(True)


class Misfit(torch.autograd.Function):
    """-log P of the labels, which are the signs of rows of `against`; keeps one matrix for the gradient, not three."""

    @staticmethod
    def forward(context, against, b):
        t = against @ b
        context.save_for_backward(against, t)
        return softplus(t).sum(0)

    @staticmethod
    def backward(context, g):
        against, t = context.saved_tensors
        return None, against.t() @ torch.sigmoid(t) * g


def softplus(t):
    return F.softplus(t, threshold=50)  # beyond the default 20, 32 bits would not see it but 64 would


OPS = SimpleNamespace(
    exp=torch.exp, log=torch.log, sqrt=torch.sqrt, concat=torch.cat, stack=torch.stack, relu=torch.relu_,
    logsumexp=torch.logsumexp, log_softmax=torch.log_softmax, stop=torch.Tensor.detach, where=torch.where,
    clip=torch.clamp, twice=lambda h: h.expand(2, *h.shape), negative_part=lambda r: r.clamp(max=0),
    affine=lambda w, h, b: torch.addmm(b, w, h), affine_pair=lambda w, h, b: torch.baddbmm(b, w, h),
    misfit=Misfit.apply)


def small_or_large(w, h, b):
    """Tiny products are faster as loops of their own than as calls of a library."""
    return (w[:, :, None] * h).sum(1) + b if w.shape[1] <= 8 and SPELL else torch.addmm(b, w, h)


SPELL = True
FUSED_OPS = SimpleNamespace(**{**vars(OPS), "affine": small_or_large, "misfit": lambda against, b: softplus(against @ b).sum(0)})


def tensors(case):
    """What the target needs of the data, and points to start from."""
    if case.target != "logistic":
        return {}
    return {"against": torch.from_numpy(case.against), "points": torch.from_numpy(case.points)}


def dtype_of(case):
    return torch.float64 if case.double else torch.float32


class Variant:
    """A training. mode: eager, trace, compile (the loss), whole (loss and gradient in one graph)."""
    count = 1

    def __init__(self, case, mode, stacked):
        theta = case.theta(stacked)
        self.case, self.names = case, list(theta)
        self.dtype = dtype_of(case)
        self.values = [torch.from_numpy(theta.pop(name)).requires_grad_() for name in self.names]
        self.moments = [[torch.zeros_like(v, requires_grad=False) for v in self.values] for _ in range(2)]
        self.time = torch.zeros(())
        self.b = torch.ones((), dtype=self.dtype)
        self.t = tensors(case)
        self.centres = torch.tensor([[4, -4, 0, 0], [0, 0, 4, -4]], dtype=self.dtype)
        self.function = self.prepare(mode)

    def prepare(self, mode):
        case, names, t = self.case, self.names, self.t
        ops = FUSED_OPS if mode in ("compile", "whole") else OPS

        def loss(values, x, n, b):
            return steps.loss(ops, case, dict(zip(names, values)), t, x, n, b)

        def with_gradient(values, x, n, b):
            value, alpha = function(values, x, n, b)
            return value.detach(), alpha, torch.autograd.grad(value, values)

        def whole(values, x, n, b):
            gradient, (value, alpha) = torch.func.grad(
                lambda v: (lambda pair: (pair[0], pair))(loss(v, x, n, b)), has_aux=True)(values)
            return value, alpha, gradient

        function = loss
        if mode == "compile":
            function = torch.compile(loss, dynamic=False)
        elif mode == "whole":
            function = torch.compile(whole, dynamic=False)
            return lambda values, x, n, b: function([v.detach() for v in values], x, n, b)
        elif mode == "trace":
            traced = torch.jit.trace(lambda x, n, b, *values: loss(values, x, n, b),
                                     (*self.draw(), self.b, *self.values), check_trace=False)
            function = lambda values, x, n, b: traced(x, n, b, *values)
        return with_gradient

    def draw(self):
        """Start points and noise of a step."""
        c, dtype = self.case, self.dtype
        n = torch.randn(c.n.shape, dtype=dtype)
        if c.target == "gaussian":
            return torch.randn(c.x.shape, dtype=dtype), n
        if c.target == "cross":
            return torch.randn(c.x.shape, dtype=dtype).mul_(0.5 ** 0.5).add_(self.centres[:, torch.randint(4, (c.starts,))]), n
        points = self.t["points"]
        x = points[torch.randint(points.shape[0], (c.starts,))].t()
        if c.dim > c.original_dim:
            auxiliary = torch.randn(c.dim - c.original_dim, c.starts, dtype=dtype)
            x = torch.cat([auxiliary[:c.first], x, auxiliary[c.first:]], 0)
        return x, n

    def gradient(self):
        x, n = torch.from_numpy(self.case.x), torch.from_numpy(self.case.n)
        value, _, gradients = self.function(self.values, x, n, torch.ones((), dtype=self.dtype))
        return value.item(), {name: g.numpy() for name, g in zip(self.names, gradients)}

    def run(self):
        value, alpha, gradients = self.function(self.values, *self.draw(), self.b)
        with torch.no_grad():
            self.time += 1
            torch._fused_adam_(self.values, gradients, *self.moments, [], [self.time] * len(self.values), lr=3e-4,
                               beta1=0.9, beta2=0.999, weight_decay=0, eps=1e-8, amsgrad=False, maximize=False)
            if self.case.objective == "gsm":
                self.b = steps.adapted(OPS, self.b, alpha)
        return value


def candidates(case):
    """The likely fastest first: after some seconds of building no more are tried."""
    torch._dynamo.reset()
    if case.case == "mnist":
        names = [("eager", False)]
    elif case.kind == "multi-scheme":
        names = [("trace", True), ("compile", True), ("eager", True), ("trace", False), ("eager", False), ("compile", False),
                 ("whole", True)]
    else:
        names = [("trace", False), ("compile", False), ("eager", False), ("whole", False)]
    return [(mode + (", stacked" if stacked else ""), lambda m=mode, s=stacked: Variant(case, m, s))
            for mode, stacked in names]


def first(case):
    return Variant(case, "eager", False).run()


def release():
    torch._dynamo.reset()
    gc.collect()


# ---- Sampling ----------------------------------------------------------------------------------


def sample(case, algorithm, chains, seconds):
    """The faster of eager and compiled; a call makes several transitions, with their noise drawn at once."""
    t, dtype, d = tensors(case), dtype_of(case), case.original_dim
    against, transposed = t["against"], t["against"].t().contiguous()
    step, batch = steps.sampler_step(algorithm, d), 10

    def density(x):
        return -softplus(x @ transposed).sum(1) - 0.005 * (x * x).sum(1)

    def density_score(x):
        u = x @ transposed
        return -softplus(u).sum(1) - 0.005 * (x * x).sum(1), -torch.sigmoid(u) @ against - 0.01 * x

    def score(x):
        return -torch.sigmoid(x @ transposed) @ against - 0.01 * x

    def several(state, normals, log_uniforms, accepted):
        for i in range(batch):
            state, accept = steps.transition(OPS, algorithm, density, density_score, score, step, state, normals[i],
                                             log_uniforms[i])
            accepted = accepted + accept
        return state, accepted

    best = None
    with torch.no_grad():
        for function in (several, torch.compile(several, dynamic=False)):
            x = t["points"][torch.arange(chains) % t["points"].shape[0]]
            state = [(x, density(x)) if algorithm == "random-walk" else (x, *density_score(x)),
                     torch.zeros(chains, dtype=dtype), 0]

            def run():
                normals = torch.randn(batch, chains, d, dtype=dtype)
                uniforms = torch.rand(batch, chains, dtype=dtype).log_()
                state[:2] = function(state[0], normals, uniforms, state[1])
                state[2] += batch

            try:
                for _ in range(3):
                    run()
                time = steps.median_seconds(run, seconds / 2) / batch
            except Exception as error:
                steps.log(f"sampling does not work: {str(error).splitlines()[0]}")
                continue
            if best is None or chains / time > best[0]:
                best = chains / time, state[1].mean().item() / state[2]
    return best


if __name__ == "__main__":
    steps.serve("torch " + torch.__version__, candidates, first, sample, release)
