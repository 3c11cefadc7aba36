#include "params_internal.h"

#include <stdarg.h>
#include <string.h>

#include <hastings/autograd/ops.h>
#include <hastings/tensor/number.h>

hs_params *hs_params_new(hs_dtype dtype, uint64_t seed)
{
    hs_params *ps = hs_alloc_zero(1, sizeof *ps);
    if (ps) {
        ps->dtype = dtype;
        ps->seed = seed;
    }
    return ps;
}

void hs_params_free(hs_params *ps)
{
    if (!ps)
        return;
    hs_arena_free(&ps->names);
    hs_free(ps->entry);
    hs_free(ps->values);
    hs_params_forget_factors(ps);
    hs_free(ps->gradients);
    hs_free(ps);
}

hs_status hs_params_status(const hs_params *ps)
{
    return ps ? ps->status : HS_ENOMEM;
}

const char *hs_params_error(const hs_params *ps)
{
    return ps ? ps->error : "out of memory: there is no parameter store";
}

hs_param hs_params_fail(hs_params *ps, hs_status status, const char *format, ...)
{
    if (ps && ps->status == HS_OK) {
        ps->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(ps->error, sizeof ps->error, format, arguments);
        va_end(arguments);
    }
    return (hs_param){ ps, -1 };
}

/* FNV-1a. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return hash;
}

static int32_t find_index(const hs_params *ps, const char *name, uint64_t hash)
{
    for (size_t i = 0; i < ps->count; i++)
        if (ps->entry[i].hash == hash && strcmp(ps->entry[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

/* Room for one more entry, and for `bytes` more bytes of values. */
static bool reserve(hs_params *ps, size_t bytes)
{
    if (ps->count == ps->capacity) {
        const size_t capacity = ps->capacity ? 2 * ps->capacity : 16;
        param_entry *grown =
            hs_grow(ps->entry, ps->count * sizeof *grown, capacity * sizeof *grown);
        if (!grown)
            return false;
        ps->entry = grown;
        ps->capacity = capacity;
    }
    const size_t need = ps->bytes + bytes;
    if (need > ps->bytes_capacity) {
        const size_t twice = 2 * ps->bytes_capacity;
        const size_t capacity = need > twice ? need : twice;
        void *grown = hs_grow(ps->values, ps->bytes, capacity);
        if (!grown)
            return false;
        ps->values = grown;
        ps->bound = grown;
        ps->bytes_capacity = capacity;
    }
    return true;
}

hs_param hs_params_add(hs_params *ps, const char *name, hs_shape shape, hs_init init)
{
    if (!ps || ps->status != HS_OK)
        return (hs_param){ ps, -1 };
    if (!name || !*name)
        return hs_params_fail(ps, HS_EINVAL, "a parameter needs a name");
    const size_t length = strlen(name);
    if (length > HS_NAME_LENGTH)
        return hs_params_fail(ps, HS_EINVAL,
                              "parameter name \"%.40s...\" has %zu characters; at most %d fit",
                              name, length, (int)HS_NAME_LENGTH);
    if (ps->gradients)
        return hs_params_fail(ps, HS_EINVAL,
                              "parameter \"%s\" comes too late: a plan or an optimiser already "
                              "uses the store; add all parameters first, or use another store",
                              name);
    const uint64_t hash = hash_of(name);
    if (find_index(ps, name, hash) >= 0)
        return hs_params_fail(ps, HS_EINVAL, "there already is a parameter \"%s\"", name);
    if (!hs_shape_valid(&shape)) {
        char text[HS_SHAPE_TEXT];
        return hs_params_fail(ps, HS_ESHAPE, "parameter \"%s\" cannot have shape %s", name,
                              hs_shape_text(&shape, text));
    }
    const size_t count = hs_shape_count(&shape);
    const size_t bytes = hs_align_up(count * hs_dtype_size(ps->dtype));
    if (bytes > (size_t)PTRDIFF_MAX / 4 - ps->bytes || ps->count >= INT32_MAX)
        return hs_params_fail(ps, HS_EOVERFLOW, "no room for parameter \"%s\": size too large",
                              name);
    const char *copy = reserve(ps, bytes) ? hs_arena_string(&ps->names, name) : NULL;
    if (!copy) {
        hs_message message;
        (void)hs_memory_fail(&message, bytes, "out of memory for parameter \"%s\"", name);
        return hs_params_fail(ps, HS_ENOMEM, "%s", message.text);
    }
    void *values = (char *)ps->values + ps->bytes;
    memset(values, 0, bytes);
    if (hs__init_fill(&init, ps->dtype, &shape, ps->seed, hash, values) != HS_OK)
        return hs_params_fail(ps, HS_EINVAL, "parameter \"%s\" has an invalid initialiser", name);
    ps->entry[ps->count] = (param_entry){ copy, hash, shape, count, ps->bytes };
    ps->bytes += bytes;
    ps->size += count;
    return (hs_param){ ps, (int32_t)ps->count++ };
}

