//! Arrays that several processes write together: the same bytes as by one process, and no file if one process fails.

use std::fs;
use std::path::{Path, PathBuf};

use ropewalk::distributed::{Alone, Communicator, on_threads};
use ropewalk_io::{
    NpyNumber, Part, SharedNpy, read_npy_u64, write_npy, write_npy_f64, write_npy_i32, write_npy_u32_to,
};

use super::{Folder, f32s};

/// Writes the rows of `parts` ranks at the same time.
fn write_shared<T: NpyNumber + Sync>(path: &Path, values: &[T], width: Option<usize>, parts: usize) {
    let own = width.unwrap_or(1);
    let rows = (values.len() / own) as u64;
    on_threads(parts, |ranks| {
        let rows = Part { index: ranks.rank(), count: parts }.rows(rows);
        let array = SharedNpy::create::<T>(ranks, path, rows.end - rows.start, width)?;
        array.write(&values[rows.start as usize * own..rows.end as usize * own])?;
        assert!(ranks.rank() > 0 || !path.exists());
        array.commit()
    })
    .unwrap();
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

/// Returns the path of the temporary file in a folder.
fn temporary(folder: &Folder, known: &[&str]) -> PathBuf {
    let names = folder.names();
    let mut others = names.iter().filter(|name| !known.contains(&name.as_str()));
    folder.file(others.next().expect("there is a temporary file"))
}

#[test]
fn what_is_not_committed_goes() {
    let folder = Folder::new("shared-dropped");
    let path = folder.with("labels.npy", "before");
    let whole = SharedNpy::create::<i32>(&Alone, &path, 4, None).unwrap();
    whole.write(&[1, 2, 3, 4]).unwrap();
    assert_eq!(folder.names().len(), 2);
    drop(whole);
    assert_eq!(folder.names(), ["labels.npy"]);
    assert_eq!(fs::read(&path).unwrap(), b"before");
    // One rank has written nothing.
    on_threads(2, |ranks| {
        let whole = SharedNpy::create::<i64>(ranks, &path, 1, None)?;
        let written = whole.write::<i64>(if ranks.rank() == 0 { &[] } else { &[7] });
        assert!(written.unwrap_err().to_string().contains("values.len() is 0; it must be 1"));
        whole.commit()
    })
    .unwrap();
    assert_eq!(read_npy_u64(&path).unwrap(), [0, 7]);
}

#[test]
fn refused() {
    let folder = Folder::new("shared-refused");
    let path = folder.file("labels.npy");
    let whole = SharedNpy::create::<f32>(&Alone, &path, 10, Some(3)).unwrap();
    let message = whole.write(&[0i32; 30]).unwrap_err().to_string();
    assert!(message.contains("holds f32; it must hold i32"), "{message}");
    for n in [0, 4, 27, 33] {
        let message = whole.write(&vec![0.0f32; n]).unwrap_err().to_string();
        assert!(
            message.contains(&format!("values.len() is {n}; it must be 30, as the array has 10 rows")),
            "{message}"
        );
    }
    // Changes that another process could make.
    let shorter = fs::OpenOptions::new().write(true).open(temporary(&folder, &[])).unwrap();
    shorter.set_len(200).unwrap();
    let message = whole.write(&[0.0f32; 30]).unwrap_err().to_string();
    assert!(message.contains("truncated"), "{message}");
    let message = whole.commit().unwrap_err().to_string();
    assert!(message.contains("must have 248 bytes, got 200"), "{message}");
    assert!(folder.names().is_empty());

    let whole = SharedNpy::create::<f32>(&Alone, &path, 10, None).unwrap();
    write_npy(temporary(&folder, &[]), &f32s(1, vec![0.0; 9])).unwrap();
    let message = whole.write(&[0.0f32; 10]).unwrap_err().to_string();
    assert!(message.contains("has 9 rows, which do not include 10 rows from row 0 on"), "{message}");
    fs::write(temporary(&folder, &[]), "text").unwrap();
    assert!(whole.write(&[0.0f32; 10]).unwrap_err().to_string().contains("is not a NumPy array"));
    fs::remove_file(temporary(&folder, &[])).unwrap();
    assert!(whole.write(&[0.0f32; 10]).is_err());
    assert!(whole.commit().unwrap_err().to_string().contains("temporary file"));
    for (rows, width) in [(u64::MAX, None), (u64::MAX / 2, Some(3)), (1, Some(0)), (1, Some(1 << 17))] {
        assert!(SharedNpy::create::<i64>(&Alone, &path, rows, width).is_err(), "{rows} {width:?}");
    }
    let errors = on_threads(3, |ranks| Ok(SharedNpy::create::<i32>(ranks, &path, u64::MAX / 2, None).is_err()));
    assert_eq!(errors.unwrap(), [true; 3]);
    assert!(SharedNpy::create::<i32>(&Alone, folder.file("absent/labels.npy"), 1, None).is_err());
    assert!(SharedNpy::create::<i32>(&Alone, &folder.0, 1, None).is_err());
    assert!(folder.names().is_empty());
}

#[cfg(unix)]
#[test]
fn a_device_is_no_file() {
    let message = SharedNpy::create::<i32>(&Alone, "/dev/null", 1, None).unwrap_err().to_string();
    assert!(message.contains("/dev/null: is not a regular file"), "{message}");
}
