#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/experiments/proposal_file.h>
#include <hastings/experiments/spec.h>
#include <hastings/experiments/inside.h>
#include <hastings/experiments/json.h>
#include <hastings/experiments/json_file.h>
#include <hastings/tensor/message.h>

static const char format_name[] = "hastings-proposal";
enum { FORMAT_VERSION = 1 };

/* The path of a file beside `path`; NULL without memory. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    char *result = malloc(folder + strlen(name) + 1);
    if (result) {
        memcpy(result, path, folder);
        strcpy(result + folder, name);
    }
    return result;
}

/* ---- Saving ---------------------------------------------------------------------------------- */

/* Mean and sd (divided by n) of each coordinate of the points; NULL without memory. */
static json_t *scale_of(const app_proposal_file *f)
{
    json_t *mean = json_array(), *sd = json_array();
    for (size_t k = 0; k < f->dim; k++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < f->n_points; i++)
            sum += f->points[i * f->dim + k];
        const double centre = sum / (double)f->n_points;
        for (size_t i = 0; i < f->n_points; i++)
            squares += pow(f->points[i * f->dim + k] - centre, 2);
        json_array_append_new(mean, json_real(centre));
        json_array_append_new(sd, json_real(sqrt(squares / (double)f->n_points)));
    }
    return json_pack("{s:o, s:o}", "mean", mean, "sd", sd);
}

/* "NAME.hsp" for "folder/NAME.json"; NULL without memory. */
static char *parameters_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const size_t stem = strlen(name) - strlen(".json");
    char *result = malloc(stem + sizeof ".hsp");
    if (result) {
        memcpy(result, name, stem);
        strcpy(result + stem, ".hsp");
    }
    return result;
}

static json_t *describe(const app_proposal_file *f, const char *parameters)
{
    json_t *json =
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:s?, s:I, s:s, s:I, s:s?}", //
                  "format", format_name, "version", (int)FORMAT_VERSION, "hastings", HS_VERSION,
                  "target", f->target, "proposal", f->proposal, "objective", f->objective, "seed",
                  (json_int_t)f->seed, "precision", f->float32 ? "f32" : "f64", "replica",
                  (json_int_t)f->replica, "parameters", parameters);
    if (json && f->points && f->n_points)
        json_object_set_new(json, "scale", scale_of(f));
    if (json && f->training)
        json_object_set(json, "training", f->training);
    return json;
}

/* Whether the file can have all of its texts. */
static hs_status check_texts(const char *path, const app_proposal_file *f, const char *parameters,
                             hs_message *message)
{
    const char *const texts[] = { f->target, f->proposal, f->objective ? f->objective : "",
                                  parameters };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!app_json_can_have(texts[i]))
            return hs_message_fail(message, HS_EINVAL,
                                   "%s: expected UTF-8, since this file has the text %s", path,
                                   texts[i]);
    return HS_OK;
}

