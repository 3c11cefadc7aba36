/* The pipeline: hs_plan_new() runs the passes of passes.def, each on its structure. */
#include "passes_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------- */

typedef struct {
    hs_pass about;
    /* One of these, or none for a switch: */
    bool (*on_graph)(const hs_plan *plan, plan_graph *graph);
    bool (*on_schedule)(const hs_plan *plan, plan_schedule *schedule);
    bool (*on_layout)(const hs_plan *plan, plan_layout *layout);
    bool (*on_code)(const hs_plan *plan, plan_code *code);
} pass_row;

enum { REQUIRED = false, OPTIONAL = true };

static const pass_row pass_table[PASS_COUNT] = {
#define ROW(name, optional, doc, ...)             [PASS_##name] = { { #name, optional, doc }, __VA_ARGS__ },
#define GRAPH_PASS(name, function, optional, doc) ROW(name, optional, doc, .on_graph = function)
#define SCHEDULE_PASS(name, function, optional, doc)                                               \
    ROW(name, optional, doc, .on_schedule = function)
#define LAYOUT_PASS(name, function, optional, doc) ROW(name, optional, doc, .on_layout = function)
#define CODE_PASS(name, function, optional, doc)   ROW(name, optional, doc, .on_code = function)
#define CODE_SWITCH(name, doc)                     ROW(name, OPTIONAL, doc, .on_code = NULL)
#include "passes.def"
};

_Static_assert(PASS_COUNT <= 32, "a pass is a bit of an unsigned");

const hs_pass *hs_plan_pass(size_t i)
{
    return i < PASS_COUNT ? &pass_table[i].about : NULL;
}

/* ---- Failures -------------------------------------------------------------------------------- */

bool hs__plan_fail(const hs_plan *plan, hs_status status, int32_t node, const char *format, ...)
{
    const tape_node *where = &plan->request->tape->node[node_at(plan, node)->tape_id];
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    *plan->status = hs_message_fail(plan->message, status, "%s: plan: %s", where->at, text);
    return false;
}

bool hs__plan_no_memory(const hs_plan *plan)
{
    *plan->status = hs_message_fail(plan->message, HS_ENOMEM, "hs_plan_new: out of memory");
    return false;
}

bool hs__plan_is_interrupted(const hs_plan *plan)
{
    const plan_request *request = plan->request;
    if (!request->interrupted || !request->interrupted(request->context))
        return false;
    *plan->status = hs_message_fail(plan->message, HS_EINTERRUPTED,
                                    "hs_plan_new: interrupted while the plan was made");
    return true;
}

/* ---- The request ----------------------------------------------------------------------------- */

/* Adds the bits of the optional passes in a list of names, such as "loops,pairs". */
static hs_status read_passes(const char *list, const char *where, unsigned *bits,
                             hs_message *message)
{
    for (const char *at = list ? list : ""; *at; at += strspn(at, ", ")) {
        const size_t length = strcspn(at, ", ");
        char known[300] = "";
        bool found = false;
        for (unsigned i = 0; i < PASS_COUNT; i++) {
            const char *name = pass_table[i].about.name;
            const size_t used = strlen(known);
            if (!pass_table[i].about.optional)
                continue;
            if (strlen(name) == length && strncmp(name, at, length) == 0) {
                *bits |= 1u << i;
                found = true;
            }
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", name);
        }
        if (!found)
            return hs_message_fail(message, HS_EINVAL,
                                   "%s: there is no optional pass \"%.*s\"; there are %s", where,
                                   (int)length, at, known);
        at += length;
    }
    return HS_OK;
}

