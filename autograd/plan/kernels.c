#include "kernels_internal.h"

#include <hastings/tensor/cpu.h>

HS_KERNEL_TABLE(elementwise_kernels, elementwise);
HS_KERNEL_TABLE(batch_kernels, batch);

const elementwise_kernels *hs__elementwise_for(hs_dtype dtype)
{
    return elementwise_table[hs_cpu_isa()][dtype];
}

const batch_kernels *hs__batch_for(hs_dtype dtype)
{
    return batch_table[hs_cpu_isa()][dtype];
}
