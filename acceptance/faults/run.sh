#!/bin/sh
# run.sh NAME [fixed]: builds if needed, runs one program, prints its line. The binaries go to $FAULTS_BIN.
here=$(cd "$(dirname "$0")" && pwd)
bin=${FAULTS_BIN:-/tmp/faults}
name=$1
shift
set -- "$@"
make -s -C "$here" B="$bin" "$bin/launch" || exit 1
case $(ls "$here/programs/$name".* 2>/dev/null) in
    *.py) exec "$bin/launch" python3 "$here/programs/$name.py" "$@" ;;
    *.js) exec "$bin/launch" node "$here/programs/$name.js" "$@" ;;
    *.c | *.cpp | *.rs | *.go) make -s -C "$here" B="$bin" "$bin/$name" && exec "$bin/launch" "$bin/$name" "$@" ;;
    *) echo "run.sh: no program $name" >&2; exit 2 ;;
esac
