#include <hastings/nn/optimizer.h>

#include <math.h>

double hs_schedule_rate(const hs_schedule *schedule, double rate, uint64_t step)
{
    static const double pi = 3.14159265358979323846;
    const uint64_t warmup = schedule->warmup, steps = schedule->steps;
    if (schedule->function)
        return rate * schedule->function(step, schedule->context);
    if (step < warmup)
        return rate * ((double)step + 1) / (double)warmup;
    if (schedule->kind == HS_CONSTANT)
        return rate;
    const double part = step < steps ? (double)(step - warmup) / (double)(steps - warmup) : 1;
    if (schedule->kind == HS_EXPONENTIAL)
        return rate * pow(schedule->final, part);
    const double fraction = 0.5 * (1 + cos(pi * part));
    return rate * (schedule->final + (1 - schedule->final) * fraction);
}
