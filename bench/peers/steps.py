"""What the peers of the bench of gradient steps share: cases, mathematics, timing and protocol.

A case is a folder written by `bench_steps --dump`: case.json says what it is, theta.npy and
gradient.npy hold all parameters and the gradient of the loss in the order of its "parameters",
x.npy and n.npy the start points and the noise this loss is of, and for regressions data.npy,
labels.npy and points.npy, from which start points are picked. What chains are run on has no objective and only
case.json, data.npy, labels.npy, points.npy and, if the proposal has networks, theta.npy. See serve() for the protocol.
"""
import json
import math
import os
import sys
import time

LOG_2PI = math.log(2 * math.pi)
COMPILE_BUDGET = 25  # seconds of building after which no more variants are tried


def prepare():
    """Starts the process anew with limited thread pools and an allocator that keeps what it has got.

    Buffers of megabytes that go back to the system after each step, and come back page by page, would
    cost a step of German Credit a quarter of its time. Returns the number of threads.
    """
    threads = int(sys.argv[1])
    wanted = {name + "_NUM_THREADS": str(threads) for name in ("OMP", "MKL", "OPENBLAS")}
    wanted["GLIBC_TUNABLES"] = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=1000000000000:" \
                               "glibc.malloc.top_pad=67108864:glibc.malloc.hugetlb=1"
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable] + sys.argv, {**os.environ, **wanted})
    return threads


def log(*words):
    print(*words, file=sys.stderr, flush=True)


# ---- Cases -------------------------------------------------------------------------------------


