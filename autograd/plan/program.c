/* Making of elementwise groups: one pass over memory for a chain of ops, and for a sum at its end. */
#include "plan_internal.h"

#include <string.h>

/* While a program is made, its loops are a list of dimensions, outermost first; the lanes of the
 * batch, if there are several, are the last. */
typedef struct {
    int dims;
    size_t length[LOOP_DIMS + 1];
    size_t stride[MAX_OPERANDS][LOOP_DIMS + 1];
    size_t out[LOOP_DIMS + 1];
    bool summed[LOOP_DIMS + 1];
    bool fixed_lanes; /* the lanes must stay a dimension of their own */
} loop_nest;

typedef struct {
    const hs_plan *plan;
    const graph_node *space;
    hs_shape shape; /* of the space, or of the part of it that is wanted */
    bool lanes;     /* several lanes */
    int32_t operand_node[MAX_OPERANDS];
    operand_mode mode[MAX_OPERANDS];
    size_t feature[MAX_OPERANDS];
    int operands;
    loop_nest nest;
    program_step step[MAX_STEPS];
    int32_t step_node[MAX_STEPS];
    int steps;
} maker;

/* Distances in elements between neighbours along the dimensions of `space`, for a value of `shape`
 * that broadcasts to it. */
static void feature_strides(const hs_shape *space, const hs_shape *shape, size_t unit,
                            size_t *stride)
{
    const int shift = space->rank - shape->rank;
    for (int i = space->rank - 1; i >= 0; i--) {
        const size_t length = i >= shift ? shape->dim[i - shift] : 1;
        stride[i] = length == 1 ? 0 : unit;
        unit *= length;
    }
}

static operand_mode lane_mode(const maker *m, hs_extent extent)
{
    const hs_plan *plan = m->plan;
    if (extent == m->space->extent || (extent == HS_START && plan->request->rows_per_start == 1))
        return OPERAND_VECTOR;
    return plan->layout->stride[extent] == 1 ? OPERAND_SCALAR : OPERAND_EXPAND;
}

/* The operand number of a stored node. */
static int operand_of(maker *m, int32_t id)
{
    for (int i = 0; i < m->operands; i++)
        if (m->operand_node[i] == id)
            return i;
    const graph_node *node = node_at(m->plan, id);
    const int k = m->operands++, lanes = m->shape.rank;
    m->operand_node[k] = id;
    m->mode[k] = m->lanes ? lane_mode(m, node->extent) : OPERAND_VECTOR;
    feature_strides(&m->shape, &node->shape, m->plan->layout->stride[node->extent],
                    m->nest.stride[k]);
    m->feature[k] =
        m->shape.rank && place_of(m->plan, id).kind != IN_CHUNK ? m->nest.stride[k][0] : 0;
    if (m->lanes) {
        m->nest.stride[k][lanes] = m->mode[k] == OPERAND_VECTOR;
        m->nest.fixed_lanes = m->nest.fixed_lanes || m->mode[k] == OPERAND_EXPAND;
    }
    return k;
}

/* Where the value of a node comes from: step s as s, operand k as -1 - k. */
static int source_of(maker *m, int32_t id)
{
    for (int s = 0; s < m->steps; s++)
        if (m->step_node[s] == id)
            return s;
    return -1 - operand_of(m, id);
}

static void drop_dimension(maker *m, int at)
{
    loop_nest *nest = &m->nest;
    nest->dims--;
    for (int d = at; d < nest->dims; d++) {
        nest->length[d] = nest->length[d + 1];
        nest->out[d] = nest->out[d + 1];
        nest->summed[d] = nest->summed[d + 1];
        for (int k = 0; k < m->operands; k++)
            nest->stride[k][d] = nest->stride[k][d + 1];
    }
}

/* True if dimension d and the next are walked as one by every operand. */
static bool mergeable(const maker *m, int d)
{
    const loop_nest *nest = &m->nest;
    if (nest->summed[d] != nest->summed[d + 1])
        return false;
    if (m->lanes && d + 1 == nest->dims - 1 && (nest->fixed_lanes || nest->summed[d + 1]))
        return false;
    const size_t length = nest->length[d + 1];
    if (nest->out[d] != nest->out[d + 1] * length)
        return false;
    for (int k = 0; k < m->operands; k++)
        if (nest->stride[k][d] != nest->stride[k][d + 1] * length)
            return false;
    return true;
}

