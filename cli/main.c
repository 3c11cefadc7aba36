#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <hastings/cli/cli.h>

/* Files that are opened later must not become stdout or stderr because these were closed. What stands in
 * for them cannot be written to, so that writing fails and is reported. */
static void keep_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
            exit(APP_EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    /* Writing to a pipe that nobody reads any more fails, instead of ending a run that is to be saved. */
    signal(SIGPIPE, SIG_IGN);
    return app_cli(argc, argv);
}
