"""Gradient steps of trained proposals, and samplers, in JAX: a peer of bench/steps.c.

    steps_jax.py THREADS [--first FOLDER]

Draws, loss, gradient and Adam are one compiled function of donated buffers, called for each step or for
several at once. See steps.py for the protocol.
"""
import gc
import os
import sys
import warnings
from types import SimpleNamespace

import steps

threads = steps.prepare()
cores = os.sched_getaffinity(0)
os.sched_setaffinity(0, sorted(cores)[-threads:])  # XLA makes as many threads as there are cores to run on
os.environ["JAX_PLATFORMS"] = "cpu"
if threads == 1:
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
warnings.filterwarnings("ignore")
try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError:
    print("absent", flush=True)
    sys.exit(0)


jax.devices()
for thread in os.listdir("/proc/self/task"):  # now that XLA has its threads, they may run anywhere
    os.sched_setaffinity(int(thread), cores)
# Half the work for the same numbers, which are not to be spread over devices.
jax.config.update("jax_threefry_partitionable", False)


def softplus(t):
    return jnp.maximum(t, 0) + jnp.log1p(jnp.exp(-abs(t)))


@jax.custom_vjp
def misfit(against, b):
    """-log P of the labels, which are the signs of rows of `against`."""
    return softplus(against @ b).sum(0)


def misfit_forward(against, b):
    t = against @ b
    return softplus(t).sum(0), (against, t)


def misfit_backward(kept, g):
    against, t = kept
    return None, against.T @ jax.nn.sigmoid(t) * g


misfit.defvjp(misfit_forward, misfit_backward)

@jax.custom_vjp
def affine(w, h, b):
    return w @ h + b


def affine_forward(w, h, b):
    return w @ h + b, (w, h)


def affine_backward(kept, g):
    """Of few columns, spelled out: then XLA fuses to_w with Adam, and does not transpose w in a slow loop."""
    w, h = kept
    to_b = g.sum(1, keepdims=True)
    if h.shape[1] > 2:
        return g @ h.T, w.T @ g, to_b
    columns = range(h.shape[1])
    return sum(g[:, k, None] * h[None, :, k] for k in columns), jnp.stack([g[:, k] @ w for k in columns], 1), to_b


affine.defvjp(affine_forward, affine_backward)

OPS = SimpleNamespace(
    exp=jnp.exp, log=jnp.log, sqrt=jnp.sqrt, concat=jnp.concatenate, stack=jnp.stack, where=jnp.where,
    relu=jax.nn.relu, logsumexp=jax.nn.logsumexp, log_softmax=jax.nn.log_softmax, stop=lax.stop_gradient,
    clip=jnp.clip, twice=lambda h: jnp.broadcast_to(h, (2,) + h.shape), negative_part=lambda r: jnp.minimum(r, 0),
    affine=affine, affine_pair=lambda w, h, b: w @ h + b, misfit=misfit,
    softplus=softplus, sigmoid=jax.nn.sigmoid, spread=lambda step, n: step,
    # Of one row: as fast as the memory. Written in other ways, XLA takes more than twice as long.
    margins=lambda t, x: x @ t["against"].T, pull=lambda t, u: (t["transposed"] @ u.T).T)


def arrays(case):
    """What the target needs of the data, and points to start from."""
    if case.target != "logistic":
        return {}
    return {"against": jnp.asarray(case.against), "points": jnp.asarray(case.points)}


def draw(case, t, key):
    """Start points and noise of a step."""
    kx, kn, ka = jax.random.split(key, 3)
    M, dtype = case.starts, case.np_dtype
    n = jax.random.normal(kn, case.n.shape, dtype)
    if case.target == "gaussian":
        return jax.random.normal(kx, case.x.shape, dtype), n
    if case.target == "cross":
        centres = jnp.array([[4, -4, 0, 0], [0, 0, 4, -4]], dtype)[:, jax.random.randint(ka, (M,), 0, 4)]
        return centres + 0.5 ** 0.5 * jax.random.normal(kx, case.x.shape, dtype), n
    x = t["points"][jax.random.randint(kx, (M,), 0, t["points"].shape[0])].T
    if case.dim > case.original_dim:
        auxiliary = jax.random.normal(ka, (case.dim - case.original_dim, M), dtype)
        x = jnp.concatenate([auxiliary[:case.first], x, auxiliary[case.first:]], 0)
    return x, n


def adam(p, g, m, v, time):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    c1, c2 = 1 / (1 - 0.9 ** time), 1 / (1 - 0.999 ** time)
    return p - 3e-4 * c1 * m / (jnp.sqrt(v * c2) + 1e-8), m, v


