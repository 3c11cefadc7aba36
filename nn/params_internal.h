/* What a store is made of; seen by nn/ alone. */
#ifndef HASTINGS_NN_PARAMS_INTERNAL_H
#define HASTINGS_NN_PARAMS_INTERNAL_H

#include <hastings/nn/params.h>
#include <hastings/tensor/memory.h>

typedef struct {
    const char *name;
    uint64_t hash; /* of the name: addresses its draws, and makes looking it up cheap */
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
    const void *bound; /* = values: where tapes look, so it must not move */
    void *gradients;   /* once they exist, nothing can be added */
    size_t bytes, bytes_capacity;
    const hs_factors *
        *factors; /* [count]: gradients that are factors, and the others NULL; or no list */
};

/* Writes the initial numbers of a parameter to where zeros are; HS_EINVAL if the initialiser makes no sense. */
hs_status hs__init_fill(const hs_init *init, hs_dtype dtype, const hs_shape *shape, uint64_t seed,
                        uint64_t hash, void *out);

/* Copies with conversion between doubles and the numbers of a vector. */
void hs__numbers_to_doubles(hs_dtype dtype, const void *from, size_t n, double *to);
void hs__numbers_from_doubles(hs_dtype dtype, const double *from, size_t n, void *to);

#endif
