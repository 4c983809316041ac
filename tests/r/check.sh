#!/bin/bash
# R CMD build and R CMD check of the R package, linked with the library of this build; any error or warning fails.
command -v R >/dev/null || { echo "SKIP: R is not installed"; exit 77; }
for package in testthat Matrix knitr markdown; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed (tools/setup.sh test)"; exit 77; }
done
version=$(cat "$BLICA_SOURCE/VERSION")
grep -qx "Version: $version" "$BLICA_SOURCE/r/DESCRIPTION" || { echo "FAIL: r/DESCRIPTION does not have version $version"; exit 1; }
work=$BLICA_BUILD/r-check
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
export BLICA_LIBRARY=$BLICA_BUILD/libblica.a BLICA_INCLUDE=$BLICA_SOURCE/include
export _R_CHECK_FORCE_SUGGESTS_=true R_DEFAULT_INTERNET_TIMEOUT=1 OPENBLAS_NUM_THREADS=1
# a locale with a decimal comma, for a test
if localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" 2>/dev/null; then export LOCPATH=$work; fi
R CMD build --no-manual "$BLICA_SOURCE/r" >build.log 2>&1 || { cat build.log; exit 1; }
# the vignette stands alone
if tar -xzOf "blica_$version.tar.gz" blica/inst/doc/blica.html | grep -E '(src|href)="?https?://|@import'; then
  echo "FAIL: the vignette loads the above from elsewhere"; exit 1
fi
# No repository is asked, but an empty one in a folder; nor is a clock elsewhere.
mkdir -p repository/src/contrib && : >repository/src/contrib/PACKAGES
echo "options(repos = c(CRAN = 'file://$work/repository'))" >profile
export R_PROFILE_USER=$work/profile _R_CHECK_CRAN_INCOMING_REMOTE_=false _R_CHECK_SYSTEM_CLOCK_=false
# the vignette was just run by the build
R CMD check --as-cran --no-manual --no-vignettes "blica_$version.tar.gz" >check.log 2>&1
status=$(grep '^Status:' check.log)
echo "$status"
case $status in
*ERROR* | *WARNING* | "") cat check.log; cat blica.Rcheck/tests/*.fail 2>/dev/null; exit 1 ;;
*NOTE*) grep -A6 'NOTE$' check.log ;;
esac
