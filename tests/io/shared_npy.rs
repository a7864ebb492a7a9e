//! Arrays that several processes write together: the same bytes as of one, and nothing where one fails.

use std::fs;
use std::path::Path;

use ropewalk_io::{
    NpyNumber, Part, SharedNpy, SharedNpyRows, read_npy_u64, write_npy, write_npy_f64, write_npy_i32, write_npy_u32_to,
};

use super::{Folder, f32s};

/// Writes rows in parts, at the same time.
fn write_shared<T: NpyNumber + Sync>(path: &Path, values: &[T], width: Option<usize>, parts: usize) {
    let own = width.unwrap_or(1);
    let rows = (values.len() / own) as u64;
    let whole = SharedNpy::create::<T>(path, rows, width).unwrap();
    std::thread::scope(|scope| {
        for index in 0..parts {
            let (whole, rows) = (&whole, Part { index, count: parts }.rows(rows));
            scope.spawn(move || {
                let mut file = SharedNpyRows::open(whole.temporary()).unwrap();
                // In two steps, the second first.
                let middle = (rows.start + rows.end) / 2;
                for rows in [middle..rows.end, rows.start..middle] {
                    file.write_rows(rows.start, &values[rows.start as usize * own..rows.end as usize * own]).unwrap();
                }
                file.finish().unwrap();
            });
        }
    });
    assert!(!path.exists());
    whole.commit().unwrap();
}

#[test]
fn as_one_process_writes_them() {
    let folder = Folder::new("shared");
    let (one, many) = (folder.file("one.npy"), folder.file("many.npy"));
    let same = || {
        assert!(fs::read(&one).unwrap() == fs::read(&many).unwrap());
        assert_eq!(folder.names(), ["many.npy", "one.npy"]);
        fs::remove_file(&many).unwrap();
    };
    for n in [0, 1, 5, 1000, 100_003] {
        for parts in [1, 3, 16] {
            let labels: Vec<i32> = (0..n).map(|i| i % 97 - 1).collect();
            write_npy_i32(&one, &labels).unwrap();
            write_shared(&many, &labels, None, parts);
            same();
            let values: Vec<f64> = labels.iter().map(|&x| f64::from(x) / 7.0).collect();
            write_npy_f64(&one, &values).unwrap();
            write_shared(&many, &values, None, parts);
            same();
            let values: Vec<f32> = (0..3 * n).map(|x| x as f32).collect();
            write_npy(&one, &f32s(3, values.clone())).unwrap();
            write_shared(&many, &values, Some(3), parts);
            same();
            let pairs: Vec<u32> = (0..2 * n as u32).collect();
            write_npy_u32_to(fs::File::create(&one).unwrap(), &pairs, 2).unwrap();
            write_shared(&many, &pairs, Some(2), parts);
            same();
        }
    }
}

#[test]
fn what_is_not_committed_goes() {
    let folder = Folder::new("shared-dropped");
    let path = folder.with("labels.npy", "before");
    let whole = SharedNpy::create::<i32>(&path, 4, None).unwrap();
    assert_eq!(whole.temporary().parent(), path.parent());
    let mut file = SharedNpyRows::<i32>::open(whole.temporary()).unwrap();
    file.write_rows(0, &[1, 2]).unwrap();
    drop(whole);
    // One that is late is not told, and leaves nothing.
    file.write_rows(2, &[3, 4]).unwrap();
    drop(file);
    assert_eq!(folder.names(), ["labels.npy"]);
    assert_eq!(fs::read(&path).unwrap(), b"before");

    let whole = SharedNpy::create::<i64>(&path, 2, None).unwrap();
    SharedNpyRows::<i64>::open(whole.temporary()).unwrap().write_rows(1, &[7]).unwrap();
    whole.commit().unwrap();
    assert_eq!(read_npy_u64(&path).unwrap(), [0, 7]);
}

#[test]
fn refused() {
    let folder = Folder::new("shared-refused");
    let path = folder.file("labels.npy");
    let whole = SharedNpy::create::<f32>(&path, 10, Some(3)).unwrap();
    let message = SharedNpyRows::<i32>::open(whole.temporary()).unwrap_err().to_string();
    assert!(message.contains("holds f32, and i32 are to be written"), "{message}");
    let mut file = SharedNpyRows::<f32>::open(whole.temporary()).unwrap();
    let message = file.write_rows(0, &[0.0; 4]).unwrap_err().to_string();
    assert!(message.contains("values.len() is 4; it must be a multiple of the width of rows"), "{message}");
    for (first, n) in [(10, 1), (9, 2), (0, 11), (u64::MAX, 1)] {
        let message = file.write_rows(first, &vec![0.0; 3 * n]).unwrap_err().to_string();
        assert!(
            message.contains(&format!("has 10 rows; {n} rows from row {first} on are not among them")),
            "{message}"
        );
    }
    file.write_rows(10, &[]).unwrap();
    // What another process may do to it.
    let shorter = fs::OpenOptions::new().write(true).open(whole.temporary()).unwrap();
    shorter.set_len(200).unwrap();
    let message = SharedNpyRows::<f32>::open(whole.temporary()).unwrap_err().to_string();
    assert!(message.contains("truncated"), "{message}");
    let message = whole.commit().unwrap_err().to_string();
    assert!(message.contains("has 200 bytes, not 248"), "{message}");
    assert!(folder.names().is_empty());

    let whole = SharedNpy::create::<f32>(&path, 1, None).unwrap();
    fs::remove_file(whole.temporary()).unwrap();
    assert!(SharedNpyRows::<f32>::open(whole.temporary()).is_err());
    assert!(whole.commit().unwrap_err().to_string().contains("temporary file"));
    for (rows, width) in [(u64::MAX, None), (u64::MAX / 2, Some(3)), (1, Some(0)), (1, Some(1 << 17))] {
        assert!(SharedNpy::create::<i64>(&path, rows, width).is_err(), "{rows} {width:?}");
    }
    assert!(SharedNpy::create::<i32>(folder.file("absent/labels.npy"), 1, None).is_err());
    assert!(SharedNpy::create::<i32>(&folder.0, 1, None).is_err());
    let other = folder.with("other", "text");
    assert!(SharedNpyRows::<f32>::open(other).is_err());
    assert_eq!(folder.names(), ["other"]);
}

#[cfg(unix)]
#[test]
fn a_device_is_no_file() {
    let message = SharedNpy::create::<i32>("/dev/null", 1, None).unwrap_err().to_string();
    assert!(message.contains("/dev/null: is no file"), "{message}");
}

/// Where no more may be written, as on a full disk, that is an error of the process that finds it.
#[cfg(target_os = "linux")]
#[test]
fn no_space_is_left() {
    use std::process::Command;

    const NAME: &str = "ROPEWALK_TEST_SHARED_NPY";
    if let Ok(path) = std::env::var(NAME) {
        // The process below.
        let mut file = SharedNpyRows::open(&path).unwrap();
        file.write_rows(0, &[1; 1000]).unwrap();
        let message = file.write_rows(20_000, &[1; 1000]).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{path}: cannot be written at byte 80128")), "{message}");
        return;
    }
    let folder = Folder::new("shared-full");
    let whole = SharedNpy::create::<i32>(folder.file("labels.npy"), 100_000, None).unwrap();
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "shared_npy::no_space_is_left"])
        .env(NAME, whole.temporary())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    drop(whole);
    assert!(folder.names().is_empty());
}
