//! Programs that are started by `mpirun`.

use std::process::Command;

/// `mpirun -n RANKS`, which is ended after so many seconds: `timeout` of coreutils then has the status 124. The program and its arguments
/// are the caller's to add.
pub fn mpirun(ranks: usize, seconds: u32) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &seconds.to_string(), "mpirun", "-n", &ranks.to_string()]);
    // One thread for each rank, which lets others run while it waits. More processes than processors; as root, as containers are; and
    // without the copies from process to process that they forbid. Open MPI reads its own, other libraries do not.
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
