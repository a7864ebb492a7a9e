//! Tests that call the functions as C does. `tests/compare.c` has more tests, across processes of MPI.

#![allow(unsafe_code)] // The tests call the C functions.

use std::ffi::{CStr, c_int, c_void};
use std::fmt::Write as _;
use std::io::Write as _;
use std::mem::offset_of;
use std::process::{Command, Stdio};
use std::{ptr, slice};

use ropewalk::distributed::{Communicator as _, Reduction, ThreadRank, on_threads};

use crate::ffi::*;
use crate::types::*;

const HEADER: &str = include_str!("../include/ropewalk.h");

pub fn message() -> String {
    // SAFETY: the function returns a C string that is valid until the next call on this thread.
    unsafe { CStr::from_ptr(ropewalk_error_message()) }.to_str().unwrap().into()
}

const NO_NUMBERS: Numbers = Numbers { data: ptr::null(), stride: 0, kind: 0 };
const NO_VECTORS: Vectors = Vectors { x: ptr::null(), y: ptr::null(), z: ptr::null(), stride: 0, kind: 0 };

pub fn particles(points: &[[f64; 3]]) -> Particles {
    Particles {
        count: points.len() as u64,
        positions: Vectors { x: points.as_ptr().cast(), kind: F64, ..NO_VECTORS },
        velocities: NO_VECTORS,
        masses: NO_NUMBERS,
        mass: 0.0,
        ids: NO_NUMBERS,
    }
}

const FOF: FofOptions =
    FofOptions { linking_length: 1.0, min_members: 0, box_size: [0.0; 3], rows: 0, center: 0, softening: 0.0 };

/// Calls `ropewalk_fof`. Returns labels and rows if the status is `OK`, otherwise status and message.
fn fof(
    ranks: Option<&Communicator>,
    particles: &Particles,
    options: &FofOptions,
) -> Result<(Vec<i64>, Vec<Halo>), (c_int, String)> {
    let mut result = ptr::null_mut();
    let ranks = ranks.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `result` is a local variable, `options` is a reference, and `ranks` is null or a reference. Pointers in
    // `particles` are those of live arrays or such that the function must refuse. Lengths are those that the result
    // reports.
    unsafe {
        match ropewalk_fof(ranks, particles, options, &mut result) {
            OK => {
                let labels = slice::from_raw_parts(ropewalk_result_labels(result), particles.count as usize).to_vec();
                let rows = ropewalk_result_row_count(result) as usize;
                let rows = slice::from_raw_parts(ropewalk_result_rows(result), rows).to_vec();
                ropewalk_result_free(result);
                Ok((labels, rows))
            }
            status => {
                assert!(result.is_null());
                Err((status, message()))
            }
        }
    }
}

const POINTS: [[f64; 3]; 4] = [[0.5, 5.0, 5.0], [3.0, 3.0, 3.0], [9.75, 5.0, 5.0], [3.0, 3.5, 3.0]];

#[test]
fn one_rank_alone() {
    let (labels, rows) = fof(None, &particles(&POINTS), &FOF).unwrap();
    assert_eq!((labels, rows), (vec![-1, 0, -1, 0], vec![]));
    let options = FofOptions { box_size: [10.0; 3], rows: ROWS_ON_RANK_0, center: MOST_CONNECTED, ..FOF };
    let (labels, rows) = fof(None, &Particles { mass: 2.0, ..particles(&POINTS) }, &options).unwrap();
    assert_eq!(labels, [0, 1, 0, 1]);
    assert_eq!(
        (rows[0].tag, rows[0].label, rows[0].count, rows[0].mass, rows[0].center_of_mass),
        (0, 0, 2, 4.0, [0.125, 5.0, 5.0])
    );
    assert_eq!((rows[0].center, rows[0].center_id), (POINTS[0], 0));
    assert!(rows[0].velocity_dispersion.is_nan());
    assert_eq!(fof(None, &Particles { count: 0, ..particles(&[]) }, &options), Ok((vec![], vec![])));
}

