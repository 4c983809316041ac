#!/bin/bash
# Runs examples/slurm/fit.sbatch under a real Slurm of four nodes on this host, cancels the job, submits it again; the model must
# equal that of one process in all bits. Needs root, Debian's slurm-wlm and munge, and blica-mpi (make slurm-test). Daemons,
# keys and files of its own; all are gone at the end. Exit 77 when a part is not there.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
BLICA=${BLICA:-$root/build/release/blica}
export PATH=$(dirname "$BLICA"):/usr/sbin:$PATH
for part in sbatch slurmctld slurmd munged blica-mpi; do
  command -v $part >/dev/null || { echo "skipped: there is no $part (apt-get install slurm-wlm munge libopenmpi-dev)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: only root can run Slurm's daemons"; exit 77; }
work=$(mktemp -d) host=$(hostname -s)
export SLURM_CONF=$work/slurm.conf
leave() {
  for f in "$work"/*.pid; do [ -e "$f" ] && kill "$(cat "$f")" 2>/dev/null; done
  sleep 1
  rm -rf "$work"
}
trap leave EXIT

# The nodes are four daemons that share a host, so MPI must not take them for neighbours in shared memory.
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1

chmod 755 "$work"
mkdir "$work"/{state,munge} "$work"/{spool,tmp}{,/n1,/n2,/n3,/n4}
dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 2>/dev/null
chmod 600 "$work/munge/key"
munged --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munged.pid" \
  --seed-file="$work/munge/seed" --log-file="$work/munge/log" || exit 1
cat >"$SLURM_CONF" <<C
ClusterName=blica
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=26817
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
TmpFS=$work/tmp/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=n[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[27001-27004] CPUs=32 RealMemory=131072
PartitionName=all Nodes=ALL Default=YES
C
slurmctld || exit 1
for i in 1 2 3 4; do slurmd -N n$i || exit 1; done
for i in $(seq 50); do [ "$(sinfo -h -t idle -o %D)" = 4 ] && break; sleep 0.2; done
sinfo

cd "$work" || exit 1
# submit ARGS...: the script as it is, with resources that this host has.
submit() { sbatch --parsable --cpus-per-task=1 --mem-per-cpu=500M --output=job-%j.txt "$@" "$root/examples/slurm/fit.sbatch" counts.npz 60 model.json --checkpoint-seconds 0.2; }
same() { /usr/bin/python3 -c 'import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert all(a[x] == b[x] for x in ("mixing", "variances", "means", "thresholds")) and a["fit"]["objective"] == b["fit"]["objective"]' "$@"; }

blica simulate --variables 60 --sources 60 --segments 16 --samples 1000 --out data --quiet
blica count data/data.csv --out counts.npz --quiet
blica fit counts.npz --sources 60 --out alone.json --quiet

echo "== cancelled once it has a checkpoint"
job=$(submit) || exit 1
for i in $(seq 600); do [ -e model.json.checkpoint ] && break; sleep 0.1; done
scancel "$job"
while [ -n "$(squeue -h -j "$job" 2>/dev/null)" ]; do sleep 0.2; done
cat "job-$job.txt"
[ -e model.json.checkpoint ] || { echo "FAILED: the cancelled job left no checkpoint"; exit 1; }
echo "== submitted again"
job=$(submit --wait)
cat "job-$job.txt"
[ ! -e model.json.checkpoint ] || { echo "FAILED: the job that ended left its checkpoint"; exit 1; }
same model.json alone.json || { echo "FAILED: the model is not that of one process"; exit 1; }
echo "8 ranks on 4 nodes, cancelled and submitted again: the model is that of one process in all bits"