hs_status app_proposal_file_save(const char *path, const hs_proposal *proposal,
                                 const app_proposal_file *file, hs_message *message)
{
    const size_t length = strlen(path);
    if (length <= 5 || strcmp(path + length - 5, ".json") != 0 || path[length - 6] == '/')
        return hs_message_fail(message, HS_EINVAL, "%s: a proposal is saved as NAME.json", path);
    if (!proposal || !file->target || !file->proposal)
        return hs_message_fail(
            message, HS_EINVAL,
            "%s: a proposal, and the texts that it and its target were made from, are needed",
            path);
    hs_params *params = hs_proposal_params(proposal);
    char *name = parameters_name(path), *place = name ? beside(path, name) : NULL;
    hs_status status = name ? check_texts(path, file, name, message) : HS_OK;
    json_t *json = name && !status ? describe(file, params ? name : NULL) : NULL;
    if (!status && (!place || !json))
        status = hs_message_fail(message, HS_ENOMEM, "%s: out of memory for what it says", path);
    else if (!status && params) /* first, so that the .json never names a file that is not there */
        status = hs_params_save(params, NULL, place, message);
    if (!status)
        status = app_json_save(path, json, message);
    json_decref(json);
    free(place);
    free(name);
    return status;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The two points with the file's means and sds. */
static hs_status read_scale(app_proposal_file *f, const json_t *scale, hs_message *message)
{
    const json_t *mean = json_object_get(scale, "mean"), *sd = json_object_get(scale, "sd");
    const size_t dim = json_array_size(mean);
    if (!dim || json_array_size(sd) != dim)
        return hs_message_fail(message, HS_EFORMAT,
                               "%s: \"scale\" needs lists \"mean\" and \"sd\" of one length",
                               f->path);
    f->numbers = malloc(hs_size_product(2, dim, sizeof *f->numbers));
    if (!f->numbers)
        return hs_message_fail(message, HS_ENOMEM, "%s: out of memory for its scale", f->path);
    for (size_t k = 0; k < dim; k++) {
        const json_t *m = json_array_get(mean, k), *s = json_array_get(sd, k);
        if (!json_is_number(m) || !json_is_number(s))
            return hs_message_fail(message, HS_EFORMAT,
                                   "%s: entry %zu of \"scale\" is not a number", f->path, k);
        f->numbers[k] = json_number_value(m) - json_number_value(s);
        f->numbers[dim + k] = json_number_value(m) + json_number_value(s);
    }
    f->points = f->numbers;
    f->n_points = 2;
    f->dim = dim;
    return HS_OK;
}

static hs_status read_fields(app_proposal_file *f, hs_message *message)
{
    const char *format = "", *precision = NULL;
    json_int_t seed = 0, replica = 0, version = 0;
    json_t *scale = NULL;
    json_error_t error;
    if (json_unpack(f->json, "{s:s, s:I}", "format", &format, "version", &version) ||
        strcmp(format, format_name) != 0)
        return hs_message_fail(message, HS_EFORMAT,
                               "%s is not a proposal: it has no \"format\": \"%s\" and \"version\"",
                               f->path, format_name);
    if (version != FORMAT_VERSION)
        return hs_message_fail(
            message, HS_EFORMAT,
            "%s has version %lld of the format, and this program reads version %d", f->path,
            (long long)version, (int)FORMAT_VERSION);
    if (json_unpack_ex(f->json, &error, 0, "{s:s, s:s, s:I, s:s, s?I, s?o, s?o}", "target",
                       &f->target, "proposal", &f->proposal, "seed", &seed, "precision", &precision,
                       "replica", &replica, "scale", &scale, "training", &f->training))
        return hs_message_fail(message, HS_EFORMAT, "%s: %s", f->path, error.text);
    f->objective = json_string_value(json_object_get(f->json, "objective"));
    if (strcmp(precision, "f32") != 0 && strcmp(precision, "f64") != 0)
        return hs_message_fail(message, HS_EFORMAT, "%s: its precision is \"%s\", not f32 or f64",
                               f->path, precision);
    if (seed < 0 || replica < 0)
        return hs_message_fail(message, HS_EFORMAT,
                               "%s: \"seed\" and \"replica\" cannot be negative", f->path);
    f->seed = (uint64_t)seed;
    f->replica = (uint64_t)replica;
    f->float32 = strcmp(precision, "f32") == 0;
    return scale ? read_scale(f, scale, message) : HS_OK;
}

hs_status app_proposal_file_read(app_proposal_file **file, const char *path, hs_message *message)
{
    *file = NULL;
    json_t *json = app_json_read(path, message);
    if (!json)
        return HS_EIO;
    app_proposal_file *f = calloc(1, sizeof *f);
    char *copy = malloc(strlen(path) + 1);
    if (!f || !copy) {
        free(f);
        free(copy);
        json_decref(json);
        return hs_message_fail(message, HS_ENOMEM, "%s: out of memory", path);
    }
    f->json = json;
    f->path = strcpy(copy, path);
    const hs_status status = read_fields(f, message);
    if (status)
        app_proposal_file_free(f);
    else
        *file = f;
    return status;
}

hs_proposal *app_proposal_file_load(hs_session *s, const app_proposal_file *file,
                                    const hs_target *target)
{
    if (!target || hs_session_status(s))
        return NULL;
    if ((hs_session_dtype(s) == HS_F32) != file->float32) {
        hs_session_fail(s, HS_EDTYPE, "%s has numbers of %d bits, and the session has others",
                        file->path, file->float32 ? 32 : 64);
        return NULL;
    }
    if (file->points && file->dim != hs_target_original_dim(target)) {
        hs_session_fail(
            s, HS_ESHAPE, "%s was trained in %zu dimensions, but the target \"%s\" has %zu",
            file->path, file->dim, hs_target_name(target), hs_target_original_dim(target));
        return NULL;
    }
    hs_proposal *p =
        app_spec_proposal(s, target, file->proposal, file->replica, file->points, file->n_points);
    hs_params *params = hs_proposal_params(p);
    const char *name = json_string_value(json_object_get(file->json, "parameters"));
    if (!p || (!params && !name))
        return p;
    char *folder = beside(file->path, "."), place[APP_INSIDE_PATH];
    hs_message message;
    if (!name || !params)
        hs_session_fail(s, HS_EFORMAT, "%s: a \"%s\" has %sparameters, but the file %s", file->path,
                        hs_proposal_name(p), params ? "" : "no ", name ? "names some" : "has none");
    else if (!folder)
        hs_session_fail(s, HS_ENOMEM, "%s: out of memory for the name of its parameters",
                        file->path);
    else {
        hs_status status = app_file_inside(folder, name, place, &message);
        status = status ? status : hs_params_load(params, NULL, place, &message);
        if (status)
            hs_session_fail(s, status, "the parameters of %s: %s", file->path, message.text);
    }
    free(folder);
    return hs_session_status(s) ? NULL : p;
}

void app_proposal_file_free(app_proposal_file *file)
{
    if (!file)
        return;
    json_decref(file->json);
    free(file->path);
    free(file->numbers);
    free(file);
}
