//! Files with bytes changed, inserted and removed. The program must end soon, with success or an error of one line,
//! and leave only the requested files. The environment variable `ROPEWALK_MUTATED` is the number of files to try.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ropewalk_io::{GadgetOptions, Masses, Points, Species, Table, write_gadget, write_npy};

use crate::program::Scratch;

/// The default number of files.
const FEW: u64 = 60;
/// A run of a few dozen points must not take longer, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns the next number of the generator xorshift64*.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// Returns a valid file of each kind, as bytes.
fn originals(scratch: &Scratch) -> Vec<Vec<u8>> {
    let data: Vec<f64> = (0..120).map(|i| f64::from(i * 37 % 120) / 12.0).collect();
    let narrow = Points::F32(Table::new(3, data.iter().map(|&x| x as f32).collect()).unwrap());
    let wide = Points::F64(Table::new(3, data.clone()).unwrap());
    let flat = Points::F64(Table::new(2, data).unwrap());
    let path = scratch.path("original");
    let mut all = Vec::new();
    for points in [&narrow, &wide, &flat] {
        write_npy(&path, points).unwrap();
        all.push(fs::read(&path).unwrap());
    }
    let (ids, masses): (Vec<u64>, _) = ((1..=40).collect(), Masses::Each((1..=40).map(f64::from).collect()));
    let one =
        Species { particle_type: 1, positions: &narrow, velocities: Some(&narrow), ids: Some(&ids), masses: &masses };
    for (labels, big_endian) in [(false, false), (true, false), (true, true)] {
        let options = GadgetOptions::default().labels(labels).big_endian(big_endian).box_size(10.0).omega_m(0.3);
        write_gadget(&path, &[one], &options).unwrap();
        all.push(fs::read(&path).unwrap());
    }
    fs::remove_file(path).unwrap();
    let rows: String = (0..30).map(|i| format!("{i},{},{}.5,{}e-1\n", i % 7, i % 5, i % 3)).collect();
    all.push(format!("# a table\nid,x,y,z\n{rows}").into_bytes());
    all.push(format!("\"RA\",DEC,z,mass\n{rows}").into_bytes());
    all
}

/// Changes some bytes of a file. Small numbers and runs of equal bytes affect lengths and exponents.
fn mutate(mut bytes: Vec<u8>, state: &mut u64) -> Vec<u8> {
    for _ in 0..1 + next(state) % 6 {
        let at = (next(state) % bytes.len().max(1) as u64) as usize;
        let (how, byte) = (next(state) % 8, next(state) as u8);
        let end = (at + 1 + (next(state) % 8) as usize).min(bytes.len());
        match how {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), byte),
            2 => drop(bytes.drain(at.min(end)..end)),
            3 if at < end => bytes[at..end].reverse(),
            4 if at < end => bytes[at..end].fill(byte),
            5 if at < end => bytes[at] ^= 1 << (byte % 8),
            6 => bytes.extend_from_within(at.min(end)..end),
            _ if at < end => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'9', b'e', b','][usize::from(byte % 8)],
            _ => {}
        }
    }
    bytes
}

/// Runs the program; an error describes what is wrong.
fn attempt(scratch: &Scratch, file: &Path, options: &[&str]) -> Result<(), String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ropewalk"))
        .arg(options[0])
        .arg(file)
        .args(&options[1..])
        .current_dir(scratch.path(""))
        .stdout(Stdio::null())
        .stderr(fs::File::create(scratch.path("stderr")).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err(format!("still at it after {LIMIT:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = fs::read_to_string(scratch.path("stderr")).unwrap();
    let written = options.last().is_some_and(|out| scratch.path(out).exists());
    match status.code() {
        Some(0) if said.is_empty() => {}
        Some(1) if said.starts_with("error: ") && said.lines().count() == 1 && !written => {}
        code => return Err(format!("ended with {code:?}, saying {said:?}; output there: {written}")),
    }
    for out in ["out.npy", "out"] {
        _ = fs::remove_file(scratch.path(out));
        _ = fs::remove_dir_all(scratch.path(out));
    }
    match scratch.names("") {
        names if names == ["mutated", "stderr"] => Ok(()),
        names => Err(format!("left {names:?}")),
    }
}

#[test]
fn files_of_any_kind() {
    let scratch = Scratch::new();
    let originals = originals(&scratch);
    let files = std::env::var("ROPEWALK_MUTATED").ok().map_or(FEW, |files| files.parse().unwrap());
    let runs: [&[&str]; 8] = [
        &["info"],
        &["dbscan", "--eps", "1", "--min-pts", "3", "--out", "out.npy"],
        &["dbscan", "--eps", "1", "--min-pts", "3", "--periodic", "10", "--out", "out.npy"],
        &["kdist", "--k", "2", "--out", "out.npy"],
        &["halos", "--min-members", "2", "--members", "--gallery", "2", "--out", "out"],
        &["halos", "--open", "--eps", "1", "--min-members", "2", "--center", "shrinking-sphere", "--out", "out"],
        &["halos", "--min-members", "2", "--center", "mbp", "--so", "200c,vir", "--profiles", "2", "--out", "out"],
        &["halos", "--min-members", "2", "--center", "mbp-astar", "--softening", "0.1", "--out", "out"],
    ];
    for seed in 0..files {
        let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let original = originals[(seed % originals.len() as u64) as usize].clone();
        let file: PathBuf = scratch.write("mutated", mutate(original, &mut state));
        let options = runs[(next(&mut state) % runs.len() as u64) as usize];
        if let Err(wrong) = attempt(&scratch, &file, options) {
            // Copied out of the scratch directory, so that it can be examined.
            let kept = std::env::temp_dir().join(format!("ropewalk_mutated_{seed}"));
            fs::copy(&file, &kept).unwrap();
            panic!("file {seed} (kept as {}), {options:?}: {wrong}", kept.display());
        }
    }
}
