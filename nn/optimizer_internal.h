/* An optimiser's parts and its loops. */
#ifndef HASTINGS_NN_OPTIMIZER_INTERNAL_H
#define HASTINGS_NN_OPTIMIZER_INTERNAL_H

#include <hastings/nn/optimizer.h>
#include <hastings/tensor/threads.h>

/* Kinds are numbered as files number them; 0 is no optimiser. */
typedef enum {
    OPTIMIZER_none,
#define HS_OPTIMIZER(name, ...) OPTIMIZER_##name,
#include "optimizers.def"
    OPTIMIZER_KINDS
} optimizer_kind;

enum { MAX_MOMENTS = 2 };

/* Numbers of a step that all elements of a group share. */
typedef struct {
#define HS_NUMBER(name, ...) double name;
#include "optimizers.def"
    double rate;
    double shorten;  /* factor of the gradient, from clipping */
    double correct1; /* rate / (1 - beta1^t) */
    double correct2; /* 1 / sqrt(1 - beta2^t) */
    double keep;     /* 1 - rate * weight_decay; 1 without */
} update_numbers;

/* A step of n elements (a multiple of the vector width): values w, gradients g and moments m. A moment that the
 * optimiser does not keep is NULL. */
typedef void update_function(const update_numbers *u, size_t n, void *w, const void *g,
                             void *const m[MAX_MOMENTS]);

/* The same for a row of a matrix whose gradient is factors. */
typedef void update_row_function(const update_numbers *u, const hs_factors *f, size_t row, void *w,
                                 void *const m[MAX_MOMENTS]);

typedef struct {
    double (*sum_squares)(const void *g, size_t n); /* n is a multiple of the vector width */
    double (*dot)(const void *a, const void *b, size_t n);
    update_function *update[OPTIMIZER_KINDS];
    update_row_function *update_row[OPTIMIZER_KINDS];
} optimizer_kernels;

/* Parameters that are treated alike. */
typedef struct {
    double rate; /* factor of the optimiser's */
    bool frozen, no_decay;
    update_numbers numbers;
} update_group;

struct hs_optimizer {
    optimizer_kind kind;
    hs_params *store;
    hs_optimizer_options options; /* with the defaults filled in; its groups are not ours */
    update_group *group;          /* group 0 has the parameters of no other group */
    uint32_t *group_of;           /* [parameters] */
    bool grouped, freezes;        /* there is another group, and one that is frozen */
    hs_pace pace;
    uint64_t steps;
    double norm;
    int moments; /* vectors that it keeps, laid out as the store's values */
    void *moment[MAX_MOMENTS];
    double *sums;     /* one for each block */
    hs_status broken; /* it was made wrong, and `error` says how: every step fails */
    hs_message error;
};

/* The optimiser of that name; OPTIMIZER_none if there is none. */
optimizer_kind hs__optimizer_find(const char *name);

#endif