static hs_status read_options(plan_request *request, const hs_plan_options *options,
                              hs_message *message)
{
    request->starts = options->starts ? options->starts : 1;
    request->rows_per_start = options->rows_per_start ? options->rows_per_start : 1;
    request->shard_starts = options->shard_starts;
    request->trace = options->trace;
    request->factors =
        options->factors && request->starts == 1 && request->rows_per_start == 1 && !options->trace;
    request->threads = options->threads > 0 ? options->threads : hs_threads_default();
    request->interrupted = options->interrupted;
    request->context = options->context;
    size_t rows;
    if (!hs_size_mul(request->starts, request->rows_per_start, &rows) || rows > UINT32_MAX)
        return hs_message_fail(message, HS_EOVERFLOW,
                               "hs_plan_new: %zu starts of %zu rows each are more than %lu rows",
                               request->starts, request->rows_per_start, (unsigned long)UINT32_MAX);
    /* A traced plan keeps every node apart, so that the first bad one can be named. */
    for (int pass = 0; options->trace && pass < PASS_COUNT; pass++)
        request->without |= (unsigned)pass_table[pass].about.optional << pass;
    const struct {
        const char *names, *where;
        unsigned *bits;
    } list[] = {
        { options->without, "hs_plan_options.without", &request->without },
        { getenv("HASTINGS_PLAN_WITHOUT"), "HASTINGS_PLAN_WITHOUT", &request->without },
        { options->always, "hs_plan_options.always", &request->always },
    };
    hs_status status = HS_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = read_passes(list[i].names, list[i].where, list[i].bits, message);
    return status;
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* A plan and its structures, in one block. Passes may change the structure that they make; all others see const ones. */
typedef struct {
    hs_plan plan; /* the first, so that it is freed as the block */
    plan_request request;
    plan_graph graph;
    plan_schedule schedule;
    plan_layout layout;
    plan_code code;
    plan_memory memory;
    hs_arena arena, scratch;
    hs_message message;
    hs_status status;
} plan_block;

static bool run_pass(plan_block *block, plan_pass pass)
{
    const hs_plan *plan = &block->plan;
    const pass_row *row = &pass_table[pass];
    return !runs_pass(plan, pass) ? true
           : row->on_graph        ? row->on_graph(plan, &block->graph)
           : row->on_schedule     ? row->on_schedule(plan, &block->schedule)
           : row->on_layout       ? row->on_layout(plan, &block->layout)
           : row->on_code         ? row->on_code(plan, &block->code)
                                  : true;
}

static bool run_passes(plan_block *block)
{
    bool ok = true;
    for (int pass = 0; ok && pass < PASS_COUNT; pass++) {
        ok = !hs__plan_is_interrupted(&block->plan) && run_pass(block, (plan_pass)pass);
        hs_arena_free(&block->scratch);
    }
    return ok;
}

void *hs__pass_alloc(const hs_plan *plan, size_t count, size_t size)
{
    size_t bytes;
    void *memory = hs_size_mul(count, size, &bytes) ? hs_arena_alloc(plan->scratch, bytes) : NULL;
    return memory ? memset(memory, 0, bytes) : NULL;
}

static bool are_outputs_ok(const hs_var *outputs, size_t n)
{
    if (n == 0 || !outputs[0].tape)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!hs__inputs_ok((hs_var[]){ outputs[0], outputs[i] }, 2, "plan", "hs_plan_new"))
            return false;
    return true;
}

static plan_block *new_block(const hs_var *outputs, size_t n)
{
    plan_block *b = hs_alloc_zero(1, sizeof *b);
    hs_var *wanted = b ? hs_arena_alloc(&b->arena, n * sizeof *wanted) : NULL;
    if (!wanted) {
        hs_free(b);
        return NULL;
    }
    memcpy(wanted, outputs, n * sizeof *wanted);
    const hs_tape *tape = outputs[0].tape;
    b->request = (plan_request){ .tape = tape,
                                 .dtype = tape->dtype,
                                 .element = hs_dtype_size(tape->dtype),
                                 .elementwise = hs__elementwise_for(tape->dtype),
                                 .batch = hs__batch_for(tape->dtype),
                                 .wanted = wanted,
                                 .outputs = n };
    b->plan = (hs_plan){ .request = &b->request,
                         .graph = &b->graph,
                         .schedule = &b->schedule,
                         .layout = &b->layout,
                         .code = &b->code,
                         .memory = &b->memory,
                         .arena = &b->arena,
                         .scratch = &b->scratch,
                         .message = &b->message,
                         .status = &b->status };
    return b;
}

hs_status hs_plan_new(hs_plan **plan, const hs_var *outputs, size_t n,
                      const hs_plan_options *options)
{
    static const hs_plan_options defaults;
    options = options ? options : &defaults;
    *plan = NULL;
    if (!are_outputs_ok(outputs, n)) {
        const hs_status status = n ? hs_tape_status(outputs[0].tape) : HS_OK;
        return status
                   ? hs_message_fail(options->message, status, "%s", hs_tape_error(outputs[0].tape))
                   : hs_message_fail(options->message, HS_EINVAL,
                                     "hs_plan_new: there are no outputs of one tape");
    }
    plan_block *b = new_block(outputs, n);
    if (!b)
        return hs_message_fail(options->message, HS_ENOMEM, "hs_plan_new: out of memory");
    b->status = read_options(&b->request, options, &b->message);
    if (!b->status && run_passes(b) && hs__plan_allocate(&b->plan, options)) {
        *plan = &b->plan;
        return HS_OK;
    }
    const hs_status status = b->status;
    hs_message_fail(options->message, status, "%s", b->message.text);
    hs_plan_free(&b->plan);
    return status;
}

void hs_plan_free(hs_plan *plan)
{
    if (!plan)
        return;
    plan_block *b = (plan_block *)plan;
    hs__plan_release(plan);
    hs_free(b->graph.node);
    hs_arena_free(&b->arena);
    hs_free(b);
}
