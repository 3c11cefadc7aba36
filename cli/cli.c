#include <stdio.h>

#include <hastings/cli/cli.h>

int hs_cli(int argc, char **argv)
{
    (void)argv;
    fprintf(stderr, "hastings: %d arguments\n", argc - 1);
    return 2;
}
