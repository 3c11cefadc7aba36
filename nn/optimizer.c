#include "optimizer_internal.h"

#include <fnmatch.h>
#include <math.h>

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/threads.h>

HS_KERNEL_TABLE(optimizer_kernels, optimizer);

/* Blocks are the unit of work and of summation: their size is part of the numeric contract. A few
 * of them take less time than waking other threads. */
enum { BLOCK_BYTES = 1 << 16, FEW_BLOCKS = 4 };

static size_t block_count(const hs_optimizer *optimizer)
{
    return (hs_params_bytes(optimizer->store) + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

/* Assigns each parameter to the first group that matches its name. */
static hs_status make_groups(hs_optimizer *optimizer, const hs_param_group *given, size_t n)
{
    hs_params *ps = optimizer->store;
    const char *who = hs_optimizer_name(optimizer);
    optimizer->group[0] = (update_group){ .rate = 1 };
    for (size_t k = 0; k < n; k++) {
        const hs_param_group *g = &given[k];
        if (!g->match || !(g->rate >= 0 && isfinite(g->rate)))
            return hs_message_fail(&optimizer->error, HS_EINVAL,
                                   "%s: group %zu needs names to match, and a rate of 0 or more; "
                                   "it has \"%.60s\" and %g",
                                   who, k, g->match ? g->match : "", g->rate);
        optimizer->group[k + 1] = (update_group){ .rate = g->rate > 0 ? g->rate : 1,
                                                  .frozen = g->frozen,
                                                  .no_decay = g->no_decay };
        size_t taken = 0;
        for (size_t i = 0; i < hs_params_count(ps); i++)
            if (!optimizer->group_of[i] &&
                !fnmatch(g->match, hs_param_name(hs_params_at(ps, i)), 0)) {
                optimizer->group_of[i] = (uint32_t)k + 1;
                taken++;
            }
        if (!taken)
            return hs_message_fail(&optimizer->error, HS_EINVAL,
                                   "%s: group %zu, \"%.60s\", has none of the %zu parameters: they "
                                   "are \"%.60s\" and so on, or belong to a group before it",
                                   who, k, g->match, hs_params_count(ps),
                                   hs_param_name(hs_params_at(ps, 0)));
        optimizer->grouped = true;
        optimizer->freezes |= g->frozen;
    }
    return HS_OK;
}

hs_optimizer *hs_optimizer_new(hs_params *ps, const hs_optimizer_options *options)
{
    hs_optimizer *optimizer = hs_alloc_zero(1, sizeof *optimizer);
    if (!optimizer)
        return NULL;
    hs_optimizer_options *o = &optimizer->options;
    optimizer->store = ps;
    optimizer->broken = hs_optimizer_check(options, o, &optimizer->error);
    if (optimizer->broken)
        return optimizer;
    optimizer->kind = hs__optimizer_find(o->name);
    const hs_optimizer_entry *entry = hs_optimizer_list((size_t)optimizer->kind - 1);
    optimizer->moments = o->momentum != 0 ? entry->most : entry->least;
    hs_params_gradients(ps); /* from here on the store keeps its size */
    optimizer->sums = hs_alloc_zero(block_count(optimizer) + 1, sizeof *optimizer->sums);
    optimizer->group = hs_alloc_zero(o->n_groups + 1, sizeof *optimizer->group);
    optimizer->group_of = hs_alloc_zero(hs_params_count(ps) + 1, sizeof *optimizer->group_of);
    bool complete = optimizer->sums && optimizer->group && optimizer->group_of;
    for (int i = 0; i < optimizer->moments && complete; i++)
        complete = (optimizer->moment[i] = hs_alloc_zero(1, hs_params_bytes(ps))) != NULL;
    if (!complete) {
        hs_optimizer_free(optimizer);
        return NULL;
    }
    optimizer->broken = make_groups(optimizer, o->groups, o->n_groups);
    return optimizer;
}

void hs_optimizer_free(hs_optimizer *optimizer)
{
    if (!optimizer)
        return;
    for (int i = 0; i < optimizer->moments; i++)
        hs_free(optimizer->moment[i]);
    hs_free(optimizer->sums);
    hs_free(optimizer->group);
    hs_free(optimizer->group_of);
    hs_free(optimizer);
}

typedef struct {
    hs_optimizer *optimizer;
    const optimizer_kernels *kernels;
    char *values, *gradients;
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

/* The moments from a place of the vectors on. */
static void moments_at(const hs_optimizer *optimizer, size_t first, void *moment[MAX_MOMENTS])
{
    for (int i = 0; i < MAX_MOMENTS; i++)
        moment[i] = optimizer->moment[i] ? (char *)optimizer->moment[i] + first : NULL;
}

static void update(const step_work *work, const update_numbers *numbers, size_t first, size_t n)
{
    void *moment[MAX_MOMENTS];
    moments_at(work->optimizer, first, moment);
    work->kernels->update[work->optimizer->kind](numbers, n, work->values + first,
                                                 work->gradients + first, moment);
}

static void update_block(int block, void *context)
{
    const step_work *work = context;
    size_t n;
    const size_t first = block_at(work, block, &n);
    update(work, &work->optimizer->group[0].numbers, first, n);
}

static void prepare_numbers(hs_optimizer *optimizer, update_group *group, double rate)
{
    const hs_optimizer_options *o = &optimizer->options;
    update_numbers *u = &group->numbers;
    const double t = (double)optimizer->steps + 1;
    *u = (update_numbers){
#define HS_NUMBER(name, ...) .name = o->name,
#include "optimizers.def"
        .rate = rate * group->rate,
    };
    u->correct1 = u->rate / (1 - pow(u->beta1, t));
    u->correct2 = 1 / sqrt(1 - pow(u->beta2, t));
    u->keep = group->no_decay ? 1 : 1 - u->rate * u->weight_decay;
    const bool clip = o->clip_norm > 0 && optimizer->norm > o->clip_norm;
    u->shorten = clip ? o->clip_norm / optimizer->norm : 1;
}

/* One parameter: its gradient is in the vector, or is made of factors where it is used, in a cache. */
enum { SEGMENT = 4096 };

typedef struct {
    const step_work *work;
    const update_group *group;
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
                       .group = &work->optimizer->group[work->optimizer->group_of[i]],
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
    const step_work *work = p->work;
    const size_t begin = (size_t)part * (p->factors ? p->factors->columns : SEGMENT);
    const size_t rest = p->numbers - begin, place = p->first + begin * work->element;
    if (!p->factors) {
        update(work, &p->group->numbers, place, rest < SEGMENT ? rest : SEGMENT);
        return;
    }
    void *moment[MAX_MOMENTS];
    moments_at(work->optimizer, place, moment);
    work->kernels->update_row[work->optimizer->kind](&p->group->numbers, p->factors, (size_t)part,
                                                     work->values + place, moment);
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
    if (work->optimizer->freezes || has_factors(work->optimizer->store)) {
        for (size_t i = 0; i < hs_params_count(work->optimizer->store); i++) {
            const param_work p = param_at(work, i);
            sum += p.group->frozen ? 0 : square_of(&p);
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
    if (!work->optimizer->grouped && !has_factors(work->optimizer->store)) {
        hs_parallel_for(threads, blocks, update_block, work);
        return;
    }
    for (size_t i = 0; i < hs_params_count(work->optimizer->store); i++) {
        param_work p = param_at(work, i);
        const size_t few = 8; /* parts that are not worth a second thread */
        if (!p.group->frozen)
            hs_parallel_for(p.parts > few ? threads : 1, (int)p.parts, update_part, &p);
    }
}

hs_status hs_optimizer_step(hs_optimizer *optimizer)
{
    if (!optimizer)
        return HS_ENOMEM;
    hs_params *ps = optimizer->store;
    const hs_optimizer_options *o = &optimizer->options;
    if (optimizer->broken)
        return optimizer->broken;
    if (hs_params_status(ps) != HS_OK)
        return hs_message_fail(&optimizer->error, hs_params_status(ps), "parameter store: %s",
                               hs_params_error(ps));
    hs_message_clear(&optimizer->error);
    const double rate = hs_optimizer_rate(optimizer);
    if (!(rate >= 0 && isfinite(rate)))
        return hs_message_fail(&optimizer->error, HS_EINVAL,
                               "%s: schedule.function makes the rate %g at step %llu; it must be "
                               "finite and not negative",
                               o->name, rate, (unsigned long long)optimizer->steps);
    const hs_dtype dtype = hs_params_dtype(ps);
    step_work work = { .optimizer = optimizer,
                       .kernels = optimizer_table[hs_cpu_isa()][dtype],
                       .values = hs_params_values(ps),
                       .gradients = hs_params_gradients(ps),
                       .bytes = hs_params_bytes(ps),
                       .element = hs_dtype_size(dtype) };
    const int blocks = (int)block_count(optimizer);
    const int wanted = o->threads > 0 ? o->threads : hs_threads_default();
    const int threads = hs_pace_begin(&optimizer->pace, blocks <= FEW_BLOCKS ? 1 : wanted);
    optimizer->norm = sqrt(measure(&work, threads, blocks));
    if (!isfinite(optimizer->norm))
        return hs_message_fail(
            &optimizer->error, HS_ENONFINITE,
            "%s: the norm of the gradient is %g at step %llu; nothing was changed", o->name,
            optimizer->norm, (unsigned long long)optimizer->steps);
    for (size_t k = 0; k <= o->n_groups; k++)
        prepare_numbers(optimizer, &optimizer->group[k], rate);
    update_all(&work, threads, blocks);
    hs_pace_end(&optimizer->pace);
    optimizer->steps++;
    return HS_OK;
}

const char *hs_optimizer_error(const hs_optimizer *optimizer)
{
    return optimizer ? optimizer->error.text : "out of memory: there is no optimiser";
}

const char *hs_optimizer_name(const hs_optimizer *optimizer)
{
    return optimizer && optimizer->kind ? optimizer->options.name : "none";
}

uint64_t hs_optimizer_steps(const hs_optimizer *optimizer)
{
    return optimizer ? optimizer->steps : 0;
}

double hs_schedule_rate(const hs_schedule *schedule, double rate, uint64_t step)
{
    static const double pi = 3.14159265358979323846;
    const uint64_t warmup = schedule->warmup, steps = schedule->steps;
    if (schedule->function)
        return rate * schedule->function(step, schedule->context);
    if (step < warmup)
        return rate * ((double)step + 1) / (double)warmup;
    if (schedule->kind == HS_CONSTANT)
        return rate;
    const double part = step < steps ? (double)(step - warmup) / (double)(steps - warmup) : 1;
    if (schedule->kind == HS_EXPONENTIAL)
        return rate * pow(schedule->final, part);
    const double fraction = 0.5 * (1 + cos(pi * part));
    return rate * (schedule->final + (1 - schedule->final) * fraction);
}

double hs_optimizer_rate(const hs_optimizer *optimizer)
{
    const hs_optimizer_options *o = optimizer ? &optimizer->options : NULL;
    return o ? hs_schedule_rate(&o->schedule, o->rate, optimizer->steps) : 0;
}

double hs_optimizer_norm(const hs_optimizer *optimizer)
{
    return optimizer ? optimizer->norm : 0;
}