class Variant:
    """A training. count: steps a call; stacked: mu and sigma together; flat: Adam on one vector."""

    def __init__(self, case, count, stacked, flat):
        jax.config.update("jax_enable_x64", case.double)
        self.case, self.count = case, count
        t = self.t = arrays(case)
        dtype = case.np_dtype
        p = {name: jnp.asarray(a) for name, a in case.theta(stacked).items()}
        shapes = {name: a.shape for name, a in p.items()}

        def pack(p):
            return jnp.concatenate([a.reshape(-1) for a in p.values()]) if flat else p

        def unpack(p):
            if not flat:
                return p
            result, at = {}, 0
            for name, shape in shapes.items():
                size = steps.math.prod(shape)
                result[name] = p[at:at + size].reshape(shape)
                at += size
            return result

        def gradient(p, t, x, n, b):
            return jax.value_and_grad(lambda p: steps.loss(OPS, case, p, t, x, n, b), has_aux=True)(p)

        def one(t, state):
            p, m, v, time, b, key, _ = state
            key, now = jax.random.split(key)
            time = time + 1
            x, n = draw(case, t, now)
            (value, alpha), g = gradient(unpack(p), t, x, n, b)
            g = pack(g)
            if flat:
                p, m, v = adam(p, g, m, v, time)
            else:
                new = {name: adam(p[name], g[name], m[name], v[name], time) for name in p}
                p, m, v = ({name: a[k] for name, a in new.items()} for k in range(3))
            if case.objective == "gsm":
                b = steps.adapted(OPS, b, alpha)
            return p, m, v, time, b, key, value

        def several(t, state):
            if count == 1:
                return one(t, state)
            return lax.fori_loop(0, count, lambda _, s: one(t, s), state)

        p = pack(p)
        zeros = lambda: jax.tree.map(jnp.zeros_like, p)
        self.state = (p, zeros(), zeros(), jnp.zeros((), dtype), jnp.ones((), dtype), jax.random.key(0),
                      jnp.zeros((), dtype))
        self.unpack, self.differentiate = unpack, jax.jit(gradient)
        self.steps = jax.jit(several, donate_argnums=1)

    def gradient(self):
        (value, _), g = self.differentiate(self.unpack(self.state[0]), self.t, self.case.x, self.case.n,
                                           self.case.np_dtype(1))
        return value, {name: jax.device_get(a) for name, a in g.items()}

    def run(self):
        self.state = jax.block_until_ready(self.steps(self.t, self.state))
        return self.state[-1]


def candidates(case):
    """The likely fastest first: after some seconds of building no more are tried."""
    if case.case == "mnist":
        wanted = [(1, False, False)]
    elif case.kind == "multi-scheme":
        several = 5 if case.width > 64 else 20
        wanted = [(several, True, True), (several, False, True), (several, True, False), (1, True, True)]
    else:
        wanted = [(20, False, False), (20, False, True), (1, False, False)]
    words = ", stacked", ", flat"
    return [(f"{count} steps a call" + "".join(word for word, on in zip(words, (stacked, flat)) if on),
             lambda c=count, s=stacked, f=flat: Variant(case, c, s, f)) for count, stacked, flat in wanted]


def first(case):
    return Variant(case, 1, False, False).run()


def release():
    jax.clear_caches()
    gc.collect()


# ---- Sampling ----------------------------------------------------------------------------------


class Chains:
    """Transitions in a compiled loop of up to a thousand."""

    def __init__(self, case, chains, stacked):
        jax.config.update("jax_enable_x64", case.double)
        t, dtype = {**arrays(case), "transposed": jnp.asarray(case.against.T.copy())}, case.np_dtype
        p = {name: jnp.asarray(a) for name, a in case.theta(stacked).items()} if case.parameters else {}
        count = self.count = steps.transitions_a_call(case, chains, 1000)

        def several(t, p, state, key):
            _, move = steps.chains_of(OPS, case, t, p)

            def one(carry, _):
                state, accepted, key = carry
                key, kn, ku = jax.random.split(key, 3)
                normals = jax.random.normal(kn, steps.noise_shape(case, chains), dtype)
                log_uniforms = jnp.log(jax.random.uniform(ku, (chains,), dtype))
                state, alpha = move(state, normals, log_uniforms)
                return (state, accepted + alpha, key), None

            carry = state, jnp.zeros(chains, dtype), key
            (state, accepted, key), _ = lax.scan(one, carry, length=count) if count > 1 else one(carry, None)
            return state, accepted.mean() / count, key

        x = t["points"][jnp.arange(chains) % t["points"].shape[0]]
        start, _ = steps.chains_of(OPS, case, t, p)
        self.state, self.key = start(x), jax.random.key(0)
        self.several, self.given, self.rates = jax.jit(several), (t, p), []

    def run(self):
        self.state, rate, self.key = jax.block_until_ready(self.several(*self.given, self.state, self.key))
        self.rates.append(float(rate))

    def acceptance(self):
        return sum(self.rates) / len(self.rates)


def chain_candidates(case, chains):
    return [("jit", lambda: Chains(case, chains, case.width < 1000))]


if __name__ == "__main__":
    steps.serve("jax " + jax.__version__, candidates, first, chain_candidates, release)
