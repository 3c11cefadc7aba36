#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "spec_internal.h"

#define DIM                                                                                        \
    {                                                                                              \
        "dim", APP_SPEC_COUNT, "2", "number of coordinates"                                        \
    }
#define SCALE                                                                                      \
    {                                                                                              \
        "scale", APP_SPEC_NUMBER, "1", "scale of every coordinate"                                 \
    }
#define AUGMENT                                                                                    \
    {                                                                                              \
        "augment", APP_SPEC_COUNT, "0", "auxiliary standard normals to append"                     \
    }
#define PRIOR                                                                                      \
    {                                                                                              \
        "prior_sd", APP_SPEC_NUMBER, "10", "standard deviation of the prior of each weight"        \
    }

static hs_target *gaussian(const spec *p)
{
    return hs_target_gaussian(p->session, app_spec_count(p, "dim"),
                              &(hs_gaussian_options){ .sd = app_spec_number(p, "sd") });
}

static hs_target *laplace(const spec *p)
{
    return hs_target_laplace(p->session, app_spec_count(p, "dim"),
                             &(hs_scale_options){ .scale = app_spec_number(p, "scale") });
}

static hs_target *cauchy(const spec *p)
{
    return hs_target_cauchy(p->session, app_spec_count(p, "dim"),
                            &(hs_scale_options){ .scale = app_spec_number(p, "scale") });
}

static hs_target *student(const spec *p)
{
    return hs_target_student(p->session, app_spec_count(p, "dim"), app_spec_number(p, "dof"),
                             &(hs_scale_options){ .scale = app_spec_number(p, "scale") });
}

static hs_target *uniform(const spec *p)
{
    const size_t dim = app_spec_count(p, "dim");
    return hs_target_uniform(
        p->session, dim,
        &(hs_uniform_options){ .log_odds = app_spec_number(p, "log_odds"),
                               .tail_pull = app_spec_flag(p, "pulled") ? (double)dim : 1 });
}

static hs_target *cross(const spec *p)
{
    return hs_target_cross(p->session,
                           &(hs_cross_options){ .radius = app_spec_number(p, "radius"),
                                                .variance = app_spec_number(p, "variance") });
}

static hs_target *banana(const spec *p)
{
    return hs_target_banana(p->session, app_spec_count(p, "dim"),
                            &(hs_banana_options){ .sd = app_spec_number(p, "sd"),
                                                  .curvature = app_spec_number(p, "curvature") });
}

static hs_target *funnel(const spec *p)
{
    return hs_target_funnel(p->session, app_spec_count(p, "dim"),
                            &(hs_funnel_options){ .sd = app_spec_number(p, "sd") });
}

/* The posterior of a data set, which is copied. */
static hs_target *posterior(const spec *p, hs_status status, hs_dataset *data,
                            const hs_message *message)
{
    if (status) {
        /* An error in the user's data is the user's, as one in the command line. */
        const bool of_the_machine =
            status == HS_EIO || status == HS_ENOMEM || status == HS_EINTERRUPTED;
        hs_session_fail(p->session, of_the_machine ? status : HS_EINVAL, "%s", message->text);
        return NULL;
    }
    hs_target *t = hs_target_logistic(
        p->session, data, &(hs_logistic_options){ .prior_sd = app_spec_number(p, "prior_sd") });
    hs_dataset_free(data);
    return t;
}

static hs_target *logistic(const spec *p)
{
    const char *name = app_spec_text(p, "data");
    char file[512], path[4096];
    if (!name) {
        hs_session_fail(p->session, HS_EINVAL,
                        "target \"logistic\" needs data=NAME of a data set or data=FILE.csv");
        return NULL;
    }
    const bool is_path =
        strchr(name, '/') || (strlen(name) > 4 && !strcmp(name + strlen(name) - 4, ".csv"));
    snprintf(file, sizeof file, "%s.csv", name);
    if (!is_path && !app_find_file("data", file, path)) {
        /* Some sets may not be shipped: a script beside the others fetches or takes them. */
        snprintf(file, sizeof file, "get-%s", name);
        const bool has_script = app_find_file("data", file, path);
        hs_session_fail(
            p->session, HS_EIO,
            "there is no data set \"%s\" in the program's data folder; %s%s%sgive the path "
            "of a CSV file of your own as data=FILE.csv, or with --data FILE",
            name, has_script ? "data/" : "", has_script ? file : "",
            has_script ? " says how to get it, or " : "");
        return NULL;
    }
    hs_dataset *data = NULL;
    hs_message message = { "" };
    const hs_status status =
        hs_dataset_load_csv(&data, is_path ? name : path,
                            &(hs_dataset_options){ .label = app_spec_text(p, "label"),
                                                   .interrupted = hs_session_interrupted,
                                                   .context = p->session },
                            &message);
    return posterior(p, status, data, &message);
}

