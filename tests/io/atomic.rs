//! Files that get their names when they are complete.

use std::fs;
use std::io::Write;

use ropewalk::ErrorKind;
use ropewalk_io::{AtomicFile, parts};

use super::Folder;

fn written(path: impl AsRef<std::path::Path>, text: &str) -> ropewalk::Result<AtomicFile> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes()).unwrap();
    Ok(file)
}

#[test]
fn all_or_nothing() {
    let folder = Folder::new("atomic");
    let [a, b] = ["a", "b"].map(|name| folder.with(name, "old"));
    drop(written(&a, "new").unwrap());
    assert_eq!(folder.names(), ["a", "b"]);
    assert_eq!(fs::read(&a).unwrap(), b"old");

    let files = vec![written(&a, "new").unwrap(), written(folder.file("c"), "new").unwrap()];
    // On Linux, incomplete files have no name.
    let unnamed = if cfg!(target_os = "linux") { 2 } else { 4 };
    assert_eq!(folder.names().len(), unnamed);
    AtomicFile::commit_all(files).unwrap();
    assert_eq!(folder.names(), ["a", "b", "c"]);
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"new".to_vec(), b"old".to_vec()));

    // A target that can no longer be replaced, or a missing temporary file, is detected before any file is renamed.
    let files = vec![written(&a, "newer").unwrap(), written(folder.file("d"), "newer").unwrap()];
    fs::create_dir(folder.file("d")).unwrap();
    let message = AtomicFile::commit_all(files).unwrap_err().to_string();
    assert!(
        message.contains("d: cannot be written: its name now belongs to something that is not a regular file"),
        "{message}"
    );
    let files = vec![written(&a, "newer").unwrap(), written(&b, "newer").unwrap()];
    let hidden: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with('.')).collect();
    if cfg!(target_os = "linux") {
        assert!(hidden.is_empty());
        drop(files);
    } else {
        assert_eq!(hidden.len(), 2);
        for name in hidden {
            fs::remove_file(folder.file(&name)).unwrap();
        }
        let message = AtomicFile::commit_all(files).unwrap_err().to_string();
        assert!(message.contains("its temporary file is gone"), "{message}");
    }
    assert_eq!(folder.names(), ["a", "b", "c", "d"]);
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"new".to_vec(), b"old".to_vec()));
}

#[test]
fn names() {
    let folder = Folder::new("atomic-names");
    // A name of the maximum length.
    let long = folder.file(&"n".repeat(255));
    written(&long, "x").unwrap().commit().unwrap();
    assert_eq!(fs::read(&long).unwrap(), b"x");
    for (path, said) in [
        (folder.file(""), "is a directory"),
        (folder.file("no/file"), "cannot write into this directory"),
        (folder.file(&"n".repeat(256)), "too long"),
    ] {
        let error = written(path, "x").and_then(AtomicFile::commit).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    // The system's own error is kept.
    let error = written(folder.file("no/file"), "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
    assert_eq!(folder.names().len(), 1);
}

/// New files have default permissions; other files keep the permissions of the file that they replace.
#[cfg(unix)]
#[test]
fn rights() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("atomic-rights");
    let plain = folder.with("plain", "x");
    written(folder.file("a"), "x").unwrap().commit().unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(folder.file("a")), mode(plain));
    // The replacement of a private file is private.
    fs::set_permissions(folder.file("a"), fs::Permissions::from_mode(0o600)).unwrap();
    written(folder.file("a"), "y").unwrap().commit().unwrap();
    assert_eq!(mode(folder.file("a")) & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn links_are_followed() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("atomic-links");
    fs::create_dir(folder.file("far")).unwrap();
    let real = folder.with("far/real", "old");
    symlink("far/real", folder.file("link")).unwrap();
    symlink("link", folder.file("link2")).unwrap();
    written(folder.file("link2"), "new").unwrap().commit().unwrap();
    assert_eq!(fs::read(real).unwrap(), b"new");
    assert!(fs::symlink_metadata(folder.file("link2")).unwrap().is_symlink());
    assert_eq!(folder.names(), ["far", "link", "link2"]);

    symlink("nothing", folder.file("loose")).unwrap();
    let message = written(folder.file("loose"), "x").unwrap_err().to_string();
    assert!(message.contains("is a link to a file that does not exist"), "{message}");
    assert!(!folder.file("nothing").exists());
}

/// A pipe represents everything that is not a regular file, since a test should not use /dev/null.
#[cfg(unix)]
#[test]
fn pipes_are_written_through() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new("atomic-pipe");
    let pipe = folder.file("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    written(&pipe, "through").unwrap().commit().unwrap();
    assert_eq!(reader.join().unwrap(), b"through");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(folder.names(), ["pipe"]);
}

#[test]
fn parts_of_an_input() {
    let folder = Folder::new("atomic-parts");
    for name in ["snap.0", "snap.1", "snap.2", "snap.9", "points.npy"] {
        folder.with(name, "");
    }
    let names = |name: &str| {
        let mut names: Vec<_> = parts(folder.file(name)).iter().map(|p| p.file_name().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    for name in ["snap", "snap.0", "snap.2"] {
        assert_eq!(names(name), ["snap.0", "snap.1", "snap.2"]);
    }
    assert_eq!(names("snap.9"), ["snap.0", "snap.1", "snap.2", "snap.9"]);
    assert_eq!(names("points.npy"), ["points.npy"]);
    assert_eq!(names("none.npy"), ["none.npy"]);
}
