#include "measure.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <hastings/tensor/clock.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/cpu.h>
#include <hastings/tensor/number.h>

void *make_numbers(hs_dtype dtype, size_t n)
{
    void *block = hs_alloc((n + 64) * hs_dtype_size(dtype));
    if (!block)
        exit(1);
    for (size_t i = 0; i < n + 64; i++) {
        const double a = (double)(i * 7919 % 1013) / 506.5 - 1;
        hs_number_set(dtype, block, i, a);
    }
    return block;
}

double median(double *samples, size_t n)
{
    hs_sort(samples, n);
    return n ? samples[n / 2] : 0;
}

/* Independent fused multiply-adds on enough registers to hide their latency. */
#define DEFINE_PEAK(name, isa, type, vector, set1, multiply_add)                                   \
    __attribute__((noinline, target(isa))) static double name(long turns)                          \
    {                                                                                              \
        vector a[10];                                                                              \
        for (int k = 0; k < 10; k++)                                                               \
            a[k] = set1((type)k);                                                                  \
        const vector x = set1((type)0.999999), y = set1((type)1e-7);                               \
        for (long i = 0; i < turns; i++)                                                           \
            _Pragma("GCC unroll 10") for (int k = 0; k < 10; k++) a[k] = multiply_add(a[k], x, y); \
        vector s = a[0];                                                                           \
        for (int k = 1; k < 10; k++)                                                               \
            s += a[k];                                                                             \
        type sums[sizeof(vector) / sizeof(type)];                                                  \
        memcpy(sums, &s, sizeof s);                                                                \
        return (double)sums[0] * 0 + (double)(2 * 10 * sizeof(vector) / sizeof(type));             \
    }
#if defined(__x86_64__)
DEFINE_PEAK(peak_avx512_f32, "avx512f", float, __m512, _mm512_set1_ps, _mm512_fmadd_ps)
DEFINE_PEAK(peak_avx512_f64, "avx512f", double, __m512d, _mm512_set1_pd, _mm512_fmadd_pd)
DEFINE_PEAK(peak_avx2_f32, "avx2,fma", float, __m256, _mm256_set1_ps, _mm256_fmadd_ps)
DEFINE_PEAK(peak_avx2_f64, "avx2,fma", double, __m256d, _mm256_set1_pd, _mm256_fmadd_pd)
#endif

double peak_once(hs_dtype dtype)
{
    double flops_a_turn = 0;
    const long turns = 20000;
    const double begin = hs_seconds();
#if defined(__x86_64__)
    if (hs_cpu_isa() == HS_ISA_AVX512)
        flops_a_turn = dtype == HS_F32 ? peak_avx512_f32(turns) : peak_avx512_f64(turns);
    else if (hs_cpu_isa() == HS_ISA_AVX2)
        flops_a_turn = dtype == HS_F32 ? peak_avx2_f32(turns) : peak_avx2_f64(turns);
#endif
    return flops_a_turn * (double)turns / (hs_seconds() - begin) * 1e-9;
}

double time_call(void (*run)(void *context), void *context, double budget)
{
    enum { MOST = 20000 };
    static double samples[MOST];
    run(context);
    run(context);
    size_t n = 0;
    const double begin = hs_seconds();
    while (n < MOST && (n < 3 || hs_seconds() - begin < budget)) {
        const double start = hs_seconds();
        run(context);
        samples[n++] = hs_seconds() - start;
    }
    return median(samples, n);
}

bool peer_start(peer *p, const char *script)
{
    return peer_start_with(p, script, NULL, NULL, 0);
}

/* A peer's threads may look for work long after its turn, and would take a core from whose turn it is: so it stands still
 * meanwhile. */
static void hold(const peer *p)
{
    if (p->process > 0)
        kill(p->process, SIGSTOP);
}

static void let_go(const peer *p)
{
    if (p->process > 0)
        kill(p->process, SIGCONT);
}

bool peer_start_with(peer *p, const char *script, const char *argument, char *version, size_t size)
{
    int down[2], up[2];
    *p = (peer){ NULL, NULL, -1 };
    if (access(script, R_OK) != 0 || pipe(down) != 0)
        return false;
    if (pipe(up) != 0) {
        close(down[0]), close(down[1]);
        return false;
    }
    signal(SIGPIPE, SIG_IGN);
    p->process = fork();
    if (p->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* or it would stand still forever */
        dup2(down[0], STDIN_FILENO);
        dup2(up[1], STDOUT_FILENO);
        close(down[0]), close(down[1]), close(up[0]), close(up[1]);
        execlp("python3", "python3", script, argument, (char *)NULL);
        _exit(127);
    }
    close(down[0]), close(up[1]);
    p->to = fdopen(down[1], "w");
    p->from = fdopen(up[0], "r");
    char line[256];
    if (p->process > 0 && p->to && p->from && fgets(line, sizeof line, p->from) &&
        strncmp(line, "ready", 5) == 0) {
        line[strcspn(line, "\n")] = '\0';
        if (version)
            snprintf(version, size, "%s", line + (line[5] ? 6 : 5));
        hold(p);
        return true;
    }
    peer_stop(p);
    return false;
}

int peer_ask(peer *p, const char *line, double *numbers, int most)
{
    return peer_ask_text(p, line, numbers, most, NULL, 0);
}

int peer_ask_text(peer *p, const char *line, double *numbers, int most, char *text, size_t size)
{
    char answer[1024];
    let_go(p);
    const bool answered = fprintf(p->to, "%s\n", line) >= 0 && fflush(p->to) == 0 &&
                          fgets(answer, sizeof answer, p->from);
    hold(p);
    if (!answered)
        return 0;
    answer[strcspn(answer, "\n")] = '\0';
    if (text)
        snprintf(text, size, "%s", answer);
    int n = 0;
    for (char *at = answer, *end; n < most; at = end) {
        numbers[n] = strtod(at, &end);
        if (end == at)
            break;
        n++;
    }
    return n;
}

void peer_stop(peer *p)
{
    let_go(p);
    if (p->to) { /* other peers may hold the pipe open, so its end would not be seen */
        fprintf(p->to, "quit\n");
        fclose(p->to);
    }
    if (p->from)
        fclose(p->from);
    if (p->process > 0)
        waitpid(p->process, NULL, 0);
    *p = (peer){ NULL, NULL, -1 };
}
