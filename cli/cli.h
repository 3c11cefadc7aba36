/** The hastings program: hastings COMMAND ARGUMENT..., as a function, so that tests can call it. */
#ifndef HASTINGS_CLI_CLI_H
#define HASTINGS_CLI_CLI_H

/** Exit codes. */
enum {
    APP_EXIT_OK = 0,
    APP_EXIT_FAILURE = 1,       /**< a file, a training or the output failed */
    APP_EXIT_USAGE = 2,         /**< the command line, or a text in it, is wrong */
    APP_EXIT_INTERRUPTED = 130, /**< Ctrl-C or SIGTERM; the results so far are saved */
};

/** Runs the command argv[1]; returns the exit code. Results go to stdout, everything else to
 *  stderr. */
int app_cli(int argc, char **argv);

#endif
