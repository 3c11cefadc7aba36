/* The inside of a store; seen by nn/ alone. */
#ifndef HASTINGS_NN_PARAMS_INTERNAL_H
#define HASTINGS_NN_PARAMS_INTERNAL_H

#include <hastings/nn/params.h>
#include <hastings/tensor/memory.h>

typedef struct {
    const char *name;
    uint64_t hash; /* of the name: the address of its draws, and a cheap first comparison */
    hs_shape shape;
    size_t count;  /* elements */
    size_t offset; /* bytes from the start of either vector */
} param_entry;

struct hs_params {
    hs_dtype dtype;
    uint64_t seed;
    hs_status status;
    char error[512];
    hs_arena names;
    param_entry *entry;
    size_t count, capacity;
    size_t size; /* elements */
    void *values;
    const void *bound; /* = values; tapes hold the address of this field */
    void *gradients;   /* NULL until asked for; afterwards no parameter can be added */
    size_t bytes, bytes_capacity;
    const hs_factors *
        *factors; /* NULL, or [count]: the factors of a gradient, NULL for a plain one */
};

/* Writes the initial numbers of a parameter over zeros; HS_EINVAL if the initialiser makes no sense. */
hs_status hs__init_fill(const hs_init *init, hs_dtype dtype, const hs_shape *shape, uint64_t seed,
                        uint64_t hash, void *out);

#endif