#[test]
fn what_is_null_is_refused() {
    let (points, options, mut result) = (particles(&POINTS), FOF, ptr::null_mut());
    let dbscan = DbscanOptions { eps: 1.0, min_samples: 2, box_size: [0.0; 3] };
    // SAFETY: all pointers are null or those of live values, and the functions accept null.
    unsafe {
        for (particles, options, result, word) in [
            (ptr::null(), &raw const options, &raw mut result, "particles is NULL"),
            (&raw const points, ptr::null(), &raw mut result, "options is NULL"),
            (&raw const points, &raw const options, ptr::null_mut(), "result is NULL"),
        ] {
            assert_eq!((ropewalk_fof(ptr::null(), particles, options, result), message()), (INVALID, word.into()));
        }
        assert_eq!(ropewalk_dbscan(ptr::null(), ptr::null(), &dbscan, &mut result), INVALID);
        assert!(ropewalk_result_labels(ptr::null()).is_null() && ropewalk_result_rows(ptr::null()).is_null());
        assert!(ropewalk_result_core(ptr::null()).is_null());
        assert_eq!(ropewalk_result_count(ptr::null()) + ropewalk_result_row_count(ptr::null()), 0);
        assert_eq!(ropewalk_result_clusters(ptr::null()) + ropewalk_result_halos(ptr::null()), 0);
        ropewalk_result_free(ptr::null_mut());
        assert_eq!(CStr::from_ptr(ropewalk_version()).to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let all = [
        (FofOptions { linking_length: 0.0, ..FOF }, "linking_length is 0; it must be positive and finite"),
        (FofOptions { linking_length: -1.0, ..FOF }, "linking_length is -1"),
        (FofOptions { linking_length: f64::NAN, ..FOF }, "linking_length is NaN"),
        (FofOptions { rows: 3, ..FOF }, "ROPEWALK_ROWS_ON_RANK_0, got 3"),
        (FofOptions { rows: 1, center: 4, ..FOF }, "ROPEWALK_SHRINKING_SPHERE, got 4"),
        (FofOptions { center: MOST_BOUND, ..FOF }, "rows is ROPEWALK_NO_ROWS"),
        (FofOptions { rows: 1, box_size: [10.0, 10.0, 9.0], ..FOF }, "a catalogue requires a cube"),
        (FofOptions { box_size: [10.0, 0.0, 10.0], ..FOF }, "box"),
        (FofOptions { box_size: [1.0; 3], ..FOF }, "box"),
        (FofOptions { rows: 1, softening: -1.0, ..FOF }, "softening is -1"),
        (FofOptions { linking_length: 0.1, box_size: [9.0; 3], ..FOF }, "the periodic box is 9, but along axis 0"),
        (FofOptions { linking_length: 0.1, box_size: [9.0; 3], rows: 1, ..FOF }, "the periodic box is 9, but along"),
    ];
    for (options, word) in all {
        let (status, message) = fof(None, &particles(&POINTS), &options).unwrap_err();
        assert!(status == INVALID && message.contains(word), "{word}: {message}");
    }
    let (dbscan, mut result) = (DbscanOptions { eps: 1.0, min_samples: 0, box_size: [0.0; 3] }, ptr::null_mut());
    // SAFETY: all pointers are those of live values, and `POINTS` has `count` points.
    let status = unsafe { ropewalk_dbscan(ptr::null(), &particles(&POINTS), &dbscan, &mut result) };
    assert_eq!((status, message()), (INVALID, "min_samples is 0; it must be at least 1".into()));
    let narrow = DbscanOptions { eps: 0.1, min_samples: 2, box_size: [10.0, 2.5, 10.0] };
    // SAFETY: all pointers are those of live values, and `POINTS` has `count` points.
    let status = unsafe { ropewalk_dbscan(ptr::null(), &particles(&POINTS), &narrow, &mut result) };
    assert_eq!(status, OK);
    // SAFETY: the result is not used again.
    unsafe { ropewalk_result_free(result) };
    let narrow = DbscanOptions { box_size: [10.0, 1.5, 10.0], ..narrow };
    // SAFETY: all pointers are those of live values, and `POINTS` has `count` points.
    let status = unsafe { ropewalk_dbscan(ptr::null(), &particles(&POINTS), &narrow, &mut result) };
    assert!(status == INVALID && message().contains("the periodic box is 1.5, but along axis 1"), "{}", message());
}

#[test]
fn particles_that_are_none_are_refused() {
    let good = particles(&POINTS);
    let values = [1.0f64; 4];
    let column = Numbers { data: values.as_ptr().cast(), stride: 0, kind: F64 };
    let nan = [[0.0; 3], [0.0, f64::NAN, 0.0]];
    let all = [
        (Particles { count: 1 << 60, ..good }, "positions exceed the address space"),
        (
            Particles { positions: Vectors { x: ptr::null(), ..good.positions }, ..good },
            "positions: x and y and z NULL",
        ),
        (Particles { positions: Vectors { y: good.positions.x, ..good.positions }, ..good }, "positions: z NULL"),
        (Particles { positions: Vectors { kind: U32, ..good.positions }, ..good }, "positions.type is 3"),
        (Particles { positions: Vectors { stride: 23, ..good.positions }, ..good }, "positions.stride is 23"),
        (Particles { velocities: Vectors { x: good.positions.x, ..NO_VECTORS }, ..good }, "velocities.type is 0"),
        (Particles { masses: Numbers { kind: U64, ..column }, ..good }, "masses.type is 4"),
        (Particles { ids: column, ..good }, "ids.type is 2"),
        (Particles { ids: Numbers { stride: 4, kind: U64, ..column }, ..good }, "ids.stride is 4"),
        (Particles { mass: f64::NAN, ..good }, "mass"),
        (particles(&nan), "point 1: coordinate 1 is NaN"),
    ];
    for (particles, word) in all {
        let (status, message) = fof(None, &particles, &FofOptions { rows: 1, ..FOF }).unwrap_err();
        assert!(status == INVALID && message.contains(word), "{word}: {message}");
    }
}

/// The functions of a communicator of threads. Contexts are `ThreadRank`s.
mod of_threads {
    use super::*;

    /// # Safety
    /// `context` is a pointer to a live `ThreadRank`. The same holds for all functions of this module, whose arrays
    /// are as long as `ropewalk.h` says.
    unsafe fn rank<'a>(context: *mut c_void) -> &'a ThreadRank {
        // SAFETY: the contract of this function.
        unsafe { &*context.cast::<ThreadRank>() }
    }

    unsafe fn bytes<'a>(start: *const c_void, len: usize) -> &'a [u8] {
        // SAFETY: the caller passes `len` readable bytes at `start`.
        if len == 0 { &[] } else { unsafe { slice::from_raw_parts(start.cast(), len) } }
    }

    unsafe fn bytes_mut<'a>(start: *mut c_void, len: usize) -> &'a mut [u8] {
        // SAFETY: the caller passes `len` writable bytes at `start`, and no other reference to them.
        if len == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(start.cast(), len) } }
    }

    unsafe fn counts(start: *const u64, len: usize) -> Vec<usize> {
        // SAFETY: the caller passes `len` counts at `start`.
        unsafe { slice::from_raw_parts(start, len) }.iter().map(|&count| count as usize).collect()
    }

    pub unsafe extern "C" fn all_to_all_v(
        context: *mut c_void,
        send: *const c_void,
        sent: *const u64,
        receive: *mut c_void,
        received: *const u64,
    ) -> c_int {
        // SAFETY: `Ranks` calls this with the context of `communicator`, a `ThreadRank`, with a count per rank, and
        // with arrays whose lengths are the sums of the counts.
        unsafe {
            let ranks = rank(context);
            let (sent, received) = (counts(sent, ranks.size()), counts(received, ranks.size()));
            let (send, receive) = (bytes(send, sent.iter().sum()), bytes_mut(receive, received.iter().sum()));
            ranks.all_to_all_v(send, &sent, receive, &received).map_or(7, |()| 0)
        }
    }

    pub unsafe extern "C" fn all_gather_v(
        context: *mut c_void,
        own: *const c_void,
        receive: *mut c_void,
        counts: *const u64,
    ) -> c_int {
        // SAFETY: `Ranks` calls this with the context of `communicator`, a `ThreadRank`, with a count per rank, with
        // this rank's count of bytes at `own`, and with an array whose length is the sum of the counts.
        unsafe {
            let ranks = rank(context);
            let counts = self::counts(counts, ranks.size());
            let (own, receive) = (bytes(own, counts[ranks.rank()]), bytes_mut(receive, counts.iter().sum()));
            ranks.all_gather_v(own, receive, &counts).map_or(7, |()| 0)
        }
    }

    pub unsafe extern "C" fn all_reduce(context: *mut c_void, numbers: *mut u64, count: u64, how: u32) -> c_int {
        let how = [Reduction::Sum, Reduction::Min, Reduction::Max][how as usize];
        // SAFETY: `Ranks` calls this with the context of `communicator`, a `ThreadRank`, and with `count` numbers.
        unsafe { rank(context).all_reduce(slice::from_raw_parts_mut(numbers, count as usize), how) }.map_or(7, |()| 0)
    }

    pub unsafe extern "C" fn fails(_: *mut c_void, _: *mut u64, _: u64, _: u32) -> c_int {
        16
    }
}

