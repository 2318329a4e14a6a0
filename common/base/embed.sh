#!/bin/sh
# Prints a C file with each given file as a string: web/room.html becomes web_room_html.
set -eu
for file in "$@"; do
    printf 'extern const char web_%s[];\nconst char web_%s[] =\n' "$(basename "$file" | tr .- __)" "$(basename "$file" | tr .- __)"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$file"
    echo ';'
done
