#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "parts.h"

#include <hastings/tensor/clock.h>

/* Seconds and peak memory (MB) of a process; NaN if it fails. Its memory is never less than ours was when it began. */
static void time_process(const char *const *arguments, double *seconds, double *megabytes)
{
    const double begin = hs_seconds();
    const pid_t child = fork();
    if (child == 0) {
        close(STDOUT_FILENO);
        execvp(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    int status = -1;
    struct rusage usage = { 0 };
    if (child > 0)
        wait4(child, &status, 0, &usage);
    const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    *seconds = ok ? hs_seconds() - begin : (double)NAN;
    *megabytes = ok ? (double)usage.ru_maxrss / 1024 : (double)NAN;
}

void measure_first(const settings *set)
{
    const bench_case *c;
    for (size_t i = 0; (c = bench_case_at(i)); i++) {
        if (!wants(set, CASES, c->name))
            continue;
        fprintf(stderr, "first step: %s\n", c->name);
        static double seconds[1 + PEERS][MAX_ROUNDS], megabytes[1 + PEERS][MAX_ROUNDS];
        bool wanted[1 + PEERS] = { true }, peers = false;
        for (int p = 0; p < PEERS; p++) {
            wanted[1 + p] = wants(set, PEER_NAMES, peer_names[p]);
            peers = peers || wanted[1 + p];
        }
        double unused, dumped = (double)NAN; /* NaN if it fails */
        if (peers)
            time_process((const char *[]){ set->self, "--dump", c->name, "ab-initio", "f32",
                                           set->folder, NULL },
                         &unused, &dumped);
        const int rounds = set->rounds;
        for (int r = 0; r < rounds; r++) {
            const char *own[] = { set->self, "--first", c->name, NULL };
            time_process(own, &seconds[0][r], &megabytes[0][r]);
            for (int p = 0; p < PEERS; p++) {
                const char *theirs[] = { "python3", peer_scripts[p], threads_key(set, 1),
                                         "--first", set->folder,     NULL };
                seconds[1 + p][r] = megabytes[1 + p][r] = (double)NAN;
                if (wanted[1 + p] && !isnan(dumped))
                    time_process(theirs, &seconds[1 + p][r], &megabytes[1 + p][r]);
            }
        }
        json_t *s = json_object(), *m = json_object();
        for (int who = 0; who <= PEERS; who++) {
            const char *name = who ? peer_names[who - 1] : "hastings";
            if (!wanted[who])
                continue;
            json_object_set_new(s, name, median_of(seconds[who], rounds));
            json_object_set_new(m, name, median_of(megabytes[who], rounds));
        }
        json_t *row = json_pack("{s:s, s:s, s:o, s:o}", "case", c->name, "title", c->title,
                                "seconds", s, "megabytes", m);
        set_rounds(row, rounds, 0);
        run_put(set, "first", row);
    }
}

int first_step(const char *name)
{
    const bench_case *c = bench_case_named(name);
    stepper s;
    if (!c || !stepper_open(&s, c, "ab-initio", HS_F32, 0))
        return 1;
    stepper_run(&s);
    printf("%.9g\n", hs_plan_scalar(s.batch.plan, s.batch.loss));
    stepper_close(&s);
    return 0;
}
