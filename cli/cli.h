/** The hastings program: hastings COMMAND ARGUMENT..., as a function, so that tests can call it. */
#ifndef HASTINGS_CLI_CLI_H
#define HASTINGS_CLI_CLI_H

/** Returns the exit code: 0, 1 for a failure, 2 for wrong usage. */
int hs_cli(int argc, char **argv);

#endif
