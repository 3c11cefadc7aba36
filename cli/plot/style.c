/* Colours of figures. */
#include "plot_internal.h"

const plot_colour app_plot_ink = { 0.13, 0.15, 0.19 };
const plot_colour app_plot_muted = { 0.36, 0.39, 0.45 };
const plot_colour app_plot_line = { 0.62, 0.65, 0.70 };
const plot_colour app_plot_grid = { 0.915, 0.925, 0.94 };
const plot_colour app_plot_red = { 0.90, 0.05, 0.12 };
const plot_colour app_plot_white = { 1, 1, 1 };

plot_colour app_plot_palette(size_t i)
{
    /* In an order in which neighbours differ most; the yellow, faint on white, comes last. */
    static const plot_colour colours[PLOT_PALETTE] = {
        { 0.000, 0.447, 0.698 }, /* blue */
        { 0.835, 0.369, 0.000 }, /* vermilion */
        { 0.000, 0.620, 0.451 }, /* bluish green */
        { 0.800, 0.475, 0.655 }, /* reddish purple */
        { 0.902, 0.624, 0.000 }, /* orange */
        { 0.337, 0.706, 0.914 }, /* sky blue */
        { 0.200, 0.200, 0.200 }, /* black */
        { 0.941, 0.894, 0.259 }, /* yellow */
    };
    return colours[i % PLOT_PALETTE];
}

/* The polynomials of degree six that Zucker fitted to van der Walt and Smith's table; they stay
 * within 0.013 of it. */
plot_colour app_plot_viridis(double t)
{
    static const double c[7][3] = {
        { 0.2777273272234177, 0.005407344544966578, 0.3340998053353061 },
        { 0.1050930431085774, 1.404613529898575, 1.384590162594685 },
        { -0.3308618287255563, 0.214847559468213, 0.09509516302823659 },
        { -4.634230498983486, -5.799100973351585, -19.33244095627987 },
        { 6.228269936347081, 14.17993336680509, 56.69055260068105 },
        { 4.776384997670288, -13.74514537774601, -65.35303263337234 },
        { -5.435455855934631, 4.645852612178535, 26.3124352495832 },
    };
    double rgb[3];
    t = t > 0 ? (t < 1 ? t : 1) : 0;
    for (int k = 0; k < 3; k++) {
        double value = c[6][k];
        for (int i = 5; i >= 0; i--)
            value = value * t + c[i][k];
        rgb[k] = value > 0 ? (value < 1 ? value : 1) : 0;
    }
    return (plot_colour){ rgb[0], rgb[1], rgb[2] };
}

void app_plot_set(cairo_t *cr, plot_colour colour, double alpha)
{
    cairo_set_source_rgba(cr, colour.r, colour.g, colour.b, alpha);
}
