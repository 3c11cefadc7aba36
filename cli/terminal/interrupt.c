#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include <hastings/cli/cli.h>
#include <hastings/cli/terminal/interrupt.h>

#define PATIENCE 0.2 /* seconds */

static const int signals[] = { SIGINT, SIGTERM };
enum { SIGNALS = sizeof signals / sizeof *signals };

/* When the first signal came; 0: not yet. A lock-free atomic, since signal handlers write it. */
static atomic_llong first_at;

static long long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec + 1;
}

/* The next signal of either kind has its default action. */
static void note(int number)
{
    (void)number;
    atomic_store(&first_at, nanoseconds());
    for (size_t i = 0; i < SIGNALS; i++)
        signal(signals[i], SIG_DFL);
}

static void leave(int number)
{
    (void)number;
    _exit(APP_EXIT_INTERRUPTED);
}

static void handle(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction before;
        /* A signal that a parent ignores (nohup, a background job of a script) stays ignored. */
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

void app_interrupt_leaves(void)
{
    handle(leave);
}

void app_interrupt_catch(void)
{
    atomic_store(&first_at, 0);
    handle(note);
}

void app_interrupt_release(void)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == note)
            signal(signals[i], leave);
    }
}

bool app_interrupted(void)
{
    return atomic_load(&first_at) != 0;
}

bool app_interrupt_is_due(void *unused)
{
    (void)unused;
    const long long at = atomic_load(&first_at);
    return at && (double)(nanoseconds() - at) > PATIENCE * 1e9;
}