hs_dtype hs_params_dtype(const hs_params *ps)
{
    return ps ? ps->dtype : HS_F64;
}

size_t hs_params_count(const hs_params *ps)
{
    return ps ? ps->count : 0;
}

size_t hs_params_size(const hs_params *ps)
{
    return ps ? ps->size : 0;
}

size_t hs_params_bytes(const hs_params *ps)
{
    return ps ? ps->bytes : 0;
}

hs_param hs_params_at(hs_params *ps, size_t i)
{
    return (hs_param){ ps, i < hs_params_count(ps) ? (int32_t)i : -1 };
}

hs_param hs_params_find(hs_params *ps, const char *name)
{
    return (hs_param){ ps, ps ? find_index(ps, name, hash_of(name)) : -1 };
}

void *hs_params_values(hs_params *ps)
{
    return ps && ps->count ? ps->values : NULL;
}

void *hs_params_gradients(hs_params *ps)
{
    if (!ps || !ps->count)
        return NULL;
    if (!ps->gradients) {
        ps->gradients = hs_alloc_zero(1, ps->bytes);
        if (!ps->gradients) {
            hs_message message;
            (void)hs_memory_fail(&message, ps->bytes, "out of memory for gradients");
            hs_params_fail(ps, HS_ENOMEM, "%s", message.text);
        }
    }
    return ps->gradients;
}

static const param_entry *entry_of(hs_param p)
{
    const bool exists = p.store && p.index >= 0 && (size_t)p.index < p.store->count;
    return exists ? &p.store->entry[p.index] : NULL;
}

const char *hs_param_name(hs_param p)
{
    const param_entry *entry = entry_of(p);
    return entry ? entry->name : "";
}

hs_shape hs_param_shape(hs_param p)
{
    const param_entry *entry = entry_of(p);
    return entry ? entry->shape : hs_shape_of(NULL, -1);
}

void *hs_param_values(hs_param p)
{
    const param_entry *entry = entry_of(p);
    return entry ? (char *)p.store->values + entry->offset : NULL;
}

void *hs_param_gradients(hs_param p)
{
    const param_entry *entry = entry_of(p);
    char *gradients = entry ? hs_params_gradients(p.store) : NULL;
    return gradients ? gradients + entry->offset : NULL;
}

void hs_param_get(hs_param p, double *values)
{
    const param_entry *entry = entry_of(p);
    if (entry)
        hs_numbers_get(p.store->dtype, hs_param_values(p), entry->count, values);
}

void hs_param_set(hs_param p, const double *values)
{
    const param_entry *entry = entry_of(p);
    if (entry)
        hs_numbers_set(p.store->dtype, hs_param_values(p), entry->count, values);
}

static void get_all(const hs_params *ps, const void *vector, double *to)
{
    for (size_t i = 0; i < ps->count; i++) {
        const param_entry *entry = &ps->entry[i];
        if (vector)
            hs_numbers_get(ps->dtype, (const char *)vector + entry->offset, entry->count, to);
        else /* nobody has asked for the gradients yet */
            memset(to, 0, entry->count * sizeof *to);
        to += entry->count;
    }
}

void hs_params_get(const hs_params *ps, double *values)
{
    if (ps)
        get_all(ps, ps->values, values);
}

void hs_params_get_gradients(const hs_params *ps, double *gradients)
{
    if (ps)
        get_all(ps, ps->gradients, gradients);
    for (size_t i = 0; i < hs_params_count(ps); gradients += ps->entry[i++].count) {
        const hs_factors *f = hs_params_factors(ps, i);
        for (size_t r = 0; f && r < f->rows; r++)
            for (size_t c = 0; c < f->columns; c++) {
                double sum = 0;
                for (size_t k = 0; k < f->count; k++)
                    sum +=
                        hs_number_get(ps->dtype, f->a[k], r) * hs_number_get(ps->dtype, f->b[k], c);
                gradients[r * f->columns + c] = sum;
            }
    }
}

void hs_params_set(hs_params *ps, const double *values)
{
    for (size_t i = 0; i < hs_params_count(ps); i++) {
        hs_param_set(hs_params_at(ps, i), values);
        values += ps->entry[i].count;
    }
}

hs_var hs_param_var_at(hs_tape *tape, hs_param p, const char *at)
{
    if (hs_params_status(p.store) != HS_OK)
        return hs_tape_fail(tape, hs_params_status(p.store), at, "parameter store: %s",
                            hs_params_error(p.store));
    const param_entry *entry = entry_of(p);
    if (!entry)
        return hs_tape_fail(tape, HS_EINVAL, at, "there is no such parameter (index %d of %zu)",
                            (int)p.index, p.store->count);
    if (tape && hs_tape_dtype(tape) != p.store->dtype)
        return hs_tape_fail(
            tape, HS_EDTYPE, at, "parameter \"%s\" is in a store of %s, but the tape is of %s",
            entry->name, hs_dtype_name(p.store->dtype), hs_dtype_name(hs_tape_dtype(tape)));
    return hs_bound_at(tape, entry->name, entry->shape, &p.store->bound, entry->offset, at);
}

