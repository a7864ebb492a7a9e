//! Ranks that fail: no other rank may wait for them forever.

use std::process::{Command, ExitCode};

use ropewalk::Fof;
use ropewalk::distributed::{Communicator, Mpi, agree};

/// The faults, each with the expected text on standard error.
pub const FAULTS: &[(&str, &str)] = &[
    ("killed", ""),
    ("exits", ""),
    ("panics", "rank 1: panicked; aborting all ranks"),
    ("panics_in_a_part", "rank 1: panicked; aborting all ranks"),
    ("fails", "rank 1: linking_length is -1; it must be finite and not negative\n"),
    ("fails_alone", "rank 1: linking_length is -1; it must be finite and not negative; aborting all ranks"),
    ("starts_twice", "rank 0: MPI failed: MPI has already been initialized\n"),
];

/// Rank 1 performs the fault `name` in the middle of the communication of the others.
pub fn run(name: &str) -> ExitCode {
    Mpi::run(|ranks| -> Result<(), ropewalk::Error> {
        for _ in 0..10 {
            exchange(ranks)?;
        }
        let one = ranks.rank() == 1;
        let refused = || Fof::new(-1.0).run(&[[0.0f32]]).map(drop);
        match name {
            "killed" if one => {
                let own = std::process::id().to_string();
                assert!(Command::new("kill").args(["-9", &own]).status().is_ok());
                std::thread::sleep(std::time::Duration::from_secs(100));
            }
            "exits" if one => std::process::exit(0),
            "panics" if one => panic!("as it should"),
            "panics_in_a_part" => {
                let part = ranks.split(ranks.rank() / 2, 0)?;
                assert!(!one, "as it should");
                part.barrier()?;
            }
            "fails" => agree(ranks, if one { refused() } else { Ok(()) })?,
            "fails_alone" if one => refused()?,
            "starts_twice" => drop(Mpi::init()?),
            _ => {}
        }
        loop {
            exchange(ranks)?;
        }
    })
}

fn exchange(ranks: &dyn Communicator) -> ropewalk::Result<()> {
    let counts = vec![1000; ranks.size()];
    let mut receive = vec![0; 1000 * ranks.size()];
    ranks.all_to_all_v(&receive.clone(), &counts, &mut receive, &counts)?;
    ranks.barrier()
}
