/* A case with a loss and a gradient at given inputs, or what chains run on, as files. */
#include "cases.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include <hastings/tensor/file.h>

enum { MANY = 50000000 }; /* parameters that are treated with care for memory */

static bool write_npy(const char *folder, const char *name, const char *type, const size_t *shape,
                      int rank, const void *data)
{
    char path[4200], text[128], dims[64] = "";
    size_t numbers = 1, used = 0;
    for (int i = 0; i < rank; i++) {
        numbers *= shape[i];
        used += (size_t)snprintf(dims + used, sizeof dims - used, "%zu,", shape[i]);
    }
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    const int length = snprintf(
        text, sizeof text, "{'descr': '<%s', 'fortran_order': False, 'shape': (%s), }", type, dims);
    unsigned char header[128] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0 };
    memset(header + 10, ' ', 118);
    memcpy(header + 10, text, (size_t)length);
    header[127] = '\n';
    const size_t size = strcmp(type, "f4") == 0 ? 4 : 8;
    hs_message message;
    hs_file file;
    hs_file_create(&file, path, &message);
    hs_file_put(&file, header, sizeof header);
    hs_file_put(&file, data, size * numbers);
    const bool ok = hs_file_commit(&file) == HS_OK;
    if (!ok)
        fprintf(stderr, "%s\n", message.text);
    return ok;
}

/* Parameters or gradients, in their own type if there are very many. */
static bool write_params(const char *folder, const char *name, hs_params *ps, bool gradients)
{
    const size_t n = hs_params_size(ps);
    double *values = hs_alloc(n * sizeof *values);
    if (!values)
        return false;
    if (gradients)
        hs_params_get_gradients(ps, values);
    else
        hs_params_get(ps, values);
    const bool narrow = n > MANY;
    for (size_t i = 0; narrow && i < n;
         i++) { /* in place: each is read before it is written over */
        const float x = (float)values[i];
        memcpy((char *)values + i * sizeof x, &x, sizeof x);
    }
    const bool ok = write_npy(folder, name, narrow ? "f4" : "f8", &n, 1, values);
    hs_free(values);
    return ok;
}

/* Data, labels and points to start from, if the target is of data. */
static bool write_data(const char *folder, const problem *p)
{
    const hs_dataset *data = p->data;
    const size_t own = hs_target_dim(p->plain);
    return !data ||
           (write_npy(folder, "data", "f8", (size_t[]){ data->rows, data->columns }, 2, data->x) &&
            write_npy(folder, "labels", "f8", &data->rows, 1, data->y) &&
            write_npy(folder, "points", "f8", (size_t[]){ p->n_points, own }, 2, p->points));
}

/* What it is, with the proposal's parameters unless `ps` is NULL; `objective` is NULL if there is no loss. */
static bool write_facts(const char *folder, const bench_case *c, const char *kind,
                        const hs_target *target, hs_params *ps, const char *objective,
                        hs_dtype dtype, double loss)
{
    json_t *parameters = json_array();
    for (size_t i = 0; ps && i < hs_params_count(ps); i++) {
        const hs_shape shape = hs_param_shape(hs_params_at(ps, i));
        json_t *sides = json_array();
        for (int k = 0; k < shape.rank; k++)
            json_array_append_new(sides, json_integer((json_int_t)shape.dim[k]));
        json_array_append_new(
            parameters,
            json_pack("{s:s, s:o}", "name", hs_param_name(hs_params_at(ps, i)), "shape", sides));
    }
    json_t *facts = json_pack(
        "{s:s, s:s, s:s, s:s?, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:o, s:f}",
        "case", c->name, "kind", kind, "target", c->target, "objective", objective, "dtype",
        hs_dtype_name(dtype), "starts", (json_int_t)c->starts, "proposals",
        (json_int_t)c->proposals, "dim", (json_int_t)hs_target_dim(target), "original_dim",
        (json_int_t)hs_target_original_dim(target), "couplings", (json_int_t)c->couplings, "width",
        (json_int_t)c->width, "depth", (json_int_t)c->depth, "coupling_width",
        (json_int_t)(c->coupling_width ? c->coupling_width : c->width), "coupling_depth",
        (json_int_t)(c->coupling_depth ? c->coupling_depth : c->depth), "components",
        strcmp(kind, "mixture") == 0 ? 4 : 0, "parameters", parameters, "loss", loss);
    char path[4200];
    snprintf(path, sizeof path, "%s/case.json", folder);
    char *text = json_dumps(facts, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    hs_message message = { "out of memory for a case" };
    const bool ok = text && hs_file_save(path, text, strlen(text), &message) == HS_OK;
    if (!ok)
        fprintf(stderr, "%s\n", message.text);
    free(text);
    json_decref(facts);
    return ok;
}

/* Couplings begin as the identity, of which the hidden layers have no gradient: noise makes the comparison one of all
 * parameters. Not where there are very many, whose start would be lost. */
static bool stir(hs_params *ps)
{
    const size_t n = hs_params_size(ps);
    if (n > MANY || n == 1)
        return true;
    double *values = hs_alloc(n * sizeof *values), *noise = hs_alloc(n * sizeof *noise);
    if (values && noise) {
        hs_params_get(ps, values);
        hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 5 }, 0, 1, n, noise);
        for (size_t i = 0; i < n; i++)
            values[i] += 0.03 * noise[i];
        hs_params_set(ps, values);
    }
    const bool ok = values && noise;
    hs_free(values), hs_free(noise);
    return ok;
}