static void simplify_loops(maker *m)
{
    loop_nest *nest = &m->nest;
    const int lanes = m->lanes ? 1 : 0;
    for (int d = nest->dims - 1 - lanes; d >= 0; d--)
        if (nest->length[d] == 1)
            drop_dimension(m, d);
    for (int d = nest->dims - 2; d >= 0; d--)
        if (mergeable(m, d)) {
            nest->length[d + 1] *= nest->length[d];
            drop_dimension(m, d);
        }
}

/* Lets results share registers: one is free again after its last use. */
static int assign_registers(maker *m, int *result)
{
    int last_use[MAX_STEPS], held[MAX_STEPS], registers = 0;
    bool taken[MAX_STEPS] = { false };
    for (int s = 0; s < m->steps; s++) {
        last_use[s] = s;
        for (int i = 0; i < 3; i++)
            if (m->step[s].source[i] >= 0 && i < hs__op_table[m->step[s].op].arity)
                last_use[m->step[s].source[i]] = s;
    }
    if (*result >= 0)
        last_use[*result] = m->steps;
    for (int s = 0; s < m->steps; s++) {
        program_step *step = &m->step[s];
        int sources[3];
        memcpy(sources, step->source, sizeof sources);
        int r = 0;
        while (taken[r])
            r++;
        taken[r] = true;
        held[s] = step->result = r;
        registers = r + 1 > registers ? r + 1 : registers;
        for (int i = 0; i < hs__op_table[step->op].arity; i++)
            if (sources[i] >= 0) {
                step->source[i] = held[sources[i]];
                if (last_use[sources[i]] == s)
                    taken[held[sources[i]]] = false;
            }
        if (last_use[s] == s)
            taken[r] = false;
    }
    if (*result >= 0)
        *result = held[*result];
    return registers;
}

/* The steps of the group of `root`, in the order of the tape. */
static void collect_steps(maker *m, int32_t root)
{
    const hs_plan *plan = m->plan;
    for (int32_t id = scheduled(plan, root)->group_first; id <= root; id++) {
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        const bool member = (id == root && node->op != OP_sum_to) ||
                            (s->making == FUSED_INTO && s->host == root && id != root);
        if (!member)
            continue;
        const op_code op = node->op == OP_broadcast ? OP_copy : node->op;
        int source[3] = { 0, 0, 0 };
        for (int i = 0; i < hs__op_table[op].arity;
             i++) /* a softplus may have its sigmoid besides */
            source[i] = source_of(m, node->input[i]);
        program_step *step = &m->step[m->steps];
        m->step_node[m->steps++] = id;
        *step = (program_step){ .op = op, .order = node->attributes ? node->attributes->order : 0 };
        memcpy(step->source, source, sizeof source);
    }
}

/* The more rows in a tile, the less it costs to walk through the program; but they must fit into a
 * block, and fill whole vectors. */
static void set_tile(const hs_plan *plan, program *p, program_operand *operand, int operands)
{
    const size_t block = BLOCK_BYTES / plan->request->element;
    p->tile = 1;
    if (p->dims[tile_kind(p)] == 0 || p->inner % plan->request->elementwise->lanes ||
        2 * p->inner > block)
        return;
    p->tile = block / p->inner;
    for (int k = 0; k < operands; k++)
        if (operand[k].mode == OPERAND_SCALAR && row_stride(p, &operand[k]))
            operand[k].mode = OPERAND_ROWS;
}

/* Whether the sum at the end can take the last step, a softplus, into its kernel, which spares all
 * of its logarithms but one for a tile. A stored value is summed where it is: its tiles need not fit
 * into a block, and have as many rows as the kernel takes for a logarithm. */
static bool sums_softplus(const hs_plan *plan, program *p, const maker *m,
                          const program_operand *operand, int result)
{
    enum { ROWS_IN_PLACE = 64 };
    if (result < 0 || result != m->steps - 1 || m->step[result].op != OP_softplus ||
        p->inner_starts)
        return false;
    if (p->inner_summed)
        return true;
    if (p->dims[1] == 0)
        return false;
    if (m->steps == 1 && operand->mode == OPERAND_VECTOR && row_stride(p, operand) == p->inner &&
        p->inner % plan->request->elementwise->lanes == 0)
        p->tile = ROWS_IN_PLACE;
    return p->tile > 1;
}

