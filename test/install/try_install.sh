#!/bin/sh
# try_install.sh BUILD: installs a build folder into a temporary one, and builds and runs a program of somebody else's against it.
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --component wheel --prefix "$work/installed" > /dev/null
cmake -S "$here" -B "$work/build" -DUllage_DIR="$work/installed/cmake" > /dev/null
cmake --build "$work/build" > /dev/null
"$work/build/consumer"
