/**
 * Parameter files: a store's values, and an optimiser's state if a run is to be resumed.
 *
 *     hs_message message;
 *     if (hs_params_save(ps, adam, "net.hsp", &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     ...
 *     if (hs_params_load(ps, NULL, "net.hsp", &message))    // the values alone
 *         fprintf(stderr, "%s\n", message.text);
 *
 * Saving writes a file under another name in the same directory, and renames it when it is safely on
 * disk: at any time, `path` holds the whole old file or the whole new one. Loading reads and checks a
 * whole file before it changes anything: a load that fails leaves the store and the optimiser as they
 * were. Neither call makes the store fail. Both free all their memory. Saving only reads the store
 * and the optimiser. Loading changes them, so nobody else may use them meanwhile.
 *
 * The format, all integers unsigned and little-endian, numbers IEEE 754 and little-endian:
 *
 *     8 bytes  magic      89 "HSP" 0D 0A 1A 0A
 *     u32      version    1
 *     u32      number     4 for f32, 8 for f64
 *     u64      length     of the whole file in bytes
 *     u64      parameters
 *     each:    u32 length of the name, the name, u32 rank, u64 axis lengths
 *     u32      optimiser  0 none, or the place of its row in optimizers.def: 1 SGD, 2 Adam, 3 AdamW ...
 *     u32      moments    number of vectors that the optimiser keeps
 *     u64      steps      number of steps that it has taken
 *     numbers  values of all parameters in order, row-major; then each moment likewise
 *     u32      CRC-32     (that of zlib) of all bytes before
 */
#ifndef HASTINGS_NN_FILE_H
#define HASTINGS_NN_FILE_H

#include <hastings/nn/optimizer.h>
#include <hastings/nn/params.h>
#include <hastings/tensor/message.h>

/** Saves a store, and the state of its optimiser unless that is NULL (options and groups are no part
 *  of the state). `message` may be NULL. HS_EIO if the file cannot be written. */
HS_API hs_status hs_params_save(const hs_params *ps, const hs_optimizer *optimizer,
                                const char *path, hs_message *message) HS_MUST_CHECK;

/**
 * Loads a file into a store that has the same parameters in the same order, and the state into an
 * optimiser of the same name unless that is NULL. `message` may be NULL. HS_EIO if the file cannot be read,
 * HS_EFORMAT if it is damaged or not a parameter file of a known version, HS_EDTYPE, HS_ESHAPE or
 * HS_EINVAL if it is sound but of another number type, shape, name or kind.
 */
HS_API hs_status hs_params_load(hs_params *ps, hs_optimizer *optimizer, const char *path,
                                hs_message *message) HS_MUST_CHECK;

#endif
