"""chains_in_arviz.py PROGRAM: chains go from here to ArviZ and cmdstanpy, and back, without a bit changed,
and diagnostics agree. PROGRAM is chains_exchange. Ends with 77 where ArviZ is missing."""

import glob
import importlib.util
import os
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
try:
    import numpy as np
    import xarray as xr
    import arviz as az
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)


def can_import(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


engines = ["netcdf4"] * can_import("netCDF4") + ["h5netcdf"] * can_import("h5netcdf", "h5py")
if not engines:
    print("skipped: xarray reads no NetCDF (netCDF4 and h5netcdf are missing)")
    sys.exit(77)

OLD = az.__version__.startswith("0.")  # InferenceData; since 1.0 xarray's DataTree
CHAINS, DRAWS, PHI = 4, 501, (0.0, 0.9, -0.6)
LABELS = ["intercept", "age", "loan, \u20ac"]


def expected_draws():
    """The sequences of chains_exchange.c, computed here: [chain][draw][coordinate]."""
    x = np.empty((CHAINS, DRAWS, len(PHI)))
    for m in range(CHAINS):
        for i, phi in enumerate(PHI):
            state, last = 1 + m + 10 * i, 0.0
            for n in range(DRAWS):
                state = (1664525 * state + 1013904223) % 2**32
                last = phi * last + (state / 4294967296.0 - 0.5)
                x[m, n, i] = last
    return x


def equal(found, expected, what):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: {found.shape}, expected {expected.shape}"
    assert (found == expected).all(), f"{what}: numbers differ"


def group(data, name):
    return data[name] if OLD else data[name].to_dataset()


def check_netcdf(directory, x):
    at = np.arange(CHAINS * DRAWS).reshape(CHAINS, DRAWS)
    draw = at % DRAWS
    for name, variable, labels in (("draws", "x", [0, 1, 2]), ("named", "weights", LABELS)):
        path = f"{directory}/{name}.nc"
        data = az.from_netcdf(path)
        posterior, stats = group(data, "posterior"), group(data, "sample_stats")
        assert list(posterior.data_vars) == [variable]
        assert posterior[variable].dims == ("chain", "draw", f"{variable}_dim_0")
        equal(posterior[variable], x, path)
        equal(posterior["chain"], np.arange(CHAINS), "chain")
        equal(posterior["draw"], np.arange(DRAWS), "draw")
        equal(posterior[f"{variable}_dim_0"].values.astype(type(labels[0])), labels, "labels")
        equal(stats["lp"], -at / 7, "lp")
        equal(stats["acceptance_rate"], draw % 11 / 10, "acceptance_rate")
        equal(stats["jump"], draw / 3, "jump")
        equal(stats["accepted"], draw % 3 == 0, "accepted")
        assert stats["accepted"].dtype == bool
        assert int(stats.attrs["proposals"]) == CHAINS * DRAWS
        assert int(stats.attrs["gradients"]) == 12345678901
        assert int(stats.attrs["nonfinite"]) == 2
        for g in (posterior, stats):
            assert g.attrs["inference_library"] == "hastings" and g.attrs["sampling_time"] == 1.25
            assert g.attrs.get("created_at") == ("2026-01-31T12:00:00Z" if name == "named" else None)
        summary = az.summary(data)
        assert len(summary) == 3 and variable in summary.index[0], summary
        for engine in engines:
            with xr.open_dataset(path, group="posterior", engine=engine) as d:
                equal(d[variable], x, f"{path} with {engine}")


def check_diagnostics(report, x):
    for i, line in enumerate(report.splitlines()):
        words = line.split()
        ours = dict(zip(words[::2], map(float, words[1::2])))
        values = np.ascontiguousarray(x[:, :, i])
        theirs = {k: az.ess(values, method=k) for k in ("mean", "bulk", "sd")}
        theirs["tail"] = az.ess(values, method="tail", prob=(0.05, 0.95))
        theirs["raw"] = az.ess(values, method="identity")
        theirs.update({k: az.rhat(values, method=k) for k in ("rank", "split")})
        theirs["mcse"] = az.mcse(values, method="mean")
        for k, value in theirs.items():
            value = float(value)
            off = abs(ours[k] / value - 1)
            assert off < 1e-8, f"coordinate {i}, {k}: {ours[k]}, ArviZ has {value}"
    assert i == 2


def check_stan_csv(directory, x):
    files = sorted(glob.glob(f"{directory}/draws_*.csv"))
    assert len(files) == CHAINS
    if hasattr(az, "from_cmdstan"):
        data = az.from_cmdstan(files)
        equal(group(data, "posterior")["x"], x, "from_cmdstan")
        equal(group(data, "sample_stats")["lp"].values.ravel(), -np.arange(CHAINS * DRAWS) / 7, "lp")
        assert not group(data, "sample_stats")["diverging"].any()
        print("read by ArviZ's from_cmdstan")
    try:
        import cmdstanpy
    except ImportError:
        return
    fit = cmdstanpy.from_csv(files)
    equal(fit.stan_variable("x"), x.reshape(-1, 3), "cmdstanpy")
    assert fit.num_draws_warmup == 100 and fit.num_draws_sampling == DRAWS
    equal(group(az.from_cmdstanpy(fit), "posterior")["x"], x, "from_cmdstanpy")
    print("read by cmdstanpy", cmdstanpy.__version__)


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def check_way_back(program, directory):
    """A file of ArviZ's, with all that is odd, is read here."""
    rng = np.random.default_rng(1)
    mu, theta = rng.normal(size=(3, 20)), rng.normal(size=(3, 20, 2))
    z, single = rng.normal(size=(3, 20, 2, 3)), rng.normal(size=(3, 20)).astype("f4")
    values = {"mu": mu, "theta": theta, "z": z, "single": single, "count": (mu > 0).astype(int)}
    coords, dims = {"school": ["Choate", "Deerfield"]}, {"theta": ["school"]}
    if OLD:
        data = az.from_dict(posterior=values, coords=coords, dims=dims)
    else:
        data = az.from_dict({"posterior": values}, coords=coords, dims=dims)
    expected = [("mu", mu), ("theta[Choate]", theta[..., 0]), ("theta[Deerfield]", theta[..., 1])]
    expected += [(f"z[{i}, {j}]", z[:, :, i, j]) for i in range(2) for j in range(3)]
    expected += [("single", single.astype(float))]
    for engine in engines:
        path = f"{directory}/{engine}.nc"
        data.to_netcdf(path, engine=engine)
        lines = run(program, "read", path).splitlines()
        found = {line.split("\t")[0]: np.array(line.split("\t")[1:], float) for line in lines}
        assert sorted(found) == sorted(name for name, _ in expected), sorted(found)
        for name, numbers in expected:
            equal(found[name], numbers.ravel(), f"{name} as {engine} wrote it")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        x = expected_draws()
        report = run(program, "write", directory)
        check_netcdf(directory, x)
        check_diagnostics(report, x)
        check_stan_csv(directory, x)
        check_way_back(program, directory)
        files = [os.path.join(directory, f) for f in ("draws_1.csv", "draws_3.csv")]
        lines = run(program, "read", *files).splitlines()
        assert [line.split("\t")[0] for line in lines] == ["x[1]", "x[2]", "x[3]"]
        found = np.array([line.split("\t")[1:] for line in lines], float)
        equal(found, np.concatenate([x[0], x[2]]).T, "CSV read back")
    print("ArviZ", az.__version__, "and", " and ".join(engines), "agree")


main()
