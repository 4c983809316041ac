#!/usr/bin/env bats
# blica-mpi on two hosts: network namespaces with names of their own, joined by a virtual cable. Ranks can reach each other
# by TCP over it only, and mpirun starts the other host's through a script in place of ssh.

load helpers

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  own_mpi_folder
  MPI=$(dirname "$BLICA")/blica-mpi
  [ -x "$MPI" ] || skip "blica-mpi was not built: MPI is not installed"
  command -v mpirun >/dev/null || skip "mpirun is not installed (openmpi-bin)"
  command -v ip >/dev/null || skip "ip is not installed (iproute2)"
  [ "$(id -u)" = 0 ] || skip "only root may make network namespaces"
  one=blica$$a two=blica$$b
  ip netns add "$one" 2>/dev/null || skip "network namespaces cannot be made here"
  ip netns add "$two"
  ip link add "v$one" type veth peer name "v$two"
  ip link set "v$one" netns "$one"
  ip link set "v$two" netns "$two"
  address "$one" 10.77.0.1
  address "$two" 10.77.0.2
  printf '#!/bin/sh\nshift\nexec ip netns exec %s unshare -u sh -c '\''hostname blica-two; exec sh -c "$*"'\'' sh "$@"\n' "$two" >agent
  chmod +x agent
}

address() {
  ip -n "$1" addr add "$2/24" dev "v$1"
  ip -n "$1" link set "v$1" up
  ip -n "$1" link set lo up
}

teardown() {
  [ -z "$one" ] || ip netns del "$one" 2>/dev/null || true
  [ -z "$two" ] || ip netns del "$two" 2>/dev/null || true
}

hosts() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  timeout "${BLICA_PATIENCE:-300}" ip netns exec "$one" unshare -u sh -c 'hostname blica-one; exec "$@"' sh mpirun --quiet --bind-to none \
    --mca plm_rsh_agent "$PWD/agent" --mca btl self,tcp --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 --host 10.77.0.1:1,10.77.0.2:1 -n 2 "$@"
}

received() { ip netns exec "$one" awk -v d="v$one:" '$1 == d { print $2 }' /proc/net/dev; }

@test "two hosts: the same bits as one process" {
  [ "$(hosts hostname | sort | paste -sd' ' -)" = "blica-one blica-two" ]
  "$BLICA" simulate --variables 36 --sources 24 --segments 6 --samples 200 --out a --quiet
  fit="fit a/data.csv --method blica --sources 24 --starts 1 --max-iterations 20 --threads 1 --quiet"
  "$BLICA" $fit --out alone.json || [ $? = 4 ]
  before=$(received)
  hosts "$MPI" $fit --out two.json || [ $? = 4 ]
  after=$(received)
  # 20 iterations exchange gradients of 36 x 24 numbers at least
  [ $((after - before)) -gt $((20 * 36 * 24 * 8)) ]
  cmp <(sed 's/"seconds[a-z_]*":[^,}]*//g' alone.json) <(sed 's/"seconds[a-z_]*":[^,}]*//g' two.json)
}