fn communicator(ranks: &ThreadRank) -> Communicator {
    Communicator {
        context: ptr::from_ref(ranks).cast_mut().cast(),
        rank: ranks.rank() as u64,
        size: ranks.size() as u64,
        all_to_all_v: Some(of_threads::all_to_all_v),
        all_gather_v: Some(of_threads::all_gather_v),
        all_reduce: Some(of_threads::all_reduce),
    }
}

#[test]
fn ranks_that_ask_for_the_same() {
    let options = FofOptions { box_size: [10.0; 3], rows: ROWS_ON_RANK_0, center: MOST_BOUND, ..FOF };
    let whole = fof(None, &particles(&POINTS), &options).unwrap();
    for size in [1, 2, 3, 4, 7] {
        let start = |rank: usize| POINTS.len() * rank / size;
        let found = on_threads(size, |ranks| {
            let own = &POINTS[start(ranks.rank())..start(ranks.rank() + 1)];
            let (labels, rows) = fof(Some(&communicator(ranks)), &particles(own), &options).unwrap();
            let of_owners = FofOptions { rows: ROWS_OF_OWNERS, ..options };
            Ok((labels, rows, fof(Some(&communicator(ranks)), &particles(own), &of_owners).unwrap().1))
        });
        let found = found.unwrap();
        let labels: Vec<i64> = found.iter().flat_map(|found| found.0.iter().copied()).collect();
        // Unknown numbers are NaN, so rows are compared as text.
        let text = |rows: &[Halo]| rows.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>();
        let mut of_owners: Vec<Halo> = found.iter().flat_map(|found| found.2.iter().copied()).collect();
        of_owners.sort_by_key(|row| row.label);
        assert_eq!((labels, text(&found[0].1), text(&of_owners)), (whole.0.clone(), text(&whole.1), text(&whole.1)));
    }
}

