#include <hastings/tensor/api.h>

const char *hs_version(void)
{
    return HS_VERSION;
}
