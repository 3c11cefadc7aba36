#!/bin/sh
# Prints the lines of code of each folder, tracked files alone, so that growth is seen. .ci/run ends with it.
set -eu
cd "$(dirname "$0")/.."

# count FOLDER...: lines of C and of tables.
count() {
    for folder; do
        git ls-files "$folder/*.c" "$folder/*.h" "$folder/*.def" "$folder/*.sh" "$folder/*.py"
    done | xargs cat | wc -l
}

echo "Lines of code"
for folder in tensor autograd nn flows mcmc objectives; do
    printf '%8d  %s\n' "$(count $folder)" $folder
done
printf '%8d  the library\n' "$(count tensor autograd nn flows mcmc objectives)"
for folder in experiments cli tests bench examples; do
    printf '%8d  %s\n' "$(count $folder)" $folder
done
