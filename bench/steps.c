/*
 * Gradient steps and transitions of the paper's experiments: Hastings beside PyTorch and JAX, and beside what the
 * machine can do.
 *
 *     steps [--parts checks,steps,sampling,first,scaling] [--cases A,B] [--objectives A,B] [--types f32,f64]
 *           [--kinds random-walk,mala,hmc,multi-scheme] [--chains 1,100]
 *           [--peers none|torch,jax] [--peer-objectives A,B] [--peer-types f32,f64]
 *           [--seconds S] [--rounds N] [--json FILE]
 *     steps --dump CASE OBJECTIVE f32|f64 FOLDER      inputs, loss and gradient, for peers
 *     steps --first CASE                              one gradient step, for the time that a process takes to it
 *     steps --report JSON NOTES MARKDOWN SVG          the page docs/performance.md and its chart
 *
 * All contenders take turns in rounds, so that what else the machine does hits them alike; figures are medians over
 * the rounds. Peers run where python3 has torch or jax, and must first compute the same loss and gradient. The result
 * is JSON, of which --report makes docs/performance.md and its chart. FILE is written after every case, and what it has
 * from a run before stays, if it is of the same processor, until the same is measured again.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "parts.h"
#include "report.h"

static int usage(int code)
{
    FILE *out = code ? stderr : stdout;
    fprintf(out,
            "usage: bench_steps [--RESTRICTION A,B]... [--seconds S] [--rounds N] [--json FILE]\n"
            "       bench_steps --dump CASE OBJECTIVE f32|f64 FOLDER\n"
            "       bench_steps --first CASE\n"
            "       bench_steps --report JSON NOTES MARKDOWN SVG\n"
            "Everything is measured, but peers in f32 alone, unless an option with a list of these "
            "words restricts it:\n");
    run_print_restrictions(out);
    fprintf(out,
            "--kinds and --chains are of the part sampling. What FILE has already stays, but "
            "for rows that are measured again; without peers, those lose the figures of peers.\n");
    return code;
}

static int dump(char **arguments)
{
    const bench_case *c = bench_case_named(arguments[0]);
    hs_objective objective;
    if (!c || !bench_objective(arguments[1], &objective))
        return usage(2);
    return problem_dump(c, arguments[1], strcmp(arguments[2], "f64") == 0 ? HS_F64 : HS_F32,
                        arguments[3])
               ? 0
               : 1;
}

/* Removes the folder with dumped cases. */
static void remove_folder(const char *folder)
{
    DIR *list = opendir(folder);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            remove(path);
    }
    if (list)
        closedir(list);
    rmdir(folder);
}

/* Measures the parts that are wanted. */
static void measure(const settings *set)
{
    static contenders all;
    if (wants(set, PARTS, "first")) /* while there is little memory: see time_process() */
        measure_first(set);
    if (wants(set, PARTS, "steps") || wants(set, PARTS, "sampling") || wants(set, PARTS, "checks"))
        contenders_start(&all, set);
    if (wants(set, PARTS, "checks"))
        measure_checks(set, &all);
    if (wants(set, PARTS, "steps"))
        measure_steps(set, &all);
    if (wants(set, PARTS, "sampling"))
        measure_sampling(set, &all);
    contenders_stop(&all);
    if (wants(set, PARTS, "scaling"))
        measure_scaling(set);
}

int main(int argc, char **argv)
{
    settings set;
    if (argc == 6 && strcmp(argv[1], "--dump") == 0)
        return dump(argv + 2);
    if (argc == 3 && strcmp(argv[1], "--first") == 0)
        return first_step(argv[2]);
    if (argc == 6 && strcmp(argv[1], "--report") == 0)
        return report_write(argv[2], argv[3], argv[4], argv[5]) ? 0 : 1;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(0);
    if (!run_read_options(&set, argc, argv))
        return usage(2);
    if (!run_load(&set)) {
        json_decref(set.result);
        return 2;
    }
    if (!mkdtemp(set.folder)) {
        fprintf(stderr, "%s: cannot make it: %s\n", set.folder, strerror(errno));
        return 1;
    }
    measure(&set);
    remove_folder(set.folder);
    const bool saved = run_save(&set);
    json_decref(set.result);
    return !saved;
}
