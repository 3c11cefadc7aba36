/* The page of a run, section by section. */
#ifndef HASTINGS_CLI_REPORT_PAGE_INTERNAL_H
#define HASTINGS_CLI_REPORT_PAGE_INTERNAL_H

#include <hastings/cli/plot/plot.h>
#include <hastings/cli/report/buffer.h>
#include <hastings/cli/report/table.h>

#include "report_internal.h"

enum { PAGE_SECTIONS = 16 };

typedef struct {
    app_buffer html;
    const json_t *result;
    const char *folder;
    size_t pictures; /* bytes of pictures in the page so far */
    hs_arena memory; /* for what the section at hand draws */
    hs_status status;
    hs_message message; /* a file that could not be written */
    struct {
        const char *id, *title;
    } section[PAGE_SECTIONS];
    size_t sections;
} page;

/* The style sheet, in lines; NULL ends it. */
extern const char *const app_page_style[];

/* Sections; each writes nothing if there is nothing to show. */
void app_page_head(
    page *p); /* title, state, what was run, verdicts, and links to the sections so far */
void app_page_warnings(page *p); /* of the diagnostics */
void app_page_tables(page *p);   /* against the paper, with notes */
void app_page_bars(page *p);     /* the same as pictures */
void app_page_curves(page *p);   /* of training */
void app_page_maps(page *p);     /* densities and weights */
void app_page_chains(page *p);   /* traces, autocorrelations, ESS */
void app_page_jobs(page *p);     /* each job with its figures and files */
void app_page_settings(page *p); /* settings, host, how to repeat it, files */

/* Begins and ends a section with a heading; `id` is its anchor. */
void app_page_section(page *p, const char *id, const char *title);
void app_page_section_end(page *p);

/* Where a picture goes: figures/NAME.svg and .png, and the page. `name` is made safe for a file. */
typedef struct {
    char svg_path[4096], png_path[4096], name[256];
    char *svg;
    bool wide; /* takes the whole width, beside nothing */
    app_figure_out out;
} picture;

/* Prepares a picture; pass &pic->out to the function that draws. */
void app_picture_begin(picture *pic, const page *p, const char *name, const char *kind);

/* Puts it into the page (if that is not too large yet; else a link), with a text for those who cannot
 * see it, and says what went wrong if it could not be drawn. */
void app_picture_end(picture *pic, page *p, hs_status status, const hs_message *message,
                     const char *alt, const char *caption);

/* The numbers of an array, null as NaN, in the page's memory; NULL if there are none. */
double *app_page_numbers(page *p, const json_t *array, size_t *count);

/* Whether numbers are better shown on a logarithmic axis: all positive, and of several decades. */
bool app_page_wants_log(const double *numbers, size_t n);

/* Formatted text in the page's memory; "" without memory. */
const char *app_page_text(page *p, const char *format, ...) HS_PRINTF(2, 3);

/* Whether a job is one that is shown: the first replication. */
static inline bool is_shown(const json_t *job)
{
    const double replication = number_of(job, "replication");
    return isnan(replication) || replication <= 1;
}

/* "9.1 s", "3 min 5 s", "2 h 4 min"; "" for NaN. */
enum { PAGE_TIME = 32 };
const char *app_page_time(double seconds, char text[PAGE_TIME]);

/* Finds the job of a case and a row that is shown; NULL if there is none. */
const json_t *app_page_job(const page *p, const char *case_name, const char *row);

#endif
