#include <signal.h>
#include <stddef.h>

#include <hastings/cli/terminal/interrupt.h>

static volatile sig_atomic_t interrupted;

/* The next signal of either kind has its default action. */
static void note(int number)
{
    (void)number;
    interrupted = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void app_interrupt_catch(void)
{
    interrupted = 0;
    struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    static const int signals[] = { SIGINT, SIGTERM };
    for (size_t i = 0; i < 2; i++) {
        struct sigaction before;
        /* A signal that a parent ignores (nohup, a background job of a script) stays ignored. */
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

void app_interrupt_release(void)
{
    static const int signals[] = { SIGINT, SIGTERM };
    for (size_t i = 0; i < 2; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == note)
            signal(signals[i], SIG_DFL);
    }
}

bool app_interrupted(void)
{
    return interrupted != 0;
}
