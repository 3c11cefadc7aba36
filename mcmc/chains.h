/**
 * Chains: the draws of several chains, in memory, in a .npy file, or streamed to one.
 *
 *     hs_chains *c;
 *     hs_message message;
 *     if (hs_chains_new(&c, 4, 1000, 2, HS_KEEP_ALPHA | HS_KEEP_ACCEPTED, &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     double *draw = hs_chains_draw(c, chain, n);              // [dim]
 *     ...
 *     if (hs_chains_save(c, "draws.npy", &message))            // shape (4, 1000, 2) to NumPy
 *         fprintf(stderr, "%s\n", message.text);
 *     hs_chains_free(c);
 *
 * A run need not fit in memory. A writer takes one step of all chains at a time:
 *
 *     hs_draws_writer *w;
 *     if (hs_draws_open(&w, "draws.npy", 4, 2, &message))
 *         ...
 *     while (running && hs_draws_append(w, state, &message) == HS_OK)   // state[4][2]
 *         ...
 *     if (hs_draws_close(w, &message))                         // shape (steps, 4, 2)
 *         fprintf(stderr, "%s\n", message.text);
 *
 * Both write a temporary file beside `path` (`path.PROCESS-N.tmp`), and rename it once it is on
 * disk: `path` holds the old file or the new one. A writer closed early, say after Ctrl-C, stores
 * the true number of steps. It keeps the header of the temporary file up to date: after a crash,
 * this file can be read up to the last steps that reached the disk.
 *
 * The format is NumPy's, version 1.0: little-endian 64-bit floats in C order. The reader takes
 * versions 1 to 3. It checks the header and the size of the file before it trusts them.
 *
 * hs_chains is a plain struct, which you may fill by hand. Its maker owns it. A writer belongs to
 * one thread; different threads may use different writers and chains.
 */
#ifndef HASTINGS_MCMC_CHAINS_H
#define HASTINGS_MCMC_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/message.h>

/** Draws of several chains. Every array but x may be NULL. */
typedef struct {
    size_t chains, draws, dim; /**< number of chains, of draws in each, of coordinates */
    double *x;                 /**< [chains][draws][dim]: state after each transition */
    double *log_pi;            /**< [chains][draws]: log density of that state */
    double *alpha;             /**< [chains][draws]: acceptance probability of the transition */
    double *jump;              /**< [chains][draws]: alpha |y - x|^2 of the transition, over the
                                    original coordinates */
    unsigned char *accepted;   /**< [chains][draws]: 1 if the transition took the proposal */
    uint64_t proposals;        /**< proposals made in all chains; 0: chains * draws */
    uint64_t gradients;        /**< evaluations of the score; 0: none, or not counted */
    uint64_t nonfinite;        /**< proposals rejected for a log density that is not finite */
    double seconds;            /**< duration of the drawing; 0: not measured */
} hs_chains;

/** Optional arrays of hs_chains, for hs_chains_new(). */
enum {
    HS_KEEP_LOG_PI = 1,   /**< hs_chains.log_pi */
    HS_KEEP_ALPHA = 2,    /**< hs_chains.alpha */
    HS_KEEP_JUMP = 4,     /**< hs_chains.jump */
    HS_KEEP_ACCEPTED = 8, /**< hs_chains.accepted */
    HS_KEEP_ALL = 15,     /**< all four */
};

/** Makes chains of zeros. HS_EINVAL if a size is 0, HS_ENOMEM if they are too large. `*chains` is NULL after a failure; `message` may be NULL. */
HS_API hs_status hs_chains_new(hs_chains **chains, size_t count, size_t draws, size_t dim,
                               unsigned keep, hs_message *message) HS_MUST_CHECK;

/** Frees chains and their arrays; NULL is allowed. */
HS_API void hs_chains_free(hs_chains *chains);

/** Draw n of chain m, [dim]. */
static inline double *hs_chains_draw(const hs_chains *chains, size_t m, size_t n)
{
    return chains->x + (m * chains->draws + n) * chains->dim;
}

/** Names of coordinates, as they are shown: "mu", "theta[1]", "x[0]". Functions that fill them expect
 *  nothing of what was there before, and leave them empty after a failure. */
typedef struct {
    size_t count;      /**< how many: hs_chains.dim */
    const char **name; /**< [count], each ended by '\0' */
    hs_arena text;     /**< owns it all */
} hs_chain_names;

/** Frees what the names own, and empties them; NULL is allowed. */
HS_API void hs_chain_names_free(hs_chain_names *names);

/** Saves x, of shape (chains, draws, dim). HS_EIO if the file cannot be written. */
HS_API hs_status hs_chains_save(const hs_chains *chains, const char *path,
                                hs_message *message) HS_MUST_CHECK;

/** Order of the axes in a file. */
typedef enum {
    HS_CHAIN_FIRST, /**< (chains, draws, dim): hs_chains_save(), ArviZ */
    HS_DRAW_FIRST,  /**< (draws, chains, dim): hs_draws_open() */
} hs_draws_order;

/** Loads x; the optional arrays are NULL. HS_EIO if the file cannot be read, HS_EFORMAT if it is
 *  damaged or no .npy file, HS_EDTYPE if its numbers are not 64-bit floats, HS_ESHAPE if they are
 *  not an array of three axes in C order, HS_ENOMEM. Bytes after the array are ignored, as in
 *  NumPy: a killed run may leave part of a step. */
HS_API hs_status hs_chains_load(hs_chains **chains, const char *path, hs_draws_order order,
                                hs_message *message) HS_MUST_CHECK;

/** Writer of a file of draws, in constant memory. */
typedef struct hs_draws_writer hs_draws_writer;

/** Opens a writer for steps of [chains][dim] numbers; `*writer` is NULL after a failure. */
HS_API hs_status hs_draws_open(hs_draws_writer **writer, const char *path, size_t chains,
                               size_t dim, hs_message *message) HS_MUST_CHECK;

/** Appends one step. Errors, such as a full disk, stick: later steps fail with the first one. */
HS_API hs_status hs_draws_append(hs_draws_writer *writer, const double *step,
                                 hs_message *message) HS_MUST_CHECK;

/** Number of steps appended so far. */
HS_API uint64_t hs_draws_count(const hs_draws_writer *writer);

/** Renames the file to its path, and frees the writer; NULL is allowed. After a failed append, the
 *  file keeps the steps that are wholly on disk, and the first error is returned again. */
HS_API hs_status hs_draws_close(hs_draws_writer *writer, hs_message *message) HS_MUST_CHECK;

/** Removes the temporary file, and frees the writer; NULL is allowed. */
HS_API void hs_draws_discard(hs_draws_writer *writer);

#endif
