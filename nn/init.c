#include "params_internal.h"

#include <math.h>

#include <hastings/tensor/number.h>
#include <hastings/tensor/random.h>
#include <hastings/tensor/threads.h>

static hs_init init_of(hs_init_kind kind, double number)
{
    return (hs_init){ .kind = kind, .number = number };
}

hs_init hs_init_zero(void)
{
    return init_of(HS_INIT_CONSTANT, 0);
}

hs_init hs_init_constant(double value)
{
    return init_of(HS_INIT_CONSTANT, value);
}

hs_init hs_init_values(const double *values)
{
    return (hs_init){ .kind = HS_INIT_VALUES, .values = values };
}

hs_init hs_init_normal(double sd)
{
    return init_of(HS_INIT_NORMAL, sd);
}

hs_init hs_init_uniform(double half_width)
{
    return init_of(HS_INIT_UNIFORM, half_width);
}

hs_init hs_init_lecun(void)
{
    return init_of(HS_INIT_LECUN, 0);
}

hs_init hs_init_he(void)
{
    return init_of(HS_INIT_HE, 0);
}

hs_init hs_init_glorot(void)
{
    return init_of(HS_INIT_GLOROT, 0);
}

hs_init hs_init_scaled(hs_init init, double factor)
{
    if (factor == 0) /* a zero factor field means one */
        return hs_init_zero();
    init.factor = (init.factor != 0 ? init.factor : 1) * factor;
    return init;
}

/* Element e is the draw at row e / DRAW_COLUMNS, column e % DRAW_COLUMNS, made in double and then
 * rounded: both number types start from the same point. */
enum { DRAW_COLUMNS = 1024, DRAW_STREAM = 32767 };

/* Rows of draws in a part: enough work for a thread. */
enum { PART_ROWS = 256 };

typedef struct {
    hs_dtype dtype;
    hs_distribution distribution;
    double scale;
    size_t count;
    hs_address address;
    void *out;
} drawing;

static void fill_part(int part, void *context)
{
    const drawing *d = context;
    const size_t begin = (size_t)part * PART_ROWS * DRAW_COLUMNS, left = d->count - begin;
    const size_t end = begin + (left < PART_ROWS * DRAW_COLUMNS ? left : PART_ROWS * DRAW_COLUMNS);
    double draw[DRAW_COLUMNS];
    for (size_t first = begin; first < end; first += DRAW_COLUMNS) {
        const size_t n = end - first < DRAW_COLUMNS ? end - first : DRAW_COLUMNS;
        hs_random_rows(HS_F64, d->distribution, d->address, (uint32_t)(first / DRAW_COLUMNS), 1, n,
                       draw);
        for (size_t i = 0; i < n; i++)
            draw[i] = d->scale * (d->distribution == HS_UNIFORM ? 2 * draw[i] - 1 : draw[i]);
        hs_numbers_set(d->dtype, (char *)d->out + first * hs_dtype_size(d->dtype), n, draw);
    }
}

static void fill_drawn(drawing *d)
{
    const size_t parts = (d->count + PART_ROWS * DRAW_COLUMNS - 1) / (PART_ROWS * DRAW_COLUMNS);
    hs_parallel_for(hs_threads_default(), (int)parts, fill_part, d);
}

hs_status hs__init_fill(const hs_init *init, hs_dtype dtype, const hs_shape *shape, uint64_t seed,
                        uint64_t hash, void *out)
{
    const size_t count = hs_shape_count(shape);
    const double fan_out = shape->rank > 1 ? (double)shape->dim[0] : 1;
    const double fan_in = init->fan_in ? (double)init->fan_in : (double)count / fan_out;
    const double factor = init->factor != 0 ? init->factor : 1;
    hs_distribution distribution = HS_UNIFORM;
    double scale = init->number;
    switch (init->kind) {
    case HS_INIT_CONSTANT:
    case HS_INIT_VALUES:
        if (init->kind == HS_INIT_VALUES && !init->values)
            return HS_EINVAL;
        for (size_t i = 0; i < count && (init->values || init->number != 0); i++) {
            const double value = factor * (init->values ? init->values[i] : init->number);
            hs_number_set(dtype, out, i, value);
        }
        return HS_OK;
    case HS_INIT_NORMAL:
        distribution = HS_NORMAL;
        break;
    case HS_INIT_UNIFORM:
        break;
    case HS_INIT_DEFAULT:
    case HS_INIT_LECUN:
        scale = 1 / sqrt(fan_in);
        break;
    case HS_INIT_HE:
        distribution = HS_NORMAL;
        scale = sqrt(2 / fan_in);
        break;
    case HS_INIT_GLOROT:
        scale = sqrt(6 / (fan_in + fan_out));
        break;
    default:
        return HS_EINVAL;
    }
    if (!isfinite(scale * factor) || scale < 0)
        return HS_EINVAL;
    fill_drawn(&(drawing){ .dtype = dtype,
                           .distribution = distribution,
                           .scale = scale * factor,
                           .count = count,
                           .address = { .seed = seed, .stream = DRAW_STREAM, .step = hash >> 16 },
                           .out = out });
    return HS_OK;
}
