/* The inside of the core, printed: docs/inside.md shows these outputs, and explains them.
 *
 *     inside tape                    a tape
 *     inside gradient                the nodes that hs_grad() adds to it
 *     inside plan MODEL [PASS]...    the plan of layer, walk, points or unit with no other optional passes than these
 *     inside passes                  the passes
 *     inside bits                    a sum over the batch on 1 to 4 threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings.h>

/* A model: its outputs, and the size of its batch. */
typedef struct {
    hs_tape *tape;
    hs_var output[4];
    size_t outputs, starts;
} model;

/* A layer of two tanh units, and the mean of its squared length over the batch. */
static hs_var record_layer(model *m, hs_var *w, hs_var *b)
{
    m->tape = hs_tape_new(HS_F64);
    *w = hs_input(m->tape, "w", HS_SHARED, hs_dims(2, 3));
    *b = hs_input(m->tape, "b", HS_SHARED, hs_dims(2));
    hs_var x = hs_normal(m->tape, HS_ROW, hs_dims(3), 0);
    hs_var h = hs_tanh(hs_add(hs_matmul(*w, x), *b));
    return hs_mean_rows(hs_sum_last(hs_square(h)));
}

static model layer(void)
{
    model m = { .outputs = 3, .starts = 1000 };
    hs_var wrt[2];
    m.output[0] = record_layer(&m, &wrt[0], &wrt[1]);
    hs_grad(m.output[0], wrt, 2, m.output + 1);
    return m;
}

static hs_var sum_of_products(hs_var a, hs_var b)
{
    return hs_sum_to(hs_mul(a, b), hs_scalar_shape(), HS_ROW);
}

/* A move in 1000 dimensions: its mean squared length, weighted by the density of its end, and the slope in the step size. */
static model walk(void)
{
    model m = { .tape = hs_tape_new(HS_F32), .outputs = 2, .starts = 64 };
    hs_var step = hs_input(m.tape, "step", HS_SHARED, hs_scalar_shape());
    hs_var x = hs_normal(m.tape, HS_ROW, hs_dims(1000), 0);
    hs_var n = hs_normal(m.tape, HS_ROW, hs_dims(1000), 1);
    hs_var y = hs_add(x, hs_mul(step, n));
    hs_var density = hs_exp(hs_scale(sum_of_products(y, y), -0.5e-3));
    m.output[0] = hs_mean_rows(hs_mul(density, hs_mul(hs_square(step), sum_of_products(n, n))));
    hs_grad(m.output[0], &step, 1, m.output + 1);
    return m;
}

/* One chain: the same layer at two points. */
static model points(void)
{
    model m = { .tape = hs_tape_new(HS_F32), .outputs = 2, .starts = 1 };
    hs_var w = hs_input(m.tape, "w", HS_SHARED, hs_dims(100, 100));
    for (uint32_t i = 0; i < 2; i++)
        m.output[i] = hs_tanh(hs_matmul(w, hs_normal(m.tape, HS_ROW, hs_dims(100), i)));
    return m;
}

/* A value times 1, for the pass that docs/inside.md adds. */
static model unit(void)
{
    model m = { .tape = hs_tape_new(HS_F64), .outputs = 1, .starts = 100 };
    hs_var x = hs_normal(m.tape, HS_ROW, hs_dims(3), 0);
    m.output[0] = hs_mean_rows(hs_sum_last(hs_tanh(hs_mul(x, hs_const(m.tape, 1)))));
    return m;
}

/* Prints the lines of a file from number `first` on, without the places in the source, which stand behind "#", and
 * without bytes, which stand behind ";" and depend on the machine. */
static void print_lines(FILE *file, int first)
{
    char line[400];
    rewind(file);
    for (int i = 0; fgets(line, sizeof line, file); i++) {
        size_t end = strcspn(line, "#;\n");
        while (end && line[end - 1] == ' ')
            end--;
        if (i >= first)
            printf("%.*s\n", (int)end, line);
    }
    fclose(file);
}