bool problem_dump(const bench_case *c, const char *objective, hs_dtype dtype, const char *folder)
{
    problem p;
    hs_objective o;
    bool ok = bench_objective(objective, &o) && problem_open(&p, c, dtype, 1);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "%s: cannot make it: %s\n", folder, strerror(errno));
        ok = false;
    }
    if (!ok)
        return false;
    const size_t d = hs_target_dim(p.target), own = hs_target_original_dim(p.target);
    const size_t normals = hs_proposal_normals(p.proposal), rows = c->starts * c->proposals;
    double *x = hs_alloc(c->starts * d * sizeof *x), *n = hs_alloc(rows * normals * sizeof *n);
    if (!x || !n || !stir(hs_proposal_params(p.proposal))) {
        hs_free(x), hs_free(n);
        problem_close(&p);
        return false;
    }
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 3 }, 0, c->starts, d, x);
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 4 }, 0, rows, normals, n);
    for (size_t i = 0; i < c->starts && p.points; i++)
        memcpy(x + i * d, p.points + i * own, own * sizeof *x);
    /* In the number type of the run, so that peers see the same inputs. */
    void *inputs[2] = { x, n };
    const size_t counts[2] = { c->starts * d, rows * normals };
    for (int k = 0; k < 2 && dtype == HS_F32; k++)
        for (size_t i = 0; i < counts[k]; i++) {
            const float number = (float)((const double *)inputs[k])[i];
            memcpy((char *)inputs[k] + i * sizeof number, &number, sizeof number);
        }
    hs_tape *tape = hs_tape_new(dtype);
    hs_var vx = hs_input(tape, "x", HS_START, hs_dims(d)),
           vn = hs_input(tape, "n", HS_ROW, hs_dims(normals));
    hs_var b = hs_input(tape, "b", HS_SHARED, hs_scalar_shape()), sum = hs_const(tape, 0);
    hs_transition t[HS_MAX_WAYS];
    hs_transitions(p.target, p.proposal, vx, vn, t);
    for (size_t k = 0; k < hs_proposal_ways(p.proposal); k++) {
        t[k].adapted = b;
        sum = hs_add(sum, hs_mul(t[k].weight, o.loss(&t[k], &o)));
    }
    hs_var loss = hs_mean_rows(sum);
    hs_plan *plan;
    hs_params *ps = hs_proposal_params(p.proposal);
    hs_message message = { "" };
    const hs_plan_options options = {
        .starts = c->starts, .rows_per_start = c->proposals, .threads = 1, .message = &message
    };
    const double one = 1;
    const float one_f32 = 1;
    ok = hs_params_plan(&plan, loss, ps, NULL, 0, &options) == HS_OK;
    hs_plan_set(plan, vx, x);
    hs_plan_set(plan, vn, n);
    hs_plan_set(plan, b, dtype == HS_F32 ? (const void *)&one_f32 : &one);
    ok = ok && hs_plan_run(plan, &(hs_run){ .seed = 1 }) == HS_OK;
    if (!ok)
        fprintf(stderr, "%s: %s\n", c->name, message.text[0] ? message.text : hs_plan_error(plan));
    const char *type = dtype == HS_F32 ? "f4" : "f8";
    ok = ok &&
         write_facts(folder, c, c->kind, p.target, ps, objective, dtype,
                     hs_plan_scalar(plan, loss)) &&
         write_params(folder, "theta", ps, false) && write_params(folder, "gradient", ps, true) &&
         write_npy(folder, "x", type, (size_t[]){ c->starts, d }, 2, x) &&
         write_npy(folder, "n", type, (size_t[]){ c->starts, c->proposals, normals }, 3, n) &&
         write_data(folder, &p);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_free(x), hs_free(n);
    problem_close(&p);
    return ok;
}

bool chains_dump(const chains *c, const char *kind, const char *folder)
{
    const problem *p = &c->problem;
    const bool trained =
        strcmp(kind, "multi-scheme") == 0; /* the others have no parameters but a step */
    hs_params *ps = trained ? hs_proposal_params(p->proposal) : NULL;
    return write_facts(folder, p->is, kind, trained ? p->target : p->plain, ps, NULL,
                       hs_session_dtype(p->session), 0) &&
           (!trained || write_params(folder, "theta", ps, false)) && write_data(folder, p);
}