#[test]
fn ranks_that_ask_for_different_things() {
    let all = [
        (FofOptions { linking_length: 1.5, ..FOF }, "linking_length is 1.5 on rank 2 and 1 on rank 0"),
        (FofOptions { min_members: 7, ..FOF }, "min_members is 7 on rank 2"),
        (FofOptions { rows: 1, ..FOF }, "rows is 1 on rank 2"),
        (FofOptions { box_size: [9.0; 3], ..FOF }, "box_size[0] is 9 on rank 2 and 0 on rank 0"),
    ];
    for (other, word) in all {
        let errors = on_threads(4, |ranks| {
            let options = if ranks.rank() == 2 { other } else { FOF };
            Ok(fof(Some(&communicator(ranks)), &particles(&POINTS), &options).unwrap_err())
        });
        for (status, message) in errors.unwrap() {
            assert!(status == INVALID && message.contains(word), "{word}: {message}");
        }
    }
}

#[test]
fn what_one_rank_is_refused_all_know() {
    let errors = on_threads(3, |ranks| {
        let mut own = particles(&POINTS);
        if ranks.rank() == 1 {
            own.positions.x = ptr::null();
        }
        Ok(fof(Some(&communicator(ranks)), &own, &FOF).unwrap_err())
    });
    let errors = errors.unwrap();
    assert!(errors.iter().all(|(status, message)| *status == INVALID && message.contains("positions: x and y and z")));
    assert!(errors[0].1.starts_with("rank 1: ") && errors[1].1.starts_with("positions: "));
}