/* Makes an operand of the sigmoid of what is summed, which is the first; -1 if there is none, or if what is summed is
 * not where it is stored. */
static int add_sigmoid(maker *m, const program *p, int32_t softplus, program_operand *operand)
{
    const graph_node *node = node_at(m->plan, softplus);
    if (node->inputs < 2 || m->steps != 1 || p->inner_summed || p->tile == 1 ||
        operand->mode != OPERAND_VECTOR || row_stride(p, operand) != p->inner)
        return -1;
    const graph_node *sigmoid = node_at(m->plan, node->input[1]);
    const place at = place_of(m->plan, node->input[1]);
    size_t stride[LOOP_DIMS + 1];
    feature_strides(&m->shape, &sigmoid->shape, m->plan->layout->stride[sigmoid->extent], stride);
    program_operand *added = &operand[m->operands];
    *added = *operand; /* stored in the same way */
    added->at = at;
    added->feature = m->shape.rank && at.kind != IN_CHUNK ? stride[0] : 0;
    return m->operands++;
}

/* The loops over the dimensions outside of the innermost one. */
static void set_loops(const maker *m, program *p, program_operand *operand)
{
    const loop_nest *nest = &m->nest;
    for (int d = 0; d < nest->dims - 1; d++) {
        const int kind = nest->summed[d] ? 1 : 0, at = p->dims[kind]++;
        p->length[kind][at] = nest->length[d];
        if (!kind)
            p->out_stride[at] = nest->out[d];
        for (int k = 0; k < m->operands; k++)
            operand[k].stride[kind][at] = nest->stride[k][d];
    }
}

/* Places and modes of the operands. */
static void set_operands(const maker *m, const program *p, program_operand *operand)
{
    const int inner = m->nest.dims - 1;
    for (int k = 0; k < m->operands; k++) {
        const bool moves = inner < 0 || m->nest.stride[k][inner];
        operand[k] = (program_operand){ .at = place_of(m->plan, m->operand_node[k]),
                                        .mode = m->mode[k],
                                        .repeat = m->plan->request->rows_per_start,
                                        .feature = m->feature[k] };
        if (!m->lanes)
            operand[k].mode = moves ? OPERAND_VECTOR : OPERAND_SCALAR;
        else if (p->inner_lanes && !moves && operand[k].mode == OPERAND_VECTOR)
            operand[k].mode = OPERAND_SCALAR;
    }
}

/* Copies the collected steps, and notes which of their operands are one number. */
static void set_steps(const maker *m, program_step *step, const program_operand *operand)
{
    memcpy(step, m->step, (size_t)m->steps * sizeof *step);
    for (int s = 0; s < m->steps; s++)
        for (int i = 0; i < hs__op_table[step[s].op].arity; i++)
            if (step[s].source[i] < 0 && operand[-1 - step[s].source[i]].mode == OPERAND_SCALAR)
                step[s].scalars |= 1u << i;
}

/* Copies the collected program into the plan. */
static program *keep_program(maker *m, const graph_node *root, int result)
{
    const hs_plan *plan = m->plan;
    const loop_nest *nest = &m->nest;
    program *p = hs_arena_alloc(plan->arena, sizeof *p);
    program_operand *operand =
        hs_arena_alloc(plan->arena, (size_t)(m->operands + 1) * sizeof *operand);
    program_step *step = hs_arena_alloc(plan->arena, (size_t)(m->steps + 1) * sizeof *step);
    if (!p || !operand || !step)
        return NULL;
    const int inner = nest->dims - 1;
    *p = (program){ .inner = inner >= 0 ? nest->length[inner] : 1,
                    .inner_lanes = m->lanes && inner >= 0,
                    .lanes_extent = m->space->extent,
                    .inner_summed = inner >= 0 && nest->summed[inner],
                    .sigmoid = -1 };
    p->inner_starts = p->inner_lanes && p->inner_summed && root->extent == HS_START &&
                      plan->layout->stride[HS_START] > 1;
    set_operands(m, p, operand);
    set_loops(m, p, operand);
    set_tile(plan, p, operand, m->operands);
    p->sum_softplus = sums_softplus(plan, p, m, operand, result);
    if (p->sum_softplus) {
        p->sigmoid = add_sigmoid(m, p, m->step_node[result], operand);
        result = m->step[--m->steps].source[0];
    }
    /* A sum needs its value in a vector. */
    if (result < 0 && operand[-1 - result].mode != OPERAND_VECTOR) {
        m->step[m->steps] = (program_step){ .op = OP_copy, .source = { result, 0, 0 } };
        result = m->steps++;
    }
    p->registers = assign_registers(m, &result);
    p->operands = m->operands;
    p->steps = m->steps;
    p->operand = operand;
    p->step = step;
    p->result = result;
    set_steps(m, step, operand);
    return p;
}

