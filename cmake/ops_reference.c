/* Prints docs/ops.md, the reference of all ops, from the table that defines them. */
#include <stdio.h>
#include <string.h>

/* Text in a cell of a Markdown table, as code if it is not empty. */
static void print_cell(const char *text, const char *quote)
{
    printf(" %s", quote);
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
    printf("%s |", quote);
}

static void print_row(const char *name, const char *operands, const char *doc, const char *a,
                      const char *b, const char *c)
{
    const char *const rules[] = { a, b, c };
    printf("| `hs_%s(%s)` |", name, strcmp(name, "polygamma") == 0 ? "n, x" : operands);
    print_cell(doc, "");
    for (int i = 0; i < 3 && rules[i]; i++)
        print_cell(strcmp(rules[i], "ZERO") == 0 ? "0" : rules[i], "`");
    puts("");
}

static void print_head(const char *title, const char *columns, int count)
{
    printf("\n## %s\n\n%s\n|", title, columns);
    for (int i = 0; i < count; i++)
        printf("---|");
    puts("");
}

int main(void)
{
    puts("# Ops\n\n"
         "Every op that a tape can hold. This page is printed from `autograd/ops.def`, the table\n"
         "that also makes the kernels, the derivatives and the list that the gradient tests walk;\n"
         "`cmake --build --preset release --target update-docs` prints it anew.\n\n"
         "Descriptions call the operands x, y, z. Derivatives are written in ops themselves, so\n"
         "that they can be differentiated again: there `a`, `b`, `c` stand for the first, second\n"
         "and third operand, `y` for the op's value, and `g` for the gradient of the loss with\n"
         "respect to that value. What an operand was broadcast over is summed afterwards. An op's\n"
         "`attributes` are its arguments besides operands, and `length` is the length of their\n"
         "axis in `a`.\n\n"
         "`autograd/ops.h` has the functions with their arguments, and more that are recorded as\n"
         "several ops: `hs_scale`, `hs_shift`, `hs_sub_from`, `hs_power`, `hs_dot`, `hs_sum`,\n"
         "`hs_mean`, `hs_softmax`, `hs_log_softmax`, `hs_sum_rows`, `hs_mean_rows`.");

#define HS_UNARY(name, traits, domain, kernel, ga, doc) print_row(#name, "x", doc, #ga, NULL, NULL);
    print_head("Of one operand, elementwise", "| op | value | gradient of x |", 3);
#include <hastings/autograd/ops.def>

#define HS_BINARY(name, traits, domain, kernel, ga, gb, doc)                                       \
    print_row(#name, "x, y", doc, #ga, #gb, NULL);
    print_head("Of two operands, elementwise and broadcasting",
               "| op | value | gradient of x | gradient of y |", 4);
#include <hastings/autograd/ops.def>

#define HS_TERNARY(name, traits, domain, kernel, ga, gb, gc, doc)                                  \
    print_row(#name, "x, y, z", doc, #ga, #gb, #gc);
    print_head("Of three operands, elementwise and broadcasting",
               "| op | value | gradient of x | gradient of y | gradient of z |", 5);
#include <hastings/autograd/ops.def>

#define HS_OP(name, traits, ga, example, doc)                                                      \
    printf("| `%s` |", #name);                                                                     \
    print_cell(doc, "");                                                                           \
    print_cell(#example, "`");                                                                     \
    print_cell(strcmp(#ga, "ZERO") == 0 ? "0" : #ga, "`");                                         \
    puts("");
    print_head("Of whole values",
               "| op | value | as in the tests (a and b are 2 x 3) | gradient of x, or its "
               "function in `autograd/rules.c` |",
               4);
#include <hastings/autograd/ops.def>

#define HS_LEAF(name, doc)                                                                         \
    printf("| `%s` |", #name);                                                                     \
    print_cell(doc, "");                                                                           \
    puts("");
    print_head("Leaves", "| leaf | value |", 2);
#include <hastings/autograd/ops.def>
    return 0;
}
