#include <hastings/cli/cli.h>

int main(int argc, char **argv)
{
    return hs_cli(argc, argv);
}
