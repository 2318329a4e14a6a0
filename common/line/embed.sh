#!/bin/sh
# Prints a C file with every Lua script as a string: the "#!lua" line of the script, then prelude.lua, then the script's body.
set -eu
quote() { sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/'; }
echo '/* Made from common/line/ *.lua; do not edit. */'
echo '#include "common/line/script.h"'
prelude=$(dirname "$1")/prelude.lua
for file in "$@"; do
    name=$(basename "$file" .lua)
    [ "$name" = prelude ] && continue
    printf 'struct redis_script script_%s = {.name = "%s", .body =\n' "$name" "$name"
    { sed -n 1p "$file"; grep -v '^ *--' "$prelude"; sed 1d "$file" | grep -v '^ *--'; } | quote
    echo '};'
done
