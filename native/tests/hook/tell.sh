#!/bin/sh
# tell.sh PROGRAM STAND_IN STORY: tells a hooked program a story, in a journal directory of its own; its answers are shown.
#
# Every call must have reached the stand-in once and unchanged, and the program must leave in peace: sanitizers end it
# otherwise.
set -eu
journals=$(mktemp -d)
trap 'rm -rf "$journals"' EXIT
answers=$({ echo "load a $2" && cat "$3"; } | TTMEM=1 TTMEM_DIR=$journals "$1")
echo "$answers"
ls "$journals"/*.journal >/dev/null
case $answers in *UNEQUAL*) exit 1 ;; esac