typedef struct {
    hs_var *parameter; /* n */
    hs_var *output;    /* 1 + n_more + n: loss, more, gradients */
    void **into;       /* likewise */
} plan_lists;

static hs_status plan_with(const plan_lists *lists, hs_plan **plan, hs_var loss, hs_params *ps,
                           const hs_var *more, size_t n_more, const hs_plan_options *options,
                           const char *at)
{
    const size_t n = ps->count, before = 1 + n_more;
    lists->output[0] = loss;
    for (size_t i = 0; i < n_more; i++)
        lists->output[1 + i] = more[i];
    for (size_t i = 0; i < before; i++)
        lists->into[i] = options && options->into ? options->into[i] : NULL;
    for (size_t i = 0; i < n; i++) {
        lists->parameter[i] = hs_param_var_at(loss.tape, hs_params_at(ps, i), at);
        lists->into[before + i] = (char *)ps->gradients + ps->entry[i].offset;
    }
    hs_grad_at(loss, lists->parameter, n, lists->output + before, at);
    hs_plan_options with = options ? *options : (hs_plan_options){ 0 };
    with.into = lists->into;
    const hs_status status = hs_plan_new(plan, lists->output, before + n, &with);
    hs_params_forget_factors(ps);
    if (status || !with.factors)
        return status;
    ps->factors = hs_alloc_zero(n, sizeof *ps->factors);
    for (size_t i = 0; ps->factors && i < n; i++)
        ps->factors[i] = hs_plan_factors(*plan, lists->output[before + i]);
    if (!ps->factors) {
        hs_message_fail(with.message, HS_ENOMEM, "%s: out of memory", at);
        hs_plan_free(*plan);
        *plan = NULL;
    }
    return ps->factors ? HS_OK : HS_ENOMEM;
}

const hs_factors *hs_params_factors(const hs_params *ps, size_t i)
{
    return ps && ps->factors && i < ps->count ? ps->factors[i] : NULL;
}

void hs_params_forget_factors(hs_params *ps)
{
    if (ps) {
        hs_free(ps->factors);
        ps->factors = NULL;
    }
}

hs_status hs_params_plan_at(hs_plan **plan, hs_var loss, hs_params *ps, const hs_var *more,
                            size_t n_more, const hs_plan_options *options, const char *at)
{
    *plan = NULL;
    hs_tape *tape = loss.tape;
    hs_message *message = options ? options->message : NULL;
    if (hs_tape_status(tape) != HS_OK)
        return hs_message_fail(message, hs_tape_status(tape), "%s", hs_tape_error(tape));
    hs_params_gradients(ps);
    const hs_shape shape = hs_var_shape(loss);
    if (hs_params_status(ps) != HS_OK) {
        hs_tape_fail(tape, hs_params_status(ps), at, "parameter store: %s", hs_params_error(ps));
    } else if (!ps->count) {
        hs_tape_fail(tape, HS_EINVAL, at, "the parameter store is empty");
    } else if (hs_var_extent(loss) != HS_SHARED) {
        hs_tape_fail(tape, HS_EEXTENT, at,
                     "the loss has extent %s, but must be shared: end it with hs_mean_rows()",
                     hs_extent_name(hs_var_extent(loss)));
    } else if (hs_shape_count(&shape) != 1) {
        char text[HS_SHAPE_TEXT];
        hs_tape_fail(tape, HS_ESHAPE, at, "the loss has shape %s, but must be one number",
                     hs_shape_text(&shape, text));
    }
    if (hs_tape_status(tape) != HS_OK)
        return hs_message_fail(message, hs_tape_status(tape), "%s", hs_tape_error(tape));

    const size_t outputs = 1 + n_more + ps->count;
    const plan_lists lists = {
        .parameter = hs_alloc_zero(ps->count, sizeof(hs_var)),
        .output = hs_alloc_zero(outputs, sizeof(hs_var)),
        .into = hs_alloc_zero(outputs, sizeof(void *)),
    };
    hs_status status = HS_ENOMEM;
    if (lists.parameter && lists.output && lists.into)
        status = plan_with(&lists, plan, loss, ps, more, n_more, options, at);
    else
        hs_message_fail(message, HS_ENOMEM, "%s: out of memory for a plan of %zu outputs", at,
                        outputs);
    hs_free(lists.parameter);
    hs_free(lists.output);
    hs_free(lists.into);
    return status;
}
