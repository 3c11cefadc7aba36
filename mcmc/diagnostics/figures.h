/**
 * The figures of a report as a list: names, titles and values, for programs that print, save or plot them all.
 *
 *     const hs_report_figure *figure;
 *     for (size_t i = 0, worst; (figure = hs_report_figure_at(i)); i++)
 *         printf("%s = %g\n", figure->key, figure->value(&report, &worst));
 *
 * The list is made from mcmc/diagnostics/figures.def, where a figure is one row. It is constant, and any thread
 * may read it.
 */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_FIGURES_H
#define HASTINGS_MCMC_DIAGNOSTICS_FIGURES_H

#include <hastings/mcmc/diagnostics/diagnose.h>

/** The subject of a figure. */
typedef enum {
    HS_FIGURE_STEPS,  /**< single steps: acceptance, jumps */
    HS_FIGURE_CHAINS, /**< whole chains: effective sample sizes, R-hat */
    HS_FIGURE_SPEED,  /**< the machine: the figure differs from run to run */
} hs_figure_kind;

/** A figure of a report. */
typedef struct {
    const char *key;     /**< name in files: "ess_per_proposal" */
    const char *title;   /**< name in tables: "ESS/proposal" */
    const char *about;   /**< a sentence, without a full stop */
    hs_figure_kind kind; /**< the subject */
    const char *line;    /**< beginning of its line in the printed report; NULL: it has none */
    const char *words;   /**< the figure in that line, a format for one double */
    /** The value, NaN if it is not known; `worst` gets the coordinate of the value, or SIZE_MAX. */
    double (*value)(const hs_report *report, size_t *worst);
} hs_report_figure;

/** A figure of a single coordinate. */
typedef struct {
    const char *key;    /**< name in files: "ess_bulk" */
    const char *title;  /**< name in tables: "ESS bulk" */
    const char *about;  /**< a sentence, without a full stop */
    const char *format; /**< a format for one double; NULL: digits as the value needs them */
    double (*value)(const hs_series_summary *coordinate); /**< the value; NaN if it is not known */
} hs_coordinate_figure;

/** The i-th figure; NULL after the last. */
HS_API const hs_report_figure *hs_report_figure_at(size_t i);

/** The i-th figure of a coordinate; NULL after the last. */
HS_API const hs_coordinate_figure *hs_coordinate_figure_at(size_t i);

#endif