static FILE *new_file(void)
{
    FILE *file = tmpfile();
    if (!file)
        exit(1);
    return file;
}

static bool is_optional_pass(const char *name)
{
    const hs_pass *pass;
    for (size_t i = 0; (pass = hs_plan_pass(i)); i++)
        if (pass->optional && strcmp(pass->name, name) == 0)
            return true;
    fprintf(stderr, "there is no optional pass \"%s\": see inside passes\n", name);
    return false;
}

static int print_plan(model m, int passes, char **names)
{
    char without[400] = "";
    const hs_pass *pass;
    for (int k = 0; k < passes; k++)
        if (!is_optional_pass(names[k]))
            return 2;
    for (size_t i = 0; (pass = hs_plan_pass(i)); i++) {
        bool named = false;
        for (int k = 0; k < passes; k++)
            named = named || strcmp(names[k], pass->name) == 0;
        if (pass->optional && !named)
            strcat(strcat(without, without[0] ? "," : ""), pass->name);
    }
    hs_plan *plan;
    hs_message message;
    if (hs_plan_new(&plan, m.output, m.outputs,
                    &(hs_plan_options){ .starts = m.starts, .without = without, .message = &message })) {
        fprintf(stderr, "%s\n", message.text);
        return 1;
    }
    FILE *file = new_file();
    hs_plan_print(plan, file);
    print_lines(file, 0);
    hs_plan_free(plan);
    hs_tape_free(m.tape);
    return 0;
}

static void print_bits(void)
{
    const double w[6] = { 0.1, -0.2, 0.3, 0.7, 0.2, -0.5 }, b[2] = { 0.1, 0 };
    model m = { .starts = 1000 };
    hs_var wv, bv, loss = record_layer(&m, &wv, &bv);
    double first = 0;
    for (int threads = 1; threads <= 4; threads++) {
        hs_plan *plan;
        if (hs_plan_new(&plan, &loss, 1, &(hs_plan_options){ .starts = 1000, .threads = threads }))
            exit(1);
        hs_plan_set(plan, wv, w);
        hs_plan_set(plan, bv, b);
        if (hs_plan_run(plan, &(hs_run){ .seed = 1 }))
            exit(1);
        const double value = hs_plan_scalar(plan, loss);
        first = threads == 1 ? value : first;
        printf("threads: %d, loss: %.6f, %s\n", threads, value,
               memcmp(&value, &first, sizeof value) == 0 ? "the same bits" : "other bits");
        hs_plan_free(plan);
    }
    hs_tape_free(m.tape);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *name = argc > 2 ? argv[2] : "";
    if (strcmp(what, "tape") == 0 || strcmp(what, "gradient") == 0) {
        model m;
        hs_var wrt[2], gradient[2], loss = record_layer(&m, &wrt[0], &wrt[1]);
        const bool adds = what[0] == 'g';
        if (adds)
            hs_grad(loss, wrt, 2, gradient);
        FILE *file = new_file();
        hs_tape_print(m.tape, file);
        print_lines(file, adds ? (int)loss.id + 1 : 0);
        hs_tape_free(m.tape);
    } else if (strcmp(what, "passes") == 0) {
        const hs_pass *pass;
        for (size_t i = 0; (pass = hs_plan_pass(i)); i++)
            printf("%-14s  %s  %s\n", pass->name, pass->optional ? "optional" : "required", pass->doc);
    } else if (strcmp(what, "bits") == 0) {
        print_bits();
    } else if (strcmp(what, "plan") == 0) {
        static const struct {
            const char *name;
            model (*record)(void);
        } models[] = { { "layer", layer }, { "walk", walk }, { "points", points }, { "unit", unit } };
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            if (strcmp(name, models[i].name) == 0)
                return print_plan(models[i].record(), argc - 3, argv + 3);
        what = "";
    } else {
        what = "";
    }
    if (!*what)
        fprintf(stderr, "usage: inside tape | gradient | passes | bits | plan layer|walk|points|unit [PASS]...\n");
    return *what ? 0 : 2;
}
