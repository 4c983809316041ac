#!/bin/sh
# debian_source.sh PACKAGE FOLDER: puts the sources of a Debian package into FOLDER (PACKAGE-VERSION in it), by the package
# lists of this machine's distribution; apt's own state is left alone.
set -eu
mkdir -p "$2/parts" "$2/lists"
cd "$2"
[ ! -e "$1.done" ] || exit 0
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
  [ ! -f "$list" ] || sed 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' "$list" >"parts/$(basename "$list" .list).${list##*.}"
done
set -- "$1" -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$PWD/parts" -o Dir::State::lists="$PWD/lists" -qq
package=$1
shift
apt-get "$@" update
apt-get "$@" source --download-only "$package" 2>/dev/null
for archive in "$package"_*.orig.tar.*; do
  case $archive in *.asc) ;; *) tar -xf "$archive" ;; esac
done
touch "$package.done"
