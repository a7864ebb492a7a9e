//! Programs started by `mpirun`.

use std::process::Command;

/// Returns the command `mpirun -n RANKS`, which `timeout` of coreutils ends after `seconds` with status 124. The
/// caller adds the program and its arguments.
pub fn mpirun(ranks: usize, seconds: u32) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &seconds.to_string(), "mpirun", "-n", &ranks.to_string()]);
    // One thread per rank, which yields while it waits. Allows more processes than processors, running as root in
    // containers, and disables copies between processes, which containers forbid. Only Open MPI reads its variables.
    for (name, value) in [
        ("RAYON_NUM_THREADS", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ] {
        command.env(name, value);
    }
    command
}
