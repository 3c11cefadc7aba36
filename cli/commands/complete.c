/* hastings completion: scripts for shells, made from the tables of commands and options. */
#include <string.h>

#include <hastings/cli/commands/command.h>
#include <hastings/experiments/run.h>
#include <hastings/experiments/spec.h>
#include <hastings/objectives/objectives.h>

/* ---- Words ----------------------------------------------------------------------------------- */

/* "a|b|c" as "a b c". */
static void print_choices(const char *choices)
{
    for (const char *c = choices; *c; c++)
        putchar(*c == '|' ? ' ' : *c);
}

static void print_experiments(void)
{
    char name[64];
    for (size_t i = 0; app_experiment_name(i, name); i++)
        printf("%s%s", i ? " " : "", name);
}

static void print_kinds(app_option_type type)
{
    if (type == APP_OPTION_OBJECTIVE)
        for (size_t i = 0; hs_objective_list(i); i++)
            printf("%s%s", i ? " " : "", hs_objective_list(i)->name);
    else
        for (size_t i = 0;; i++) {
            const app_spec_entry *e = type == APP_OPTION_TARGET     ? app_spec_targets(i)
                                      : type == APP_OPTION_PROPOSAL ? app_spec_proposals(i)
                                                                    : app_spec_optimizers(i);
            if (!e)
                return;
            printf("%s%s", i ? " " : "", e->kind);
        }
}

/* Prints the possible values of an option; false for a file, a folder or free text. */
static bool print_values(const app_option *o)
{
    switch (o->type) {
    case APP_OPTION_CHOICE:
        print_choices(o->argument);
        return true;
    case APP_OPTION_TARGET:
    case APP_OPTION_PROPOSAL:
    case APP_OPTION_OBJECTIVE:
    case APP_OPTION_OPTIMIZER:
        print_kinds(o->type);
        return true;
    case APP_OPTION_FLAG:
    case APP_OPTION_COUNT:
    case APP_OPTION_WHOLE:
    case APP_OPTION_NUMBER:
    case APP_OPTION_TEXT:
    case APP_OPTION_FILE:
    case APP_OPTION_FOLDER:
        break;
    }
    return false;
}

static bool has_values(const app_option *o)
{
    return o->type == APP_OPTION_CHOICE || o->type == APP_OPTION_TARGET ||
           o->type == APP_OPTION_PROPOSAL || o->type == APP_OPTION_OBJECTIVE ||
           o->type == APP_OPTION_OPTIMIZER;
}

/* The i-th option of a command, and of all. */
static const app_option *option_of(const app_command *c, size_t i)
{
    const app_option *const tables[APP_OPTION_TABLES] = { c->options, app_global_options };
    return app_option_at(tables, i);
}