/* A number too large for an int stays too large for a digit. */
static int digit(const spec *p, const char *name)
{
    const size_t given = app_spec_count(p, name);
    return given < INT_MAX ? (int)given : INT_MAX;
}

static hs_target *mnist(const spec *p)
{
    static const char *const name[] = { "train-images-idx3-ubyte.gz",
                                        "train-labels-idx1-ubyte.gz" };
    char path[2][4096];
    for (int i = 0; i < 2; i++) {
        const char *folder = app_spec_text(p, "folder");
        if (folder)
            snprintf(path[i], sizeof path[i], "%s/%s", folder, name[i]);
        else if (!app_find_file("data/mnist", name[i], path[i])) {
            hs_session_fail(
                p->session, HS_EIO,
                "there is no data/mnist/%s; data/get-mnist fetches it, and mnist,folder=FOLDER "
                "takes it from elsewhere",
                name[i]);
            return NULL;
        }
    }
    hs_dataset *data = NULL;
    hs_message message = { "" };
    const hs_status status = hs_dataset_load_idx(&data, path[0], path[1], digit(p, "zero"),
                                                 digit(p, "one"), NULL, &message);
    return posterior(p, status, data, &message);
}

static const struct {
    app_spec_entry entry;
    hs_target *(*make)(const spec *p);
} kinds[] = {
    { { "gaussian",
        "independent normal coordinates",
        { DIM,
          { "sd", APP_SPEC_NUMBER, "1", "standard deviation of every coordinate" },
          AUGMENT } },
      gaussian },
    { { "laplace",
        "independent coordinates of density exp(-|x| / scale)",
        { DIM, SCALE, AUGMENT } },
      laplace },
    { { "cauchy", "independent Cauchy coordinates", { DIM, SCALE, AUGMENT } }, cauchy },
    { { "student",
        "independent coordinates of Student's t",
        { DIM, { "dof", APP_SPEC_NUMBER, "3", "degrees of freedom" }, SCALE, AUGMENT } },
      student },
    { { "uniform",
        "unit cube, with a vanishing share of a standard normal",
        { DIM,
          { "log_odds", APP_SPEC_NUMBER, "100", "log odds of the cube against the normal" },
          { "pulled", APP_SPEC_FLAG, "no",
            "multiply the gradient outside the cube by dim, as published figures need" },
          AUGMENT } },
      uniform },
    { { "cross",
        "four Gaussians in a cross in the plane",
        { { "radius", APP_SPEC_NUMBER, "4", "distance of their centres from 0" },
          { "variance", APP_SPEC_NUMBER, "0.5", "variance of each coordinate of a Gaussian" },
          AUGMENT } },
      cross },
    { { "banana",
        "Gaussian bent into a banana",
        { DIM,
          { "sd", APP_SPEC_NUMBER, "10", "standard deviation of the first coordinate" },
          { "curvature", APP_SPEC_NUMBER, "0.03", "bend of the second coordinate; 0.1 is strong" },
          AUGMENT } },
      banana },
    { { "funnel",
        "Neal's funnel: the first coordinate sets the scale of the others",
        { DIM,
          { "sd", APP_SPEC_NUMBER, "3", "standard deviation of the first coordinate" },
          AUGMENT } },
      funnel },
    { { "logistic",
        "posterior of a Bayesian logistic regression",
        { { "data", APP_SPEC_TEXT, NULL, "data set of the program, or FILE.csv; required" },
          { "label", APP_SPEC_TEXT, NULL, "column with labels 0 and 1; default: the last" },
          PRIOR,
          AUGMENT } },
      logistic },
    { { "mnist",
        "posterior of the logistic regression of two MNIST digits",
        { { "folder", APP_SPEC_TEXT, NULL, "folder of the MNIST files; default: data/mnist" },
          { "zero", APP_SPEC_COUNT, "5", "digit of class 0" },
          { "one", APP_SPEC_COUNT, "6", "digit of class 1" },
          PRIOR,
          AUGMENT } },
      mnist },
};

const app_spec_entry *app_spec_targets(size_t i)
{
    return i < sizeof kinds / sizeof *kinds ? &kinds[i].entry : NULL;
}

hs_target *app_spec_target(hs_session *s, const char *text)
{
    spec p;
    hs_target *t = NULL;
    if (app_spec_open(&p, s, "target", app_spec_targets, text)) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (p.entry == &kinds[i].entry)
                t = kinds[i].make(&p);
        const size_t more = app_spec_count(&p, "augment");
        if (t && more)
            t = hs_target_augment(s, t, more);
    }
    app_spec_close(&p);
    return t;
}
