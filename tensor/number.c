#include <hastings/tensor/number.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

bool hs_is_whole(double x, double most)
{
    return x >= 0 && x <= most && x == trunc(x);
}

void hs_numbers_get(hs_dtype dtype, const void *numbers, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = hs_number_get(dtype, numbers, i);
}

void hs_numbers_set(hs_dtype dtype, void *numbers, size_t n, const double *from)
{
    for (size_t i = 0; i < n; i++)
        hs_number_set(dtype, numbers, i, from[i]);
}

void hs_little_endian(void *numbers, size_t size, size_t n)
{
    const uint16_t one = 1;
    unsigned char low, swapped[8];
    memcpy(&low, &one, 1);
    for (size_t i = 0; !low && i < n; i++) {
        unsigned char *bytes = (unsigned char *)numbers + i * size;
        for (size_t k = 0; k < size; k++)
            swapped[k] = bytes[size - 1 - k];
        memcpy(bytes, swapped, size);
    }
}

static bool before(double a, double b)
{
    return a < b || (isnan(b) && !isnan(a));
}

static void swap(double *x, size_t i, size_t k)
{
    const double old = x[i];
    x[i] = x[k];
    x[k] = old;
}

/* Lets x[i] sink until no child of it in the heap [0, n) comes after it. */
static void sift(double *x, size_t i, size_t n)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(x[child], x[child + 1]))
            child++;
        if (!before(x[i], x[child]))
            return;
        swap(x, i, child);
    }
}

void hs_sort(double *x, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(x, i, n);
    for (size_t end = n; end-- > 1;) {
        swap(x, 0, end);
        sift(x, 0, end);
    }
}

double hs_median(double *x, size_t n)
{
    hs_sort(x, n);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}
