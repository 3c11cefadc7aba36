/** The hastings program: hastings COMMAND ARGUMENT..., as a function, so that tests can call it. */
#ifndef HASTINGS_CLI_CLI_H
#define HASTINGS_CLI_CLI_H

/** Exit codes. */
enum {
    APP_EXIT_OK = 0,
    APP_EXIT_FAILURE = 1,       /**< something could not be done: a file, a training, the output */
    APP_EXIT_USAGE = 2,         /**< the command line, or a text in it, makes no sense */
    APP_EXIT_INTERRUPTED = 130, /**< Ctrl-C or SIGTERM; what there is was saved */
};

/** Runs argv[1] and what follows; returns the exit code. Results go to stdout, all else to stderr. */
int app_cli(int argc, char **argv);

#endif