#[test]
fn communicators_that_cannot_be() {
    on_threads(1, |ranks| {
        let good = communicator(ranks);
        let all = [
            (Communicator { size: 0, ..good }, INVALID, "rank 0 of 0"),
            (Communicator { rank: 3, ..good }, INVALID, "rank 3 of 1"),
            (Communicator { size: 1 << 40, ..good }, INVALID, "rank 0 of 1099511627776"),
            (Communicator { all_to_all_v: None, ..good }, INVALID, "all_to_all_v of the communicator is NULL"),
            (Communicator { all_gather_v: None, ..good }, INVALID, "all_gather_v of the communicator is NULL"),
            (Communicator { all_reduce: None, ..good }, INVALID, "all_reduce of the communicator is NULL"),
            (
                Communicator { all_reduce: Some(of_threads::fails), ..good },
                COMMUNICATION,
                "all_reduce of the communicator returns 16",
            ),
        ];
        for (bad, expected, word) in all {
            let (status, message) = fof(Some(&bad), &particles(&POINTS), &FOF).unwrap_err();
            assert!(status == expected && message.contains(word), "{word}: {message}");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_panic_is_a_status() {
    assert_eq!((status(|| panic!("of {}", "a test")), message()), (BUG, "internal error: of a test".into()));
    assert_eq!(
        (status(|| std::panic::panic_any(7)), message()),
        (BUG, "internal error: panic without a message".into())
    );
}

/// Compiles a C program whose assertions compare sizes, offsets and constants with those of the header.
#[test]
fn structures_are_those_of_the_header() {
    let mut program = String::from("#include <stddef.h>\n");
    program += HEADER;
    macro_rules! structure {
        ($rust:ty, $c:literal, $($field:ident $name:literal),+) => {
            writeln!(program, "_Static_assert(sizeof({}) == {}, \"\");", $c, size_of::<$rust>()).unwrap();
            $(writeln!(program, "_Static_assert(offsetof({}, {}) == {}, \"\");", $c, $name, offset_of!($rust, $field)).unwrap();)+
        };
    }
    structure!(Communicator, "ropewalk_communicator", context "context", rank "rank", size "size",
        all_to_all_v "all_to_all_v", all_gather_v "all_gather_v", all_reduce "all_reduce");
    structure!(Numbers, "ropewalk_numbers", data "data", stride "stride", kind "type");
    structure!(Vectors, "ropewalk_vectors", x "x", y "y", z "z", stride "stride", kind "type");
    structure!(Particles, "ropewalk_particles", count "count", positions "positions", velocities "velocities",
        masses "masses", mass "mass", ids "ids");
    structure!(FofOptions, "ropewalk_fof_options", linking_length "linking_length", min_members "min_members",
        box_size "box_size", rows "rows", center "center", softening "softening");
    structure!(DbscanOptions, "ropewalk_dbscan_options", eps "eps", min_samples "min_samples", box_size "box_size");
    structure!(Halo, "ropewalk_halo", tag "tag", label "label", count "count", mass "mass",
        center_of_mass "center_of_mass", velocity "velocity", velocity_dispersion "velocity_dispersion",
        rms_radius "rms_radius", max_radius "max_radius", center "center", center_id "center_id");
    for (name, value) in
        [("OK", OK), ("INVALID", INVALID), ("MEMORY", MEMORY), ("COMMUNICATION", COMMUNICATION), ("BUG", BUG)]
    {
        writeln!(program, "_Static_assert(ROPEWALK_{name} == {value}, \"\");").unwrap();
    }
    for (name, value) in [
        ("F32", F32),
        ("F64", F64),
        ("U32", U32),
        ("U64", U64),
        ("SUM", SUM),
        ("MIN", MIN),
        ("MAX", MAX),
        ("NO_ROWS", NO_ROWS),
        ("ROWS_OF_OWNERS", ROWS_OF_OWNERS),
        ("ROWS_ON_RANK_0", ROWS_ON_RANK_0),
        ("NO_CENTER", NO_CENTER),
        ("MOST_BOUND", MOST_BOUND),
        ("MOST_CONNECTED", MOST_CONNECTED),
        ("SHRINKING_SPHERE", SHRINKING_SPHERE),
    ] {
        writeln!(program, "_Static_assert(ROPEWALK_{name} == {value}, \"\");").unwrap();
    }
    let arguments = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"];
    let mut compiler = Command::new("cc").args(arguments).stdin(Stdio::piped()).spawn().expect("there is a `cc`");
    compiler.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success(), "{program}");
}

#[test]
fn functions_are_those_of_the_header() {
    fn names<'a>(text: &'a str, before: &'a str) -> Vec<&'a str> {
        let starts = text.match_indices(before).map(|(at, _)| &text[at + before.len() - "ropewalk_".len()..]);
        let mut names: Vec<&str> =
            starts.map(|rest| &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap()]).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
    let sources = [
        include_str!("ffi/mod.rs"),
        include_str!("ffi/clusters.rs"),
        include_str!("ffi/mesh.rs"),
        include_str!("ffi/spheres.rs"),
        include_str!("ffi/tree.rs"),
    ];
    let source = sources.concat();
    let mut exported = [names(&source, "fn ropewalk_"), names(&source, "\n    ropewalk_")].concat();
    exported.sort_unstable();
    let headers =
        [HEADER, include_str!("../include/ropewalk_points.h"), include_str!("../include/ropewalk_mesh.h")].concat();
    // Names of functions are followed by their arguments.
    let declared: Vec<&str> = names(&headers, "ropewalk_")
        .into_iter()
        .filter(|name| headers.contains(&format!(" {name}(")) || headers.contains(&format!("*{name}(")))
        .collect();
    assert_eq!(exported, declared);
}