/* Prints text for single quotes, with a backslash before quotes and the characters of `special`. */
static void print_quoted(const char *text, const char *quote, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs(quote, stdout);
        else if (strchr(special, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_values(const app_command *c)
{
    for (size_t i = 0; option_of(c, i); i++) {
        const app_option *o = option_of(c, i);
        if (o->type == APP_OPTION_FLAG)
            continue;
        printf("    '%s --%s') ", c->name, o->name);
        if (has_values(o)) {
            printf("words='");
            print_values(o);
            printf("' ;;\n");
        } else {
            printf("kind=%s ;;\n", o->type == APP_OPTION_FILE     ? "files"
                                   : o->type == APP_OPTION_FOLDER ? "folders"
                                                                  : "nothing");
        }
    }
}

static void bash_words(const app_command *c)
{
    printf("        %s) options='", c->name);
    for (size_t i = 0; option_of(c, i); i++)
        printf("%s--%s", i ? " " : "", option_of(c, i)->name);
    printf("'");
    if (c->complete && !strcmp(c->complete, APP_WORDS_EXPERIMENTS)) {
        printf(" words='");
        print_experiments();
        printf("' kind=files");
    } else if (c->complete && !strcmp(c->complete, APP_WORDS_FILES)) {
        printf(" kind=files");
    } else if (c->complete && !strcmp(c->complete, APP_WORDS_FOLDERS)) {
        printf(" kind=folders");
    } else if (c->complete) {
        printf(" words='");
        print_choices(c->complete);
        printf("'");
    }
    printf(" ;;\n");
}

static void print_bash(void)
{
    printf("# Completion of hastings for bash: source <(hastings completion bash)\n"
           "_hastings() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local command= words= options= kind= i\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n        ");
    for (size_t i = 0; app_command_at(i); i++)
        printf("%s%s", i ? " | " : "", app_command_at(i)->name);
    printf(") command=${COMP_WORDS[i]} && break ;;\n"
           "        esac\n"
           "    done\n"
           "    case \"$command $prev\" in\n");
    for (size_t i = 0; app_command_at(i); i++)
        bash_values(app_command_at(i));
    printf("    *)\n"
           "        case $command in\n");
    for (size_t i = 0; app_command_at(i); i++)
        bash_words(app_command_at(i));
    printf("        *) words='");
    for (size_t i = 0; app_command_at(i); i++)
        printf("%s%s", i ? " " : "", app_command_at(i)->name);
    printf("' options='");
    for (const app_option *o = app_global_options; o->name; o++)
        printf("%s--%s", o == app_global_options ? "" : " ", o->name);
    printf("' ;;\n"
           "        esac\n"
           "        [[ $cur == -* ]] && words=$options kind=\n"
           "        ;;\n"
           "    esac\n"
           "    mapfile -t COMPREPLY < <(\n"
           "        compgen -W \"$words\" -- \"$cur\"\n"
           "        [[ $kind != files ]] || compgen -f -- \"$cur\"\n"
           "        [[ $kind != folders ]] || compgen -d -- \"$cur\"\n"
           "    )\n"
           "    [[ $kind != files && $kind != folders ]] || compopt -o filenames 2>/dev/null\n"
           "    return 0\n"
           "}\n"
           "complete -F _hastings hastings\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh_command(const app_command *c)
{
    printf("    %s)\n        _arguments", c->name);
    for (size_t i = 0; option_of(c, i); i++) {
        const app_option *o = option_of(c, i);
        printf(" \\\n            '--%s[", o->name);
        print_quoted(o->help, "'\\''", "[]:");
        printf("]");
        if (o->type != APP_OPTION_FLAG) {
            printf(":");
            print_quoted(o->argument, "'\\''", "[]:");
            printf(":");
            if (has_values(o)) {
                printf("(");
                print_values(o);
                printf(")");
            } else if (o->type == APP_OPTION_FILE) {
                printf("_files");
            } else if (o->type == APP_OPTION_FOLDER) {
                printf("_files -/");
            }
        }
        printf("'");
    }
    if (c->complete) {
        printf(" \\\n            '*:argument:");
        if (!strcmp(c->complete, APP_WORDS_EXPERIMENTS)) {
            printf("(");
            print_experiments();
            printf(")");
        } else if (!strcmp(c->complete, APP_WORDS_FILES)) {
            printf("_files");
        } else if (!strcmp(c->complete, APP_WORDS_FOLDERS)) {
            printf("_files -/");
        } else {
            printf("(");
            print_choices(c->complete);
            printf(")");
        }
        printf("'");
    }
    printf("\n        ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef hastings\n"
           "# Completion of hastings for zsh: hastings completion zsh >\"${fpath[1]}/_hastings\"\n"
           "_hastings() {\n"
           "    local -a commands=(\n");
    for (size_t i = 0; app_command_at(i); i++) {
        printf("        '%s:", app_command_at(i)->name);
        print_quoted(app_command_at(i)->summary, "'\\''", ":");
        printf("'\n");
    }
    printf("    )\n"
           "    if ((CURRENT == 2)); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    local command=$words[2]\n"
           "    shift words\n"
           "    ((CURRENT--))\n"
           "    case $command in\n");
    for (size_t i = 0; app_command_at(i); i++)
        zsh_command(app_command_at(i));
    printf("    esac\n"
           "}\n"
           "if [[ $funcstack[1] == _hastings ]]; then _hastings \"$@\"; else compdef _hastings "
           "hastings; fi\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_command(const app_command *c)
{
    for (size_t i = 0; option_of(c, i); i++) {
        const app_option *o = option_of(c, i);
        printf("complete -c hastings -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
        if (has_values(o)) {
            printf(" -x -a '");
            print_values(o);
            printf("'");
        } else if (o->type == APP_OPTION_FILE) {
            printf(" -r -F");
        } else if (o->type == APP_OPTION_FOLDER) {
            printf(" -x -a '(__fish_complete_directories)'");
        } else if (o->type != APP_OPTION_FLAG) {
            printf(" -x");
        }
        printf(" -d '");
        print_quoted(o->help, "\\'", "\\");
        printf("'\n");
    }
    if (!c->complete)
        return;
    printf("complete -c hastings -n '__fish_seen_subcommand_from %s'", c->name);
    if (!strcmp(c->complete, APP_WORDS_EXPERIMENTS)) {
        printf(" -F -a '");
        print_experiments();
        printf("'\n");
    } else if (!strcmp(c->complete, APP_WORDS_FILES)) {
        printf(" -F\n");
    } else if (!strcmp(c->complete, APP_WORDS_FOLDERS)) {
        printf(" -a '(__fish_complete_directories)'\n");
    } else {
        printf(" -a '");
        print_choices(c->complete);
        printf("'\n");
    }
}

static void print_fish(void)
{
    printf("# Completion of hastings for fish: hastings completion fish | source\n"
           "complete -c hastings -f\n");
    for (size_t i = 0; app_command_at(i); i++) {
        printf("complete -c hastings -n __fish_use_subcommand -a %s -d '", app_command_at(i)->name);
        print_quoted(app_command_at(i)->summary, "\\'", "\\");
        printf("'\n");
    }
    for (size_t i = 0; app_command_at(i); i++)
        fish_command(app_command_at(i));
}

static int completion(const app_call *call)
{
    const char *shell = call->arguments->word[0];
    if (!strcmp(shell, "bash"))
        print_bash();
    else if (!strcmp(shell, "zsh"))
        print_zsh();
    else if (!strcmp(shell, "fish"))
        print_fish();
    else
        return app_call_fail(call, HS_EINVAL, "\"%.60s\": expected bash, zsh or fish", shell);
    return APP_EXIT_OK;
}

const app_command app_command_completion = {
    .name = "completion",
    .words = "bash|zsh|fish",
    .summary = "print a completion script for a shell",
    .about = "Prints a script for a shell. With it, the tab key completes commands, options, "
             "experiments, targets, proposals and objectives.",
    .examples = "source <(hastings completion bash)\n"
                "hastings completion zsh > \"${fpath[1]}/_hastings\"\n"
                "hastings completion fish | source",
    .least = 1,
    .most = 1,
    .complete = "bash|zsh|fish",
    .run = completion,
};
