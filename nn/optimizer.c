#include "optimizer_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/threads.h>

HS_KERNEL_TABLE(optimizer_kernels, optimizer);

/* ---- Making ------------------------------------------------------------------------------- */

/* Blocks are the unit of work and of summation: their size is part of the numeric contract. A few
 * of them take less time than waking other threads. */
enum { BLOCK_BYTES = 1 << 16, FEW_BLOCKS = 4 };

static size_t block_count(const hs_optimizer *optimizer)
{
    return (hs_params_bytes(optimizer->store) + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

static hs_status HS_PRINTF(3, 4)
    report(hs_optimizer *optimizer, hs_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(optimizer->error, sizeof optimizer->error, format, arguments);
    va_end(arguments);
    return optimizer->status = status;
}

static void reject(hs_optimizer *optimizer, const char *what, double value)
{
    if (optimizer->broken)
        return;
    report(optimizer, HS_EINVAL, "%s: %s, but is %g", hs_optimizer_name(optimizer), what, value);
    optimizer->broken = true;
}

static void check_schedule(hs_optimizer *optimizer)
{
    const hs_schedule *s = &optimizer->schedule;
    if ((unsigned)s->kind > HS_EXPONENTIAL)
        reject(optimizer, "schedule.kind must be one of hs_schedule_kind", (double)s->kind);
    if (!(s->rate > 0 && isfinite(s->rate)))
        reject(optimizer, "schedule.rate must be positive", s->rate);
    if (s->kind != HS_CONSTANT && s->steps <= s->warmup)
        reject(optimizer, "schedule.steps must be more than schedule.warmup", (double)s->steps);
    if (!(s->final >= 0 && s->final <= 1))
        reject(optimizer, "schedule.final must be in [0, 1]", s->final);
    if (s->kind == HS_EXPONENTIAL && s->final == 0)
        reject(optimizer, "schedule.final must be positive", s->final);
    if (!(optimizer->clip_norm >= 0))
        reject(optimizer, "clip_norm must not be negative", optimizer->clip_norm);
}

static hs_optimizer *allocate(hs_params *ps, optimizer_kind kind, int moments)
{
    hs_optimizer *optimizer = hs_alloc_zero(1, sizeof *optimizer);
    if (!optimizer)
        return NULL;
    optimizer->kind = kind;
    optimizer->store = ps;
    optimizer->moments = moments;
    optimizer->norm = 0;
    hs_params_gradients(ps); /* from here on the store keeps its size */
    const size_t bytes = hs_params_bytes(ps);
    bool complete = (optimizer->sums = hs_alloc_zero(block_count(optimizer) + 1,
                                                     sizeof *optimizer->sums)) != NULL;
    for (int i = 0; i < moments && complete; i++)
        complete = (optimizer->moment[i] = hs_alloc_zero(1, bytes)) != NULL;
    if (!complete) {
        hs_optimizer_free(optimizer);
        return NULL;
    }
    return optimizer;
}

static double or_default(double given, double otherwise)
{
    return given != 0 ? given : otherwise;
}

hs_optimizer *hs_sgd_new(hs_params *ps, const hs_sgd_options *options)
{
    const hs_sgd_options given = options ? *options : (hs_sgd_options){ 0 };
    hs_optimizer *optimizer = allocate(ps, OPTIMIZER_SGD, given.momentum != 0 ? 1 : 0);
    if (!optimizer)
        return NULL;
    optimizer->schedule = given.schedule;
    optimizer->schedule.rate = or_default(given.schedule.rate, 1e-2);
    optimizer->numbers.momentum = given.momentum;
    optimizer->numbers.nesterov = given.nesterov;
    optimizer->clip_norm = given.clip_norm;
    optimizer->threads = given.threads;
    check_schedule(optimizer);
    if (!(given.momentum >= 0 && given.momentum < 1))
        reject(optimizer, "momentum must be in [0, 1)", given.momentum);
    if (given.nesterov && given.momentum == 0)
        reject(optimizer, "momentum must be positive with nesterov", given.momentum);
    return optimizer;
}

static hs_optimizer *adam_new(hs_params *ps, optimizer_kind kind, const hs_adam_options *options)
{
    const hs_adam_options given = options ? *options : (hs_adam_options){ 0 };
    hs_optimizer *optimizer = allocate(ps, kind, 2);
    if (!optimizer)
        return NULL;
    optimizer->schedule = given.schedule;
    optimizer->schedule.rate = or_default(given.schedule.rate, 1e-3);
    optimizer->numbers.beta1 = or_default(given.beta1, 0.9);
    optimizer->numbers.beta2 = or_default(given.beta2, 0.999);
    optimizer->numbers.epsilon = or_default(given.epsilon, 1e-8);
    optimizer->weight_decay = kind == OPTIMIZER_ADAMW ? or_default(given.weight_decay, 0.01) : 0;
    optimizer->clip_norm = given.clip_norm;
    optimizer->threads = given.threads;
    check_schedule(optimizer);
    if (!(optimizer->numbers.beta1 > 0 && optimizer->numbers.beta1 < 1))
        reject(optimizer, "beta1 must be in (0, 1)", given.beta1);
    if (!(optimizer->numbers.beta2 > 0 && optimizer->numbers.beta2 < 1))
        reject(optimizer, "beta2 must be in (0, 1)", given.beta2);
    if (!(optimizer->numbers.epsilon > 0))
        reject(optimizer, "epsilon must be positive", given.epsilon);
    if (!(optimizer->weight_decay >= 0))
        reject(optimizer, "weight_decay must not be negative", given.weight_decay);
    if (kind == OPTIMIZER_ADAM && given.weight_decay != 0)
        reject(optimizer, "weight_decay must be 0 (hs_adamw_new() has it)", given.weight_decay);
    return optimizer;
}

hs_optimizer *hs_adam_new(hs_params *ps, const hs_adam_options *options)
{
    return adam_new(ps, OPTIMIZER_ADAM, options);
}

hs_optimizer *hs_adamw_new(hs_params *ps, const hs_adam_options *options)
{
    return adam_new(ps, OPTIMIZER_ADAMW, options);
}

void hs_optimizer_free(hs_optimizer *optimizer)
{
    if (!optimizer)
        return;
    for (int i = 0; i < optimizer->moments; i++)
        hs_free(optimizer->moment[i]);
    hs_free(optimizer->sums);
    hs_free(optimizer);
}

/* ---- Stepping ----------------------------------------------------------------------------- */

typedef struct {
    hs_optimizer *optimizer;
    const optimizer_kernels *kernels;
    char *values, *gradients, *moment[MAX_MOMENTS];
    size_t bytes, element;
} step_work;

/* Bytes and elements of a block. */
static size_t block_at(const step_work *work, int block, size_t *elements)
{
    const size_t first = (size_t)block * BLOCK_BYTES, rest = work->bytes - first;
    *elements = (rest < BLOCK_BYTES ? rest : BLOCK_BYTES) / work->element;
    return first;
}

static void measure_block(int block, void *context)
{
    const step_work *work = context;
    size_t n;
    const size_t first = block_at(work, block, &n);
    work->optimizer->sums[block] = work->kernels->sum_squares(work->gradients + first, n);
}

/* One step of n elements from a place of the vectors on, with a gradient that may be elsewhere. */
static void update(const step_work *work, size_t first, size_t n, const char *gradient)
{
    const hs_optimizer *optimizer = work->optimizer;
    void *moment[MAX_MOMENTS];
    for (int i = 0; i < MAX_MOMENTS; i++)
        moment[i] = work->moment[i] ? work->moment[i] + first : NULL;
    if (optimizer->kind == OPTIMIZER_SGD)
        work->kernels->sgd(&optimizer->numbers, n, work->values + first, gradient, moment[0]);
    else
        work->kernels->adam(&optimizer->numbers, n, work->values + first, gradient, moment[0],
                            moment[1]);
}

static void update_block(int block, void *context)
{
    const step_work *work = context;
    size_t n;
    const size_t first = block_at(work, block, &n);
    update(work, first, n, work->gradients + first);
}

static void prepare_numbers(hs_optimizer *optimizer)
{
    update_numbers *u = &optimizer->numbers;
    const double t = (double)optimizer->steps + 1;
    u->rate = hs_schedule_rate(&optimizer->schedule, optimizer->steps);
    u->correct1 = u->rate / (1 - pow(u->beta1, t));
    u->correct2 = 1 / sqrt(1 - pow(u->beta2, t));
    u->keep = 1 - u->rate * optimizer->weight_decay;
    const bool clip = optimizer->clip_norm > 0 && optimizer->norm > optimizer->clip_norm;
    u->shorten = clip ? optimizer->clip_norm / optimizer->norm : 1;
}

/* ---- Gradients that are factors -------------------------------------------------------------- */

/* One parameter: its gradient is in the vector, or is made of factors where it is used, in a cache. */
enum { SEGMENT = 4096 };

typedef struct {
    const step_work *work;
    const hs_factors *factors; /* or NULL */
    size_t first, numbers;     /* its place in the vectors, and its length with padding */
    size_t parts;
} param_work;

static param_work param_at(const step_work *work, size_t i)
{
    hs_params *ps = work->optimizer->store;
    const hs_param p = hs_params_at(ps, i);
    const hs_shape shape = hs_param_shape(p);
    const size_t bytes = hs_align_up(hs_shape_count(&shape) * work->element);
    param_work one = { .work = work,
                       .factors = hs_params_factors(ps, i),
                       .numbers = bytes / work->element };
    one.first = (size_t)((const char *)hs_param_values(p) - work->values);
    one.parts = one.factors ? one.factors->rows : (one.numbers + SEGMENT - 1) / SEGMENT;
    return one;
}

/* A row of a parameter with factors, or a segment of another. */
static void update_part(int part, void *context)
{
    const param_work *p = context;
    const size_t element = p->work->element, columns = p->factors ? p->factors->columns : SEGMENT;
    const size_t begin = (size_t)part * columns;
    const size_t end = p->factors || p->numbers - begin > columns ? begin + columns : p->numbers;
    if (p->factors && p->work->optimizer->kind != OPTIMIZER_SGD) {
        const size_t place = p->first + begin * element;
        p->work->kernels->adam_row(&p->work->optimizer->numbers, p->factors, (size_t)part,
                                   p->work->values + place, p->work->moment[0] + place,
                                   p->work->moment[1] + place);
        return;
    }
    double made[SEGMENT]; /* of either type */
    for (size_t at = begin; at < end; at += SEGMENT) {
        const size_t n = end - at < SEGMENT ? end - at : SEGMENT, place = p->first + at * element;
        const char *gradient = p->work->gradients + place;
        if (p->factors) {
            p->work->kernels->combine(p->factors, (size_t)part, at - begin, n, made);
            gradient = (const char *)made;
        }
        update(p->work, place, n, gradient);
    }
}

/* The squared norm of a sum of outer products is a sum of products of inner products. */
static double square_of(const param_work *p)
{
    const optimizer_kernels *kernels = p->work->kernels;
    const hs_factors *f = p->factors;
    if (!f)
        return kernels->sum_squares(p->work->gradients + p->first, p->numbers);
    double sum = 0;
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; k < f->count; k++)
            sum += kernels->dot(f->a[i], f->a[k], f->rows) *
                   kernels->dot(f->b[i], f->b[k], f->columns);
    return sum < 0 ? 0 : sum; /* rounding may leave less than nothing */
}

/* Whether any gradient is factors. */
static bool has_factors(const hs_params *ps)
{
    for (size_t i = 0; i < hs_params_count(ps); i++)
        if (hs_params_factors(ps, i))
            return true;
    return false;
}

static double measure(step_work *work, int threads, int blocks)
{
    double sum = 0;
    if (has_factors(work->optimizer->store)) {
        for (size_t i = 0; i < hs_params_count(work->optimizer->store); i++) {
            const param_work p = param_at(work, i);
            sum += square_of(&p);
        }
        return sum;
    }
    hs_parallel_for(threads, blocks, measure_block, work);
    for (int i = 0; i < blocks; i++)
        sum += work->optimizer->sums[i];
    return sum;
}

static void update_all(step_work *work, int threads, int blocks)
{
    if (!has_factors(work->optimizer->store)) {
        hs_parallel_for(threads, blocks, update_block, work);
        return;
    }
    for (size_t i = 0; i < hs_params_count(work->optimizer->store); i++) {
        param_work p = param_at(work, i);
        const size_t few = 8; /* parts that are not worth a second thread */
        hs_parallel_for(p.parts > few ? threads : 1, (int)p.parts, update_part, &p);
    }
}

hs_status hs_optimizer_step(hs_optimizer *optimizer)
{
    if (!optimizer)
        return HS_ENOMEM;
    hs_params *ps = optimizer->store;
    if (optimizer->broken)
        return optimizer->status;
    if (hs_params_status(ps) != HS_OK)
        return report(optimizer, hs_params_status(ps), "parameter store: %s", hs_params_error(ps));
    report(optimizer, HS_OK, "%s", "");
    const hs_dtype dtype = hs_params_dtype(ps);
    step_work work = { .optimizer = optimizer,
                       .kernels = optimizer_table[hs_cpu_isa()][dtype],
                       .values = hs_params_values(ps),
                       .gradients = hs_params_gradients(ps),
                       .moment = { optimizer->moment[0], optimizer->moment[1] },
                       .bytes = hs_params_bytes(ps),
                       .element = hs_dtype_size(dtype) };
    const int blocks = (int)block_count(optimizer);
    const int wanted = optimizer->threads > 0 ? optimizer->threads : hs_threads_default();
    const int threads = hs_pace_begin(&optimizer->pace, blocks <= FEW_BLOCKS ? 1 : wanted);
    optimizer->norm = sqrt(measure(&work, threads, blocks));
    if (!isfinite(optimizer->norm))
        return report(optimizer, HS_ENONFINITE,
                      "%s: the norm of the gradient is %g at step %llu; nothing was changed",
                      hs_optimizer_name(optimizer), optimizer->norm,
                      (unsigned long long)optimizer->steps);
    prepare_numbers(optimizer);
    update_all(&work, threads, blocks);
    hs_pace_end(&optimizer->pace);
    optimizer->steps++;
    return HS_OK;
}

/* ---- Looking ------------------------------------------------------------------------------ */

const char *hs_optimizer_error(const hs_optimizer *optimizer)
{
    return optimizer ? optimizer->error : "out of memory: there is no optimiser";
}

const char *hs_optimizer_name(const hs_optimizer *optimizer)
{
    static const char *const names[] = { "none", "sgd", "adam", "adamw" };
    return names[optimizer ? optimizer->kind : 0];
}

uint64_t hs_optimizer_steps(const hs_optimizer *optimizer)
{
    return optimizer ? optimizer->steps : 0;
}

double hs_optimizer_rate(const hs_optimizer *optimizer)
{
    return optimizer ? hs_schedule_rate(&optimizer->schedule, optimizer->steps) : 0;
}

double hs_optimizer_norm(const hs_optimizer *optimizer)
{
    return optimizer ? optimizer->norm : 0;
}
