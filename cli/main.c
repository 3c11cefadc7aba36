#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <hastings/cli/cli.h>

/* If stdout or stderr is closed, a file opened later would take its place. A stand-in that cannot
 * be written to keeps the place: writing fails and is reported. */
static void keep_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
            exit(APP_EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    /* A write to a pipe without a reader, or beyond the largest file that is allowed, fails instead of ending a run
     * before it is saved. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return app_cli(argc, argv);
}
