#!/bin/bash
# check_fresh.sh WAY: one way of installing in a fresh Debian root folder (debootstrap, minbase), as root.
# cmake: the library alone; sdist, wheel: Python; r: the source package of R; debian: the packages.
# sdist, wheel and r are made in one folder, and installed in another that has neither the checkout nor, for the wheel,
# a compiler; so are the Debian packages. The root folder is made once (BLICA_FRESH, /var/tmp/blica-fresh) and never
# changed: what an installation writes goes to a layer above it, which is thrown away.
set -eu
way=${1:?usage: check_fresh.sh cmake|sdist|wheel|r|debian}
source=$(cd "$(dirname "$0")/.." && pwd)
base=${BLICA_FRESH:-/var/tmp/blica-fresh}
version=$(cat "$source/VERSION")
work=$(mktemp -d /var/tmp/blica-check.XXXXXX)
[ "$(id -u)" = 0 ] || { echo "check_fresh.sh: needs root, for debootstrap and mount" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null

roots=()
leave() {
  for root in "${roots[@]}"; do umount "$root/proc" "$root/dev" "$root" 2>/dev/null || true; done
  rm -rf "$work"
}
trap leave EXIT

if [ ! -e "$base/etc/debian_version" ]; then
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
  debootstrap --variant=minbase bookworm "$base" "$mirror" >"$work/log" 2>&1 || { tail -20 "$work/log"; rm -rf "$base"; exit 1; }
  rm -f "$base/etc/apt/sources.list"
  cp -r /etc/apt/. "$base/etc/apt/"
  cp /etc/resolv.conf "$base/etc/"
  chroot "$base" apt-get update -qq
fi

new_root() { # NAME: a fresh root folder in $root
  root=$work/$1
  mkdir -p "$root" "$work/$1.upper" "$work/$1.work"
  mount -t overlay overlay -o "lowerdir=$base,upperdir=$work/$1.upper,workdir=$work/$1.work" "$root"
  roots+=("$root")
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
}
in_root() { echo "# $*"; chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
quietly() { in_root "$@" >"$work/log" 2>&1 || { tail -40 "$work/log"; exit 1; }; head -n 1 "$work/log"; }
install() { quietly apt-get install -y --no-install-recommends "$@"; }
checkout() { # the tracked files, in /blica
  mkdir -p "$root/blica"
  (cd "$source" && git ls-files -z | tar --null -T - -cf -) | tar -C "$root/blica" -xf -
}
no_compiler() { for tool in cc gcc cmake; do ! chroot "$root" sh -c "command -v $tool" || { echo "FAIL: $tool is there"; exit 1; }; done; }

example_python='import blica
drawn = blica.simulate(variables=10, sources=3, segments=20, samples=500, seed=1)
model = blica.fit(drawn.X, drawn.segments, sources=3)
print(f"{blica.__file__}: MCS {blica.compare(model, drawn.model).mcs:.4f}")'
example_r='library(blica)
drawn <- blica_simulate(variables = 10, sources = 3, segments = 20, samples = 500, seed = 1)
fit <- blica(segment ~ ., drawn$data, k = 3)
cat(sprintf("MCS %.4f\n", blica_compare(fit, drawn$model)$mcs))
stopifnot(nzchar(vignette("blica")$PDF))'

sources_of_python() { # the source distribution, in $work
  new_root build
  checkout
  quietly sh blica/tools/setup.sh build
  install python3 python3-dev python3-setuptools python3-wheel python3-pip python3-venv python3-cffi python3-numpy patchelf binutils
  quietly sh -c 'cd /blica/python && python3 setup.py -q sdist -d /dist'
  cp "$root/dist/blica-$version.tar.gz" "$work"
}

case $way in
cmake)
  new_root try
  checkout
  install gcc libc6-dev make cmake pkg-config libopenblas-dev zlib1g-dev
  quietly cmake -S blica -B build -DBLICA_CLI=OFF -DBLICA_TESTS=OFF
  quietly cmake --build build --parallel 2
  quietly cmake --install build --prefix /usr/local
  quietly ldconfig
  quietly sh -c 'cc -o recover blica/examples/recover.c $(pkg-config --cflags --libs blica) -lm'
  in_root ./recover
  ;;
sdist)
  sources_of_python
  new_root try
  cp "$work/blica-$version.tar.gz" "$root"
  install gcc libc6-dev cmake make pkg-config libopenblas-dev zlib1g-dev \
    python3-dev python3-pip python3-venv python3-setuptools python3-wheel python3-cffi python3-numpy
  quietly python3 -m venv --system-site-packages env
  quietly env/bin/pip install --no-index --no-build-isolation "blica-$version.tar.gz"
  in_root env/bin/python -c "$example_python"
  ;;
wheel)
  sources_of_python
  quietly sh -c "pip wheel --no-deps --no-index --no-build-isolation -w wheels dist/blica-$version.tar.gz && python3 blica/tools/bundle_wheel.py wheels/*.whl bundled"
  cp "$root"/bundled/*.whl "$work"
  new_root try
  cp "$work"/*.whl "$root"
  install python3-venv python3-pip python3-numpy python3-cffi
  no_compiler
  quietly python3 -m venv --system-site-packages env
  quietly sh -c 'env/bin/pip install --no-index ./*.whl'
  in_root env/bin/python -c "$example_python"
  ;;
r)
  new_root build
  checkout
  install r-base-core r-base-dev r-cran-knitr r-cran-markdown
  quietly R CMD build --no-manual blica/r
  cp "$root/blica_$version.tar.gz" "$work"
  new_root try
  cp "$work/blica_$version.tar.gz" "$root"
  install r-base-core r-base-dev r-cran-testthat r-cran-matrix
  rm -f "$root/usr/bin/pkg-config" "$root/usr/bin/pkgconf" # a part of r-base-dev
  for package in cmake libopenblas0 libjansson-dev libzip4; do
    ! chroot "$root" dpkg-query -W "$package" 2>/dev/null || { echo "FAIL: $package is there"; exit 1; }
  done
  quietly R CMD INSTALL "blica_$version.tar.gz"
  quietly sh -c 'tar -xzf blica_*.tar.gz && cd blica/tests && Rscript --vanilla testthat.R'
  in_root Rscript --vanilla -e "$example_r"
  ;;
debian)
  new_root build
  checkout
  install build-essential devscripts equivs lintian
  quietly sh -c 'cd /blica && mk-build-deps --install --remove --tool "apt-get -y --no-install-recommends" debian/control'
  quietly sh -c 'cd /blica && dpkg-buildpackage -us -uc -b'
  in_root sh -c 'lintian --fail-on error --allow-root /*.changes'
  cp "$root"/*.deb "$work"
  new_root try
  cp "$work"/*.deb "$root"
  quietly sh -c 'apt-get install -y --no-install-recommends ./*.deb'
  in_root sh -c 'blica --version && blica simulate --variables 10 --sources 3 --segments 20 --samples 500 --seed 1 --out d --quiet &&
    blica fit d/data.csv --sources 3 --out m.json --quiet && blica compare m.json d/model.json'
  in_root python3 -c "$example_python"
  in_root Rscript --vanilla -e "$example_r"
  ;;
*) echo "usage: check_fresh.sh cmake|sdist|wheel|r|debian" >&2; exit 2 ;;
esac
echo "$way: works"