class Case:
    """A dumped case as NumPy arrays.

    The C program couples odd coordinates with even ones. Here all coordinates are reordered once, as
    they are loaded: odd auxiliary, odd original, even original, even auxiliary ones. Then halves are
    slices, as is what is original, and no step pays for a permutation.
    """

    def __init__(self, folder, dtype=None):
        import numpy as np
        self.folder = folder
        with open(os.path.join(folder, "case.json")) as file:
            for key, value in json.load(file).items():
                setattr(self, key, value)
        self.dtype = dtype or self.dtype
        self.double = self.dtype in ("f64", "float64")
        self.np_dtype = np.float64 if self.double else np.float32
        d, own = self.dim, self.original_dim
        self.half = d // 2
        flow = self.kind == "multi-scheme" and d > 2
        odd, even = np.arange(1, d, 2), np.arange(0, d, 2)
        self.order = (np.concatenate([odd[odd >= own], odd[odd < own], even]) if flow else np.arange(d))
        self.first = int((odd >= own).sum()) if flow else 0  # where the original coordinates begin
        walk = self.kind in ("random-walk", "mala", "hmc")
        self.axis = -1 if walk else 0  # of coordinates
        if self.objective:
            self.x = self.load("x")[:, self.order]
            self.n = self.load("n")[:, :, self.order]
            if walk:
                self.x = self.x[:, None]
            else:
                self.x, self.n = np.ascontiguousarray(self.x.T), np.ascontiguousarray(np.moveaxis(self.n, 2, 0))
        self.against = self.points = None
        if self.target == "logistic":
            mine = self.order[self.first:self.first + own]
            sign = 1 - 2 * self.load("labels")
            self.against = np.ascontiguousarray((self.load("data") * sign[:, None])[:, mine])
            self.points = np.ascontiguousarray(self.load("points")[:, mine])

    def load(self, name):
        import numpy as np
        return np.load(os.path.join(self.folder, name + ".npy")).astype(self.np_dtype)

    def reorder(self, name, array):
        """A parameter of the multi-scheme proposal, or its gradient, for the reordered coordinates."""
        net, *number, layer, part = name.split(".")
        if net == "flow":
            halves = (self.order[:self.half] // 2, self.order[self.half:] // 2)
            reads, moves = halves if int(number[0]) % 2 == 0 else halves[::-1]
            last = self.coupling_depth
        else:
            reads = moves = self.order
            last = self.depth
        if int(layer) == 0 and part == "weight":
            array = array[:, reads]
        return array[moves] if int(layer) == last else array

    def arrays(self, file):
        """Names and arrays of theta or gradient, one at a time, since there may be gigabytes."""
        import numpy as np
        flat, at = np.load(os.path.join(self.folder, file + ".npy"), mmap_mode="r"), 0
        for parameter in self.parameters:
            size = math.prod(parameter["shape"])
            array = np.array(flat[at:at + size], dtype=self.np_dtype).reshape(parameter["shape"])
            at += size
            if self.kind == "multi-scheme":
                array = np.ascontiguousarray(self.reorder(parameter["name"], array))
            yield parameter["name"], array

    def theta(self, stacked):
        """Parameters by name; see stack()."""
        return stack(dict(self.arrays("theta")), stacked)

    def differences(self, loss, gradients):
        """Relative differences of a loss, and of a gradient by name, to those of the C program."""
        import numpy as np
        worst = largest = 0.0
        for name, reference in self.arrays("gradient"):
            worst = max(worst, float(np.abs(gradient_of(name, gradients) - reference).max(initial=0)))
            largest = max(largest, float(np.abs(reference).max(initial=0)))
        if any(not np.isfinite(g).all() for g in gradients.values()):
            worst = math.inf
        return abs(float(loss) - self.loss) / max(abs(self.loss), 1e-300), worst / max(largest, 1e-300)

    def bound(self):
        """Differences up to which a variant is right.

        In 32 bits, log alpha and the gradient of a step size are the rests of long sums that cancel: at d = 10000 that
        gradient of the C program is 1e-3 from its own in 64 bits, those of peers up to 1e-2 from it; on MNIST, whose
        log densities are near -1e4, log alpha is known to 1e-3. The bound allows for this.
        """
        if self.double:
            return 1e-9
        terms = self.dim / 100 if self.axis else len(self.against) / 250 if self.against is not None else 1
        return 1e-4 * max(1, terms)


def stack(arrays, pairs):
    """Puts components of a mixture and, if `pairs`, mu and sigma networks of one input, together."""
    import numpy as np
    result = {}
    for name, array in arrays.items():
        head, _, rest = name.partition(".")
        if pairs and head in ("mu_l", "mu_d"):
            result[f"pair{head[2:]}.{rest}"] = np.stack([array, arrays[f"sigma{head[2:]}.{rest}"]])
        elif head in ("mean", "log_sd", "shear"):
            if rest == "0":
                result[head] = np.stack([arrays[k] for k in arrays if k.split(".")[0] == head])
        elif not (pairs and head in ("sigma_l", "sigma_d")):
            result[name] = array
    return result


def gradient_of(name, gradients):
    """That of one parameter, from gradients of what stack() made."""
    if name in gradients:
        return gradients[name]
    head, _, rest = name.partition(".")
    if head in gradients:
        return gradients[head][int(rest)]
    return gradients[f"pair{head[-2:]}.{rest}"][0 if head.startswith("mu") else 1]


# ---- Mathematics -------------------------------------------------------------------------------
# `ops` is what the libraries call differently; `p` holds parameters by name. Points of networks are columns:
# [d, M] start points and [d, M, N] proposals, which makes halves and biases contiguous. Those of walks, which
# have no networks, are rows: [M, 1, d] and [M, N, d]. case.axis is where the coordinates are.


def network(ops, p, name, h):
    """A relu network of columns."""
    affine = ops.affine_pair if h.ndim == 3 else ops.affine
    layer = 0
    while f"{name}.{layer}.weight" in p:
        if layer:
            h = ops.relu(h)
        h = affine(p[f"{name}.{layer}.weight"], h, p[f"{name}.{layer}.bias"][..., None])
        layer += 1
    return h


def pair(ops, p, which, h):
    """mu and log sigma at columns."""
    if f"pair_{which}.0.weight" in p:
        both = network(ops, p, f"pair_{which}", ops.twice(h))
        return both[0], both[1]
    return network(ops, p, f"mu_{which}", h), network(ops, p, f"sigma_{which}", h)


def flow_forward(ops, case, p, z):
    a, b = z[:case.half], z[case.half:]
    for i in range(case.couplings):
        if i % 2 == 0:
            b = b + network(ops, p, f"flow.{i}", a)
        else:
            a = a + network(ops, p, f"flow.{i}", b)
    return ops.concat([a, b], 0)


def flow_inverse(ops, case, p, x):
    a, b = x[:case.half], x[case.half:]
    for i in reversed(range(case.couplings)):
        if i % 2 == 0:
            b = b - network(ops, p, f"flow.{i}", a)
        else:
            a = a - network(ops, p, f"flow.{i}", b)
    return ops.concat([a, b], 0)


def log_target(ops, case, t, x):
    """log pi of points; t holds the data of a regression."""
    squares = (x * x).sum(case.axis)
    if case.target == "gaussian":
        return -0.5 * squares - 0.5 * case.dim * LOG_2PI
    if case.target == "cross":  # -|x - c|^2 = 2 c.x - 16 - |x|^2, centres c at distance 4 on the axes
        x8 = 8 * x
        return ops.logsumexp(ops.concat([x8, -x8], 0), 0) - squares - 16 - math.log(4 * math.pi)
    b = x[own(case)]
    log_prior = -0.5 * squares + (0.5 - 0.005) * (b * b).sum(0)
    constant = -0.5 * case.dim * LOG_2PI - case.original_dim * math.log(10)
    misfit = ops.misfit(t["against"], b.reshape(case.original_dim, -1)).reshape(squares.shape)
    return log_prior - misfit + constant


def own(case):
    """The original coordinates."""
    return slice(case.first, case.first + case.original_dim)


def scheme(ops, case, p, x):
    """What the networks say at points: mu_l, log sigma_l, mu_d, log sigma_d."""
    return *pair(ops, p, "l", flow_inverse(ops, case, p, x)), *pair(ops, p, "d", x)


def multi_scheme(ops, case, p, x, n):
    y, log_g, log_r, _ = scheme_move(ops, case, p, x, n, scheme(ops, case, p, x))
    return x[:, :, None], y, log_g, log_r, None


def scheme_move(ops, case, p, x, n, at_x):
    """From what the networks say at x: y, log g(y|x), log g(x|y), and what they say at y."""
    d, M, N = n.shape
    mu_l, log_l, mu_d, log_d = at_x
    z = mu_l[:, :, None] + ops.exp(log_l)[:, :, None] * n
    t = flow_forward(ops, case, p, z.reshape(d, M * N)).reshape(d, M, N)
    y = mu_d[:, :, None] + ops.exp(log_d)[:, :, None] * t
    constant = 0.5 * d * LOG_2PI
    # By the noise that made y, not by way of the inverse flow: the same value and gradient.
    log_g = -0.5 * (n * n).sum(0) - (log_l + log_d).sum(0)[:, None] - constant
    columns = y.reshape(d, M * N)
    back_mu_d, back_log_d = pair(ops, p, "d", columns)
    residual = (x[:, :, None] - back_mu_d.reshape(d, M, N)).reshape(d, M * N) * ops.exp(-back_log_d)
    both = flow_inverse(ops, case, p, ops.concat([columns, residual], 1))
    back_mu_l, back_log_l = pair(ops, p, "l", both[:, :M * N])
    m = (both[:, M * N:] - back_mu_l) * ops.exp(-back_log_l)
    log_r = -0.5 * (m * m).sum(0) - (back_log_l + back_log_d).sum(0) - constant
    return y, log_g, log_r.reshape(M, N), (back_mu_l, back_log_l, back_mu_d, back_log_d)


def step_size(ops, p, n):
    """And the same in the way in which it is to meet all coordinates."""
    step = ops.exp(p["log_step"]) if "log_step" in p else abs(p["step"])
    return step, ops.spread(step, n)


def random_walk(ops, case, p, x, n):
    d = n.shape[2]
    step, steps = step_size(ops, p, n)
    log_g = -0.5 * (n * n).sum(2) - d * ops.log(step) - 0.5 * d * LOG_2PI
    return x, x + steps * n, log_g, None, None


def mala(ops, case, p, x, n):
    """On the normal target, whose score is -x."""
    d = n.shape[2]
    step, tau = step_size(ops, p, n)
    sd = ops.sqrt(2 * tau)
    y = x - tau * x + sd * n
    m = (x - (y - tau * y)) / sd
    volume = 0.5 * d * ops.log(2 * step) + 0.5 * d * LOG_2PI
    return x, y, -0.5 * (n * n).sum(2) - volume, -0.5 * (m * m).sum(2) - volume, None


def component_densities(ops, p, x):
    """log N of the K components at points: [d, ...] -> [K, ...]"""
    square, rows = 0, []
    for i in range(x.shape[0]):
        sides = (slice(None),) + (None,) * (x.ndim - 1)
        row = (x[i] - p["mean"][:, i][sides]) * ops.exp(-p["log_sd"][:, i])[sides]
        for j in range(i if "shear" in p else 0):
            row = row - p["shear"][:, i, j][sides] * rows[j]
        rows.append(row)
        square = square + row * row
    return -0.5 * square - p["log_sd"].sum(1)[sides] - 0.5 * x.shape[0] * LOG_2PI


def mixture(ops, case, p, x, n):
    """All K components at each noise: y is [d, M, K, N]."""
    d, M, N = n.shape
    K, rows = case.components, []
    for i in range(d):
        row = n[i][:, None]
        for j in range(i if "shear" in p else 0):
            row = row + p["shear"][:, i, j][:, None] * n[j][:, None]
        rows.append(p["mean"][:, i][:, None] + ops.exp(p["log_sd"][:, i])[:, None] * row)
    y = ops.stack(rows, 0)
    log_w = ops.log_softmax(network(ops, p, "weights", ops.concat([x, y.reshape(d, -1)], 1)), 0)
    at_x = log_w[:, :M]
    log_g = ops.logsumexp(at_x[:, :, None, None] + component_densities(ops, p, y), 0)
    at_y = log_w[:, M:].reshape(K, M, K, N)
    log_r = ops.logsumexp(at_y + component_densities(ops, p, x)[:, :, None, None], 0)
    return x[:, :, None, None], y, log_g, log_r, ops.exp(at_x).T[:, :, None]


KINDS = {"multi-scheme": multi_scheme, "random-walk": random_walk, "mala": mala, "mixture": mixture}


def loss(ops, case, p, t, x, n, b):
    """The loss of a batch, and its mean acceptance probability."""
    x, y, log_g, log_r, weight = KINDS[case.kind](ops, case, p, x, n)
    log_pi = log_target(ops, case, t, y)
    ratio = log_pi - log_target(ops, case, t, x)
    if log_r is not None:  # else g is symmetric
        ratio = ratio + (log_r - log_g)
    log_alpha = ops.negative_part(ratio)
    if case.objective == "ab-initio":
        value = log_g - log_pi - (0.18125 * case.dim) * log_alpha
    elif case.objective == "gsm":
        value = (b / case.dim) * log_g - log_alpha
    else:
        jump = y - x if case.original_dim == case.dim else y[own(case)] - x[own(case)]
        u = ops.exp(log_alpha) * (jump * jump).sum(case.axis)
        value = -u if case.objective == "msjd" else 1 / (u + 1e-4) - (u + 1e-4)
    alpha = ops.exp(ops.stop(log_alpha))
    if weight is None:
        return value.mean(), alpha.mean()
    batch = case.starts * case.proposals
    return (weight * value).sum() / batch, (ops.stop(weight) * alpha).sum() / batch


def adapted(ops, b, alpha):
    """b of the objective gsm after a batch of mean acceptance alpha."""
    return ops.clip(b * (1 + 0.02 * (alpha - 0.6)), 1e-4, 1e4)


# ---- Chains ------------------------------------------------------------------------------------
# Chains of walks are rows, those of the multi-scheme proposal columns, as above. A state is x and what is remembered
# of it: log pi, and the score or what the networks say there.

LEAPFROGS = 10


def sampler_step(case):
    """Smaller where data are made up, in hundreds of dimensions."""
    return {"random-walk": 0.06, "mala": 0.09, "hmc": 0.10}[case.kind] * (1 if case.dim < 100 else 0.1)


def noise_shape(case, chains):
    """Of the normal numbers of a transition; auxiliary coordinates, drawn anew in each, come last."""
    return (chains, case.dim) if case.axis else (2 * case.dim - case.original_dim, chains)


def transitions_a_call(case, chains, most):
    """As many as take some milliseconds, but not more than so many."""
    numbers = case.against.size * (2 * LEAPFROGS if case.kind == "hmc" else 2)
    numbers += 2 * sum(math.prod(parameter["shape"]) for parameter in case.parameters)
    return max(1, min(most, int(1e8 / numbers / chains)))


def chains_of(ops, case, t, p):
    """How to start chains at points, and one Metropolis-Hastings transition of all of them.

    start: points [chains, d] -> state; move: state, normals, log_uniforms -> state, acceptance probabilities.
    t holds the data A, "against", and A', "transposed", of which ops.margins (x A') and ops.pull (u A) use what is
    faster there; p holds the parameters.
    """
    if case.axis == 0:
        return scheme_chains(ops, case, t, p)
    step, tau = sampler_step(case), 0.5 * sampler_step(case) ** 2

    def density(x):
        return -ops.softplus(ops.margins(t, x)).sum(1) - 0.005 * (x * x).sum(1)

    def density_score(x):
        u = ops.margins(t, x)
        return -ops.softplus(u).sum(1) - 0.005 * (x * x).sum(1), -ops.pull(t, ops.sigmoid(u)) - 0.01 * x

    def score(x):
        return -ops.pull(t, ops.sigmoid(ops.margins(t, x))) - 0.01 * x

    def start(x):
        return (x, density(x)) if case.kind == "random-walk" else (x, *density_score(x))

    def move(state, normals, log_uniforms):
        x, log_pi, *g = state
        if case.kind == "random-walk":
            y = x + step * normals
            new = (y, density(y))
            ratio = new[1] - log_pi
        elif case.kind == "mala":
            y = x + tau * g[0] + step * normals
            new = (y, *density_score(y))
            m = (x - y - tau * new[2]) / step
            ratio = new[1] - log_pi + 0.5 * ((normals * normals).sum(1) - (m * m).sum(1))
        else:
            y, momentum = x, normals + 0.5 * step * g[0]
            for i in range(LEAPFROGS):
                y = y + step * momentum
                if i + 1 < LEAPFROGS:
                    momentum = momentum + step * score(y)
            new = (y, *density_score(y))
            momentum = momentum + 0.5 * step * new[2]
            ratio = new[1] - log_pi + 0.5 * ((normals * normals).sum(1) - (momentum * momentum).sum(1))
        accept = log_uniforms < ratio
        chosen = [ops.where(accept if a.ndim == 1 else accept[:, None], a, b) for a, b in zip(new, state)]
        return tuple(chosen), ops.exp(ops.negative_part(ratio))

    return start, move


def scheme_chains(ops, case, t, p):
    """Of the multi-scheme proposal. With auxiliary coordinates, the networks see another point in each transition."""
    augmented, first = case.dim > case.original_dim, case.first

    def density(x):
        return -ops.misfit(t["against"], x) - 0.005 * (x * x).sum(0)

    def start(x):
        x = x.T
        return (x, density(x)) if augmented else (x, density(x), *scheme(ops, case, p, x))

    def move(state, normals, log_uniforms):
        x, log_pi, *at_x = state
        n = normals[:case.dim]
        if augmented:
            auxiliary = normals[case.dim:]
            x = ops.concat([auxiliary[:first], x, auxiliary[first:]], 0)
            at_x = scheme(ops, case, p, x)
        y, log_g, log_r, at_y = scheme_move(ops, case, p, x, n[:, :, None], at_x)
        y = y[:, :, 0]
        b = y[own(case)]
        new = (b, density(b), *at_y)
        ratio = new[1] - log_pi + (log_r - log_g)[:, 0]
        if augmented:
            ratio = ratio + 0.5 * ((auxiliary * auxiliary).sum(0) - ((y * y).sum(0) - (b * b).sum(0)))
        accept = log_uniforms < ratio
        return tuple(ops.where(accept, a, b) for a, b in zip(new, state)), ops.exp(ops.negative_part(ratio))

    return start, move


# ---- Timing ------------------------------------------------------------------------------------


def median_seconds(run, seconds, least=3):
    """Median time of a call, over about so many seconds."""
    times, begin = [], time.perf_counter()
    while len(times) < least or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    times.sort()
    return times[len(times) // 2]


def fastest(case, candidates):
    """Builds, checks and times variants; the fastest that is right, with its differences.

    A candidate is a name and a function that returns a variant: gradient() is the loss and the
    gradient by name at the case's inputs, run() does `count` steps.
    """
    bound = case.bound()
    best, begin = None, time.perf_counter()
    for name, build in candidates:
        if best and time.perf_counter() - begin > COMPILE_BUDGET:
            log(f"{case.case}: no time left to try {name}")
            continue
        try:
            start = time.perf_counter()
            variant = build()
            differences = case.differences(*variant.gradient())
            for _ in range(2):
                variant.run()
            built = time.perf_counter() - start
            seconds = median_seconds(variant.run, min(1, max(0.2, 0.1 * built))) / variant.count
        except Exception as error:
            log(f"{case.case}: {name} does not work: {(str(error) or repr(error)).splitlines()[0]}")
            continue
        right = max(differences) <= bound
        log(f"{case.case} {case.objective} {case.dtype}: {name}: {1 / seconds:.1f} steps/s, built in {built:.1f} s,"
            f" loss {differences[0]:.1e}, gradient {differences[1]:.1e}" + ("" if right else ": DIFFERS"))
        if best is None or (right, -seconds) > best[:2]:
            best = (right, -seconds, name, variant, differences)
        del variant
    if best is None:
        raise RuntimeError("no variant works")
    return best[2:]


def fastest_chains(case, candidates):
    """Builds and times ways to run chains; the fastest. run() makes `count` transitions, acceptance() is of all."""
    best = None
    for name, build in candidates:
        try:
            start = time.perf_counter()
            variant = build()
            variant.run()
            built = time.perf_counter() - start
            seconds = median_seconds(variant.run, 0.2, least=1) / variant.count
        except Exception as error:
            log(f"{case.case} {case.kind}: {name} does not work: {(str(error) or repr(error)).splitlines()[0]}")
            continue
        log(f"{case.case} {case.kind}: {name}: {1 / seconds:.1f} transitions/s, built in {built:.1f} s")
        if best is None or seconds < best[0]:
            best = seconds, variant
        del variant
    if best is None:
        raise RuntimeError("no variant works")
    return best[1]


# ---- Protocol ----------------------------------------------------------------------------------


def serve(version, candidates, first, chain_candidates, release):
    """Answers commands of the bench, a line each.

    open FOLDER [# NAME]
                    loads a case and finds the fastest way, or takes the one of that name:
                    "loss_difference gradient_difference # name"
    run SECONDS     median seconds of a gradient step: draws, loss, gradient, Adam
    plain SECONDS   the same of the fastest way that does not use the library's compiler
    sample CHAINS DTYPE SECONDS FOLDER
                    chains of the folder's kind on its posterior: "proposals_per_second acceptance"; what was built
                    for them is kept until chains of another kind or folder are asked for
    quit            ends it
    With --first FOLDER instead of commands: one gradient step, and its loss is printed.
    """
    if len(sys.argv) > 3 and sys.argv[2] == "--first":
        print(f"{float(first(Case(sys.argv[3]))):.9g}", flush=True)
        return
    print("ready", version, flush=True)
    chosen = plain = chains = chains_are = None
    for line in sys.stdin:
        command, *rest = line.split(maxsplit=1) or [""]
        try:
            if command == "quit":
                break
            elif command == "open":
                chosen = plain = chains = chains_are = None  # first: there may be gigabytes of parameters
                release()
                folder, _, wanted = rest[0].partition("#")
                case = Case(folder.strip())
                options = [c for c in candidates(case) if c[0] == wanted.strip()]
                name, chosen, differences = fastest(case, options or candidates(case))
                answer = f"{differences[0]:.3g} {differences[1]:.3g} # {name}"
            elif command == "run":
                answer = f"{median_seconds(chosen.run, float(rest[0])) / chosen.count:.9g}"
            elif command == "plain":
                if plain is None:
                    simple = [c for c in candidates(case) if c[0].startswith(("eager", "trace"))]
                    plain = fastest(case, simple)[1]
                answer = f"{median_seconds(plain.run, float(rest[0])) / plain.count:.9g}"
            elif command == "sample":
                count, dtype, seconds, folder = rest[0].strip().split(maxsplit=3)
                wanted = count, dtype, folder, os.stat(os.path.join(folder, "case.json")).st_mtime_ns
                if chains_are != wanted:
                    chosen = plain = chains = None
                    release()
                    case = Case(folder, dtype)
                    chains, chains_are = fastest_chains(case, chain_candidates(case, int(count))), wanted
                rate = int(count) * chains.count / median_seconds(chains.run, float(seconds))
                answer = f"{rate:.6g} {chains.acceptance():.4g}"
            else:
                answer = f"failed there is no command \"{command}\""
        except Exception as error:
            answer = "failed " + (str(error) or repr(error)).splitlines()[0]
        print(answer, flush=True)
