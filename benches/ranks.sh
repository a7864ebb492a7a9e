#!/bin/bash
# Times ranks on one machine: parts of one snapshot, and equal parts of growing point sets, for `benches/model.md`.
#
#     benches/ranks.sh ROPEWALK SNAPSHOT.npy PERIODIC_SIDE EPS [RANKS ..]
set -euo pipefail
program=$1 snapshot=$2 side=$3 eps=$4
shift 4
[ $# -gt 0 ] || set -- 1 2 4 8 16
# Allows more processes than processors, and running as root in containers.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
bench() { "$@" --ops fof --reps 3 --phases | sed -n '/^operation/,$p'; }

echo "== one process, threads as many as ranks at most: $snapshot"
for threads in "$@"; do
    echo "$threads threads"
    "$program" bench "$snapshot" --eps "$eps" --periodic "$side" --threads "$threads" --ops fof --reps 3
done
echo "== ranks that share it"
for ranks in "$@"; do
    echo "$ranks ranks"
    bench mpirun -n "$ranks" "$program" bench "$snapshot" --eps "$eps" --periodic "$side" --mpi
done
echo "== two million points a rank, uniform, linked at a fifth of their mean separation"
for ranks in "$@"; do
    n=$((2000000 * ranks))
    echo "$ranks ranks"
    bench mpirun -n "$ranks" "$program" bench --sample "uniform:n=$n,seed=1" \
        --eps "$(awk "BEGIN { print 0.2 / $n ^ (1 / 3) }")" --periodic 1 --mpi
done
