/**
 * Chains as NetCDF files in the layout of ArviZ's InferenceData.
 *
 *     hs_message message;
 *     if (hs_chains_save_netcdf(chains, NULL, "draws.nc", &message))
 *         fprintf(stderr, "%s\n", message.text);
 *
 * and then in Python:
 *
 *     data = arviz.from_netcdf("draws.nc")
 *     arviz.summary(data); arviz.plot_trace(data)
 *
 * A file has two groups. `posterior` has the variable x(chain, draw, x_dim_0). `sample_stats` has
 * what of the following the chains know, over (chain, draw): lp (log pi), acceptance_rate (alpha),
 * jump (alpha |y - x|^2), accepted (true or false). The counts of hs_chains are the attributes
 * proposals, gradients and nonfinite of sample_stats, and sampling_time (left out if it is 0) is in
 * seconds.
 *
 * The same chains, saved with the same options, give the same bytes: there is no time in a file
 * unless created_at or chains->seconds has one. Files are written under another name and renamed.
 *
 * Every variable of numbers has NetCDF's checksum (Fletcher-32), so that loading, here or by another
 * program, finds a wrong bit in the numbers. Names, labels and the structure of the file have none:
 * damage there mostly makes loading fail, but not always.
 *
 * A build without NetCDF (CMake's HS_WITH_NETCDF) has these functions too: they fail with HS_EINVAL,
 * and the message says how to get NetCDF.
 *
 * HDF5, which NetCDF is built on, is not thread-safe: calls of these functions wait for each other.
 * A program that uses NetCDF or HDF5 by itself must not do so at the same time.
 */
#ifndef HASTINGS_MCMC_IO_NETCDF_H
#define HASTINGS_MCMC_IO_NETCDF_H

#include <hastings/mcmc/chains.h>

/** Zero is the default of each. */
typedef struct {
    const char *name;          /**< of the variable; NULL: "x" */
    const char *const *labels; /**< [dim]: of its coordinates; NULL: 0, 1, ... */
    const char *created_at;    /**< such as "2026-01-31T12:00:00Z"; NULL: not in the file */
    const char *title;         /**< what was sampled; NULL: not in the file */
} hs_netcdf_options;

/** Saves chains. HS_EIO if the file cannot be written, HS_EINVAL for no chains or a name that
 *  NetCDF does not allow, HS_ENOMEM. `options` and `message` may be NULL. */
HS_API hs_status hs_chains_save_netcdf(const hs_chains *chains, const hs_netcdf_options *options,
                                       const char *path, hs_message *message) HS_MUST_CHECK;

/** Zero is the default of each. */
typedef struct {
    const char *group;    /**< NULL: "posterior", or the file itself if it has no such group */
    const char *variable; /**< read this one only; NULL: all that are floating-point numbers */
} hs_netcdf_selection;

/**
 * Loads chains of a file that was saved here, exactly, or that ArviZ made: all variables of the
 * group that begin with the dimensions chain and draw are flattened, one after the other, into
 * coordinates. They are named as ArviZ does, "theta[Choate]" or "theta[0, 1]"; if the group has one
 * variable with one labelled dimension, by the labels alone. log_pi and alpha are lp and
 * acceptance_rate of sample_stats, if these are there, and the others likewise.
 *
 * HS_EIO if the file cannot be read; HS_EFORMAT if it is damaged, no NetCDF-4 file, or without the
 * group or variable; HS_ESHAPE if variables do not begin with chain and draw, or have no draws;
 * HS_ENOMEM. `*chains` is NULL after a failure. `selection`, `names` and `message` may be NULL.
 */
HS_API hs_status hs_chains_load_netcdf(hs_chains **chains, const char *path,
                                       const hs_netcdf_selection *selection, hs_chain_names *names,
                                       hs_message *message) HS_MUST_CHECK;

#endif
