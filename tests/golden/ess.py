#!/usr/bin/env python3
"""Writes ess.csv: diagnostics of small chains as ArviZ computes them (0.23.4 when the file was made).

    pip install 'arviz<1' && python3 ess.py > ess.csv

With a number as argument it writes other cases of the same kinds; mcmc/test_ess.c compares these
too where ArviZ is installed.

One line a case: name, chains, draws, then the figures named in the header, then chains * draws
values, chain after chain. A figure is empty if it depends on the last bits of an autocovariance:
Geyer's sequence stops at the first pair with a negative sum, and a pair of a short or discrete chain
may sum to zero exactly. ArviZ differs from our definitions in two places, where ours are used here:
R-hat of one chain is that of its halves (ArviZ: NaN), and a quantile between two equal values is
that value (ArviZ interpolates, and may round to just below it).
"""
import sys
import warnings

warnings.simplefilter("ignore")
import numpy as np
from scipy.stats.mstats import mquantiles
from arviz.stats import diagnostics as az

exact_autocov = az._autocov


def quantile(x, p):
    s = np.sort(x.ravel())
    at = s.size * p + (1 - p)
    k = int(np.floor(np.clip(at, 1, s.size - 1)))
    if s[k - 1] == s[k]:
        return s[k]
    return mquantiles(x.ravel(), p, alphap=1, betap=1)[0]


def ess_quantile(x, p):
    return az._ess(az._split_chains(x <= quantile(x, p)))


def rhat_rank(x):
    split = az._split_chains(x)
    folded = abs(split - np.median(split))
    return np.maximum(az._rhat(az._z_scale(split)), az._rhat(az._z_scale(folded)))


FIGURES = {
    "raw": az._ess_identity,
    "mean": az._ess_mean,
    "bulk": az._ess_bulk,
    "tail": lambda x: np.minimum(ess_quantile(x, 0.05), ess_quantile(x, 0.95)),
    "sd": az._ess_sd,
    "raw of x^2": lambda x: az._ess_identity(x * x),
    "mean of x^2": lambda x: az._ess_mean(x * x),
    "bulk of x^2": lambda x: az._ess_bulk(x * x),
    "quantile 0.1": lambda x: ess_quantile(x, 0.1),
    "median": lambda x: ess_quantile(x, 0.5),
    "rhat split": lambda x: az._rhat(az._split_chains(x)),
    "rhat": rhat_rank,
    "mcse mean": az._mcse_mean,
    "mcse sd": az._mcse_sd,
}


def figure(f, x):
    """The value as text, or nothing if noise of 1e-13 in the autocovariances changes it."""
    az._autocov = exact_autocov
    value = float(f(x))
    noise = np.random.default_rng(0)
    for _ in range(8):
        az._autocov = lambda y, axis=-1: exact_autocov(y, axis=axis) * (
            1 + 1e-13 * noise.standard_normal(y.shape)
        )
        again = float(f(x))
        if not np.isnan(value) and abs(again - value) > 1e-9 * abs(value):
            return ""
    return repr(value)


def ar1(rng, chains, draws, phi):
    x = np.empty((chains, draws))
    x[:, 0] = rng.standard_normal(chains)
    for i in range(1, draws):
        x[:, i] = phi * x[:, i - 1] + np.sqrt(1 - phi * phi) * rng.standard_normal(chains)
    return np.round(x, 5)


def cases():
    rng = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    for draws in range(4, 21):
        for chains in (1, 2, 4):
            yield f"iid {chains}x{draws}", ar1(rng, chains, draws, 0.0)
    for draws in (4, 5, 7, 10, 13, 20):
        yield f"slow 3x{draws}", ar1(rng, 3, draws, 0.9)
        yield f"antithetic 3x{draws}", ar1(rng, 3, draws, -0.8)
        yield f"discrete 3x{draws}", rng.integers(0, 3, (3, draws)).astype(float)
    for phi in (-0.95, -0.5, 0.0, 0.5, 0.9, 0.99):
        yield f"ar1 {phi} 4x60", ar1(rng, 4, 60, phi)
        yield f"ar1 {phi} 3x101", ar1(rng, 3, 101, phi)
    yield "ar1 0.9 1x151", ar1(rng, 1, 151, 0.9)
    yield "ar1 0.999 2x700", ar1(rng, 2, 700, 0.999)
    yield "ar1 0.995 3x501", ar1(rng, 3, 501, 0.995)
    yield "walk 1x900", np.round(np.cumsum(rng.standard_normal((1, 900)), axis=1), 3)
    yield "cauchy 4x80", np.round(rng.standard_cauchy((4, 80)), 4)
    yield "integers 4x75", rng.integers(-5, 6, (4, 75)).astype(float)
    yield "coin 4x64", rng.integers(0, 2, (4, 64)).astype(float)
    yield "rejections 4x100", np.repeat(ar1(rng, 4, 20, 0.0), 5, axis=1)
    yield "signs 2x50", np.where(rng.random((2, 50)) < 0.5, -1.0, 1.0)
    yield "shifted 4x50", ar1(rng, 4, 50, 0.0) + 3 * np.arange(4)[:, None]
    yield "scaled 4x50", ar1(rng, 4, 50, 0.0) * 2.0 ** np.arange(4)[:, None]
    yield "far 4x50", ar1(rng, 4, 50, 0.5) + 1e6
    yield "small 4x50", ar1(rng, 4, 50, 0.5) * 1e-9
    yield "constant 3x10", np.full((3, 10), 2.5)
    yield "constant 1x7", np.full((1, 7), -1.0)
    yield "one constant 3x12", np.vstack([np.zeros((1, 12)), ar1(rng, 2, 12, 0.0)])
    yield "each constant 3x8", np.repeat([[0.0], [1.0], [3.0]], 8, axis=1)


print(",".join(["name", "chains", "draws", *FIGURES, "values"]))
for name, x in cases():
    with np.errstate(all="ignore"):
        row = [figure(f, x) for f in FIGURES.values()]
    print(",".join([name, str(x.shape[0]), str(x.shape[1]), *row, *(repr(float(v)) for v in x.ravel())]))
