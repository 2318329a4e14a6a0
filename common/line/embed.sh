#!/bin/sh
# Prints a C file with every Lua script as a string and its keys as a list. A script is: its "#!lua" line, local names
# for the keys of its "-- keys:" line (without ":*"), prelude.lua, the pieces of its "-- with:" line, its body. With --lua NAME it prints
# that one script as Redis gets it (the model test uses this, so it tests the same bytes).
set -eu
here=$(dirname "$0")
render() {
    file=$here/$1.lua
    keys=$(sed -n 's/^-- keys: //p' "$file")
    sed -n 1p "$file"
    i=0
    set -f # a star in a key is no pattern
    for key in $keys; do
        i=$((i + 1))
        printf 'local %s = KEYS[%d]\n' "$(echo "${key%:\*}" | tr '[:lower:]' '[:upper:]')" $i
    done
    set +f
    grep -q '^-- prelude: none' "$file" || grep -v '^ *--' "$here/prelude.lua"
    pieces=$(sed -n 's/^-- with: //p' "$file")
    for piece in $pieces; do grep -v '^ *--' "$here/$piece.lua"; done
    sed 1d "$file" | grep -v '^ *--'
}
if [ "${1:-}" = --lua ]; then
    render "$2"
    exit
fi
echo '/* Made by common/line/embed.sh from the Lua scripts beside it. */'
echo '#include "common/line/script.h"'
for file in "$here"/*.lua; do
    name=$(basename "$file" .lua)
    grep -q '^#!lua' "$file" || continue
    printf 'struct line_script script_%s = {.keys = "%s", .script = {.name = "%s", .body =\n' "$name" \
        "$(sed -n 's/^-- keys: //p' "$file")" "$name"
    render "$name" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/'
    echo '}};'
done
