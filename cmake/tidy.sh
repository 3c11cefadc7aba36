# ./test tidy: everything that can be judged without running it. ./test sources this.

# Every check runs, and says what it found.
tidy() {
    need clang-format:clang-format clang-tidy:clang-tidy libomp-dev doxygen:doxygen shellcheck:shellcheck git:git
    configure release
    untidy=
    for check in format code reference scripts; do
        started=$(date +%s)
        if "tidy_$check"; then verdict="in order"; else
            verdict="NOT in order"
            untidy="$untidy $check"
        fi
        echo "tidy: $check: $verdict ($(($(date +%s) - started)) s)"
    done
    [ -z "$untidy" ]
}

# The layout is .clang-format's. Repair: git ls-files '*.c' '*.h' | xargs clang-format -i
tidy_format() {
    git ls-files -z '*.c' '*.h' '*.cpp' | xargs -0 -P "$(nproc)" -n 16 clang-format --dry-run -Werror
}

# clang-tidy on every source that the release build compiles. One that is compiled in many variants, a kernel,
# is looked at once, in the last.
tidy_code() {
    mkdir -p build/tidy
    awk '/^\{/ { entry = "" }
         { entry = entry $0 "\n" }
         /^ *"file":/ { file = $0; sub(/.*": "/, "", file); sub(/".*/, "", file) }
         /^\}/ { if (!(file in last)) order[n++] = file; sub(/,\n$/, "\n", entry); last[file] = entry }
         END { for (i = 0; i < n; i++) printf "%s%s", i ? "," : "[", last[order[i]]
               print "]"
               for (i = 0; i < n; i++) print order[i] > "build/tidy/files" }' \
        build/release/compile_commands.json >build/tidy/compile_commands.json
    # clang-tidy counts on stderr the warnings that it does not show.
    xargs -P "$(nproc)" -n 1 clang-tidy -p build/tidy --quiet <build/tidy/files 2>build/tidy/log || {
        grep -v 'warnings\? .*generated' build/tidy/log >&2
        return 1
    }
}

# Doxygen on the public headers. It does not miss comments of files and of enumerators by itself.
tidy_reference() {
    for header in $(git ls-files '*.h' | grep -E '^(tensor|autograd|nn|flows|mcmc|objectives)/' |
        grep -vE '_internal\.h$|/simd\.h$|/vector_math\.h$'); do
        [ "$(head -n 1 "$header")" = '/**' ] || {
            echo "$header: the first line is not /**, which begins the comment about the file"
            return 1
        }
    done
    { cat Doxyfile && printf 'GENERATE_XML = YES\nXML_OUTPUT = doc-xml\n'; } | doxygen - &&
        awk '/<memberdef kind="enum"/ { named = 1 }
             /<name>@/ { named = 0 }
             /<enumvalue/ { said = 0 }
             /<name>/ { name = $0; gsub(/ *<\/?name>/, "", name) }
             /<para>/ { said = 1 }
             /<\/enumvalue>/ && named && !said { print FILENAME ": " name " has no comment"; failed = 1 }
             END { exit failed }' build/doc-xml/*_8h.xml
}

tidy_scripts() {
    git ls-files -z '*.sh' run test .ci/run data/get-australian data/get-mnist |
        xargs -0 shellcheck --shell=sh --severity=warning
}
