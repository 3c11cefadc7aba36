/* What an optimiser is made of, and the loops it runs; seen by nn/ alone. */
#ifndef HASTINGS_NN_OPTIMIZER_INTERNAL_H
#define HASTINGS_NN_OPTIMIZER_INTERNAL_H

#include <hastings/nn/optimizer.h>
#include <hastings/tensor/threads.h>

/* Numbers of a step that all elements share. */
typedef struct {
    double shorten; /* factor of the gradient, from clipping */
    double rate, momentum;
    bool nesterov;
    double beta1, beta2, epsilon;
    double correct1; /* rate / (1 - beta1^t) */
    double correct2; /* 1 / sqrt(1 - beta2^t) */
    double keep;     /* 1 - rate * weight_decay; 1 without */
} update_numbers;

/* One loop each over n elements: values w, gradients g, moments. For sum_squares and adam n is a multiple of the
 * vector width. */
typedef struct {
    double (*sum_squares)(const void *g, size_t n);
    void (*sgd)(const update_numbers *u, size_t n, void *w, const void *g, void *b);
    void (*adam)(const update_numbers *u, size_t n, void *w, const void *g, void *m, void *v);
    /* The same for a row of a matrix whose gradient is factors. */
    void (*adam_row)(const update_numbers *u, const hs_factors *f, size_t row, void *w, void *m,
                     void *v);
    /* n numbers from `column` on of a row of the matrix that factors stand for. */
    void (*combine)(const hs_factors *f, size_t row, size_t column, size_t n, void *g);
    double (*dot)(const void *a, const void *b, size_t n);
} optimizer_kernels;

typedef enum { OPTIMIZER_SGD = 1, OPTIMIZER_ADAM, OPTIMIZER_ADAMW } optimizer_kind;

enum { MAX_MOMENTS = 2 };

struct hs_optimizer {
    optimizer_kind kind;
    hs_params *store;
    hs_schedule schedule;
    update_numbers numbers;
    double weight_decay, clip_norm;
    int threads;
    hs_pace pace;
    uint64_t steps;
    double norm;
    int moments; /* vectors that it keeps, laid out as the store's values */
    void *moment[MAX_MOMENTS];
    double *sums; /* one for each block */
    bool broken;  /* it was made wrong, and `error` says how: every step fails */
    hs_status status;
    char error[256];
};

#endif