/* The plain sum of a stored value over the lanes, as for a bias: it has a kernel of its own. */
static bool is_lane_sum(const program *p)
{
    return p->inner_summed && p->inner_lanes && !p->inner_starts && p->steps == 0 &&
           !p->sum_softplus && p->dims[1] == 0 && p->dims[0] <= 1 &&
           (p->dims[0] == 0 || p->out_stride[0] == 1);
}

/* Whether operand k has a number for each row, or whole rows one after the other. */
static bool is_of_rows(const program *p, int k)
{
    return p->operand[k].mode == OPERAND_ROWS;
}

static bool is_whole(const program *p, int k)
{
    return p->operand[k].mode == OPERAND_VECTOR && row_stride(p, &p->operand[k]) == p->inner;
}

/* The sum over features of the product of two stored values, or of the square of one. The second may have one
 * number for each row. */
static bool is_product_sum(program *p)
{
    if (p->sum_softplus || p->inner_summed || p->tile == 1 || p->dims[1] != 1 || p->steps != 1 ||
        (p->step->op != OP_mul && p->step->op != OP_square))
        return false;
    int a = -1 - p->step->source[0], b = p->step->op == OP_mul ? -1 - p->step->source[1] : a;
    if (is_of_rows(p, a)) {
        const int swap = a;
        a = b;
        b = swap;
    }
    if (!is_whole(p, a) || !(is_whole(p, b) || is_of_rows(p, b)))
        return false;
    p->step->source[0] = -1 - a;
    p->step->source[1] = -1 - b;
    return true;
}

program *hs__program_make(const hs_plan *plan, plan_code *code, int32_t id, size_t features)
{
    const graph_node *root = node_at(plan, id);
    const bool sums = root->op == OP_sum_to;
    maker *m = hs_alloc_zero(1, sizeof *m);
    if (!m) {
        hs__plan_no_memory(plan);
        return NULL;
    }
    m->plan = plan;
    m->space = sums ? node_at(plan, root->input[0]) : root;
    m->lanes = plan->layout->stride[m->space->extent] > 1;
    m->shape = m->space->shape;
    if (features)
        m->shape.dim[0] = features;
    loop_nest *nest = &m->nest;
    const hs_shape *shape = &m->shape;
    nest->dims = shape->rank + (m->lanes ? 1 : 0);
    for (int d = 0; d < shape->rank; d++)
        nest->length[d] = shape->dim[d];
    feature_strides(shape, &root->shape, plan->layout->stride[root->extent], nest->out);
    for (int d = 0; sums && d < shape->rank; d++)
        nest->summed[d] = nest->out[d] == 0 && shape->dim[d] > 1;
    if (m->lanes) {
        const int d = shape->rank;
        const bool keeps = root->extent == m->space->extent ||
                           (root->extent == HS_START && plan->request->rows_per_start == 1);
        nest->length[d] = plan->layout->stride[m->space->extent];
        nest->out[d] = keeps;
        nest->summed[d] = !keeps;
    }
    collect_steps(m, id);
    const int result = sums ? source_of(m, root->input[0]) : m->steps - 1;
    simplify_loops(m);
    program *p = keep_program(m, root, result);
    hs_free(m);
    if (!p) {
        hs__plan_no_memory(plan);
        return NULL;
    }
    p->lane_sum = is_lane_sum(p);
    p->product_sum = is_product_sum(p);
    hs__code_need_scratch(code, hs__program_scratch(plan, p));
    return p;
}
