"""Gradient steps of trained proposals, and samplers, in PyTorch: a peer of bench/steps.c.

    steps_torch.py THREADS [--first FOLDER]

Variants: eager, torch.jit.trace, and torch.compile of loss and gradient in one graph (faster than compiling the loss
alone in small cases; in German Credit they could not be told apart); mu and sigma networks apart or as batched
products; Adam is PyTorch's fused kernel, where it has one. Version 1.13, which is Debian's, has no compiler and is
measured without. See steps.py for the protocol.
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
FUSED_ADAM = torch.__version__ >= "2"  # for the CPU; older ones go through all tensors an operation at a time


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


class Deferred(torch.autograd.Function):
    """An affine map that leaves in `uses` what the gradient of w is made of: then it is made once, of all uses."""

    @staticmethod
    def forward(context, uses, w, h, b):
        context.uses = uses
        context.save_for_backward(w, h)
        return affine_of_few(w, h, b)

    @staticmethod
    def backward(context, g):
        w, h = context.saved_tensors
        context.uses.setdefault(w.data_ptr(), []).append((g, h.detach()))
        return None, None, product_of_few(w.t(), g) if context.needs_input_grad[2] else None, g.sum(1, keepdim=True)


def softplus(t):
    return F.softplus(t, threshold=50)  # beyond the default 20, 32 bits would not see it but 64 would


def fused_affine(w, h, b):
    """Tiny products are faster as loops of their own than as calls of a library."""
    return (w[:, :, None] * h).sum(1) + b if w.shape[1] <= 8 else torch.addmm(b, w, h)


def product_of_few(w, h):
    """The library takes six times as long for two columns at once as for one after the other."""
    return torch.stack([w @ h[:, 0], w @ h[:, 1]], 1) if h.shape[1] == 2 else w @ h


def affine_of_few(w, h, b):
    return product_of_few(w, h) + b if h.shape[1] == 2 else torch.addmm(b, w, h)


def spread(step, n):
    """One for each row: then its gradient is summed over coordinates first. One long sum in 32 bits loses digits."""
    return step.expand(*n.shape[:2], 1)


def operations(**changes):
    return SimpleNamespace(**{**dict(
        exp=torch.exp, log=torch.log, sqrt=torch.sqrt, concat=torch.cat, stack=torch.stack, relu=torch.relu_,
        logsumexp=torch.logsumexp, log_softmax=torch.log_softmax, stop=torch.Tensor.detach, where=torch.where,
        clip=torch.clamp, twice=lambda h: h.expand(2, *h.shape), negative_part=lambda r: r.clamp(max=0),
        affine=lambda w, h, b: torch.addmm(b, w, h), affine_pair=lambda w, h, b: torch.baddbmm(b, w, h),
        misfit=Misfit.apply, softplus=softplus, sigmoid=torch.sigmoid, spread=spread,
        margins=lambda t, x: x @ t["transposed"], pull=lambda t, u: u @ t["transposed"].t()), **changes})


OPS = operations()
FUSED_OPS = operations(affine=fused_affine, misfit=lambda against, b: softplus(against @ b).sum(0))
CHAIN_OPS = operations(affine=affine_of_few, misfit=FUSED_OPS.misfit)


def dtype_of(case):
    return torch.float64 if case.double else torch.float32


def tensors(case):
    """What the target needs of the data, and points to start from."""
    if case.target != "logistic":
        return {}
    return {"against": torch.from_numpy(case.against), "points": torch.from_numpy(case.points)}


class Variant:
    """A training. mode: eager, trace, compile, unroll (the compiler gets several steps), deferred."""

    def __init__(self, case, mode, stacked):
        theta = case.theta(stacked)
        self.case, self.names, self.dtype = case, list(theta), dtype_of(case)
        self.values = [torch.from_numpy(theta.pop(name)).requires_grad_() for name in self.names]
        self.moments = [[torch.zeros_like(v, requires_grad=False) for v in self.values] for _ in range(2)]
        self.time = torch.zeros((), dtype=torch.float32)
        self.b = torch.ones((), dtype=self.dtype)
        self.t = tensors(case)
        self.centres = torch.tensor([[4, -4, 0, 0], [0, 0, 4, -4]], dtype=self.dtype)
        self.count = 10 if mode == "unroll" else 1
        self.differentiate = getattr(self, mode)()

    # Each mode makes a function of x, n and b, to loss, mean acceptance and gradients.

    def loss(self, ops, values, x, n, b):
        return steps.loss(ops, self.case, dict(zip(self.names, values)), self.t, x, n, b)

    def eager(self, function=None):
        function = function or (lambda x, n, b: self.loss(OPS, self.values, x, n, b))

        def differentiate(x, n, b):
            value, alpha = function(x, n, b)
            return value.detach(), alpha, torch.autograd.grad(value, self.values)

        return differentiate

    def trace(self):
        traced = torch.jit.trace(lambda x, n, b, *values: self.loss(OPS, values, x, n, b),
                                 (*self.draw(), self.b, *self.values), check_trace=False)
        return self.eager(lambda x, n, b: traced(x, n, b, *self.values))

    def whole(self, values, x, n, b):
        def loss(values):
            value, alpha = self.loss(FUSED_OPS, values, x, n, b)
            return value, (value, alpha)

        gradients, (value, alpha) = torch.func.grad(loss, has_aux=True)(values)
        return value, alpha, gradients

    def compile(self):
        # Calling kernels from C++ takes twice as long to compile, and pays where they are short.
        options = {"cpp_wrapper": self.case.width < 64}
        compiled, values = torch.compile(self.whole, dynamic=False, options=options), [v.detach() for v in self.values]
        return lambda x, n, b: compiled(values, x, n, b)

    def unroll(self):
        def several(values, m, v, time, b, x, n):
            for i in range(self.count):
                value, alpha, g = self.whole(values, x[i], n[i], b)
                time = time + 1
                m = [torch.lerp(a, c, 0.1) for a, c in zip(m, g)]
                v = [0.999 * a + 0.001 * c * c for a, c in zip(v, g)]
                c1, c2 = 1 / (1 - 0.9 ** time), 1 / (1 - 0.999 ** time)
                values = [p - 3e-4 * c1 * a / (torch.sqrt(c2 * c) + 1e-8) for p, a, c in zip(values, m, v)]
                if self.case.objective == "gsm":
                    b = steps.adapted(FUSED_OPS, b, alpha)
            return values, m, v, time, b

        self.several = torch.compile(several, dynamic=False)
        self.values = [v.detach() for v in self.values]
        self.time = self.time.to(self.dtype)
        compiled = torch.compile(self.whole, dynamic=False)
        return lambda x, n, b: compiled(self.values, x, n, b)

    def deferred(self):
        uses, ops = {}, operations(affine=lambda w, h, b: Deferred.apply(uses, w.detach(), h, b))
        biases = [v for v in self.values if v.ndim == 1]
        scratch = torch.empty(max(v.numel() for v in self.values), dtype=self.dtype)

        def differentiate(x, n, b):
            uses.clear()
            value, alpha = self.loss(ops, self.values, x, n, b)
            of_biases = iter(torch.autograd.grad(value, biases))

            def gradients():  # one at a time: none leaves the cache before Adam has seen it
                for w in self.values:
                    if w.ndim == 1:
                        yield next(of_biases)
                    else:
                        g, h = (torch.cat(parts, 1) for parts in zip(*uses[w.data_ptr()]))
                        yield torch.mm(g, h.t(), out=scratch[:w.numel()].view_as(w))

            return value.detach(), alpha, gradients()

        return differentiate

    def draw(self, *several):
        """Start points and noise of a step, or of several of a walk."""
        c, dtype = self.case, self.dtype
        n = torch.randn(*several, *c.n.shape, dtype=dtype)
        if c.target == "gaussian":
            return torch.randn(*several, *c.x.shape, dtype=dtype), n
        if c.target == "cross":
            centres = self.centres[:, torch.randint(4, (c.starts,))]
            return torch.randn(c.x.shape, dtype=dtype).mul_(0.5 ** 0.5).add_(centres), n
        points = self.t["points"]
        x = points[torch.randint(points.shape[0], (c.starts,))].t()
        if c.dim > c.original_dim:
            auxiliary = torch.randn(c.dim - c.original_dim, c.starts, dtype=dtype)
            x = torch.cat([auxiliary[:c.first], x, auxiliary[c.first:]], 0)
        return x, n

    def gradient(self):
        x, n = torch.from_numpy(self.case.x), torch.from_numpy(self.case.n)
        value, _, gradients = self.differentiate(x, n, torch.ones((), dtype=self.dtype))
        return value.item(), {name: g.numpy().copy() for name, g in zip(self.names, gradients)}

    def run(self):
        if self.count > 1:
            self.values, *self.moments, self.time, self.b = self.several(self.values, *self.moments, self.time, self.b,
                                                                         *self.draw(self.count))
            return
        value, alpha, gradients = self.differentiate(*self.draw(), self.b)
        with torch.no_grad():
            self.time += 1
            if isinstance(gradients, (list, tuple)):
                self.adam(self.values, gradients, *self.moments)
            else:
                for one in zip(self.values, gradients, *self.moments):
                    self.adam(*([tensor] for tensor in one))
            if self.case.objective == "gsm":
                self.b = steps.adapted(OPS, self.b, alpha)
        return value

    def adam(self, values, gradients, m, v):
        if not FUSED_ADAM:
            torch._foreach_mul_(m, 0.9)
            torch._foreach_add_(m, gradients, alpha=0.1)
            torch._foreach_mul_(v, 0.999)
            torch._foreach_addcmul_(v, gradients, gradients, 0.001)
            c1, c2 = 1 - 0.9 ** self.time.item(), 1 - 0.999 ** self.time.item()
            roots = torch._foreach_sqrt(v)
            torch._foreach_add_(roots, 1e-8 * c2 ** 0.5)
            torch._foreach_addcdiv_([w.data for w in values], m, roots, -3e-4 * c2 ** 0.5 / c1)
            return
        torch._fused_adam_(values, gradients, m, v, [], [self.time] * len(values), lr=3e-4, beta1=0.9, beta2=0.999,
                           weight_decay=0, eps=1e-8, amsgrad=False, maximize=False)


def candidates(case):
    """The likely fastest first: after some seconds of building no more are tried."""
    if case.case == "mnist":
        wanted = [("deferred", False)]
    elif case.kind == "multi-scheme":
        wanted = [("compile", True), ("trace", True), ("eager", False)]
    else:
        wanted = [("compile", False), ("trace", False), ("eager", False)]
        if case.axis and case.dim <= 100:  # the noise of several steps stays in cache
            wanted.insert(0, ("unroll", False))
    return [(mode + (", stacked" if stacked else ""), lambda m=mode, s=stacked: Variant(case, m, s))
            for mode, stacked in wanted]


def first(case):
    return Variant(case, "eager", False).run()


def release():
    if hasattr(torch, "_dynamo"):  # since 2.0
        torch._dynamo.reset()
    gc.collect()


# ---- Sampling ----------------------------------------------------------------------------------


class Chains:
    """A call makes several transitions, with their noise drawn at once."""

    def __init__(self, case, chains, compiled, most, stacked):
        t, self.dtype = tensors(case), dtype_of(case)
        t["transposed"] = t["against"].t().contiguous()
        p = {name: torch.from_numpy(a) for name, a in case.theta(stacked).items()} if case.parameters else {}
        start, move = steps.chains_of(CHAIN_OPS, case, t, p)
        count = self.count = steps.transitions_a_call(case, chains, most)

        def several(state, normals, log_uniforms, accepted):
            for i in range(count):
                state, alpha = move(state, normals[i], log_uniforms[i])
                accepted = accepted + alpha
            return state, accepted

        self.several = torch.compile(several, dynamic=False) if compiled else several
        self.shape, self.chains, self.made = steps.noise_shape(case, chains), chains, 0
        self.accepted = torch.zeros(chains, dtype=self.dtype)
        with torch.no_grad():
            self.state = start(t["points"][torch.arange(chains) % t["points"].shape[0]])

    @torch.no_grad()
    def run(self):
        normals = torch.randn(self.count, *self.shape, dtype=self.dtype)
        log_uniforms = torch.rand(self.count, self.chains, dtype=self.dtype).log_()
        self.state, self.accepted = self.several(self.state, normals, log_uniforms, self.accepted)
        self.made += self.count

    def acceptance(self):
        return self.accepted.mean().item() / self.made


def chain_candidates(case, chains):
    """The compiler unrolls transitions, and those of HMC and of networks are long."""
    most = 10 if case.kind in ("random-walk", "mala") else 2
    stacked = chains > 1 and case.width < 1000
    wanted = [("eager", False), ("compile", True)]
    if case.parameters and case.width > 1000:  # products are all, and the compiler leaves them to the library
        wanted.pop()
    return [(name, lambda compiled=compiled: Chains(case, chains, compiled, most, stacked))
            for name, compiled in wanted]


if __name__ == "__main__":
    steps.serve("torch " + torch.__version__, candidates, first, chain_candidates, release)
