#include <hastings/experiments/record.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <hastings/mcmc/diagnostics/figures.h>

app_record *app_record_new(void)
{
    app_record *r = hs_alloc_zero(1, sizeof *r);
    if (r)
        r->id = r->kase = r->row = r->error = "";
    return r;
}

void app_record_free(app_record *r)
{
    if (r)
        hs_arena_free(&r->memory);
    hs_free(r);
}

void *app_record_alloc(app_record *r, size_t count, size_t size)
{
    void *memory = hs_arena_alloc(&r->memory, hs_size_add(hs_size_product(count, size), 1));
    if (memory)
        memset(memory, 0, count * size);
    r->no_memory |= !memory;
    return memory;
}

const char *app_record_text(app_record *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = n < 0 ? NULL : app_record_alloc(r, (size_t)n + 1, 1);
    va_start(arguments, format);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, arguments);
    va_end(arguments);
    return text ? text : "";
}

app_numbers app_record_numbers(app_record *r, const double *x, size_t n)
{
    app_numbers all = { app_record_alloc(r, n, sizeof *x), n };
    if (!all.x)
        all.n = 0;
    else if (x)
        memcpy(all.x, x, n * sizeof *x);
    return all;
}

void app_record_figure(app_record *r, app_figure_id id, double value, double error)
{
    r->figure[id] = (app_figure_value){ true, value, error };
}

static void take_warnings(app_record *r, const hs_report *report)
{
    static const struct {
        hs_warning bit;
        const char *name;
    } all[] = {
#define NAMED(warning, bit, name, text) { warning, name },
        HS_WARNING_LIST(NAMED)
#undef NAMED
    };
    enum { ALL = sizeof all / sizeof *all };
    app_remark *remarks = app_record_alloc(r, ALL, sizeof *remarks);
    size_t n = 0;
    for (size_t i = 0; i < ALL && remarks; i++) {
        hs_message text;
        if (hs_report_warning(report, all[i].bit, &text))
            remarks[n++] = (app_remark){ all[i].name, app_record_text(r, "%s", text.text) };
    }
    r->warnings = (app_list){ remarks, n };
}

void app_record_diagnosis(app_record *r, const hs_report *report)
{
    size_t width = 0, n = 0, unwanted;
    for (size_t i = 0; hs_report_figure_at(i); i++)
        app_record_figure(r, (app_figure_id)i, hs_report_figure_at(i)->value(report, &unwanted),
                          (double)NAN);
    while (hs_coordinate_figure_at(width))
        width++;
    r->coordinates = app_record_numbers(r, NULL, report->dim * width);
    for (size_t i = 0; i < report->dim && r->coordinates.x; i++)
        for (size_t k = 0; k < width; k++)
            r->coordinates.x[n++] = hs_coordinate_figure_at(k)->value(&report->coordinate[i]);
    take_warnings(r, report);
}
