//! Comments of text tables that name the columns, in the styles of different programs.

use super::{Folder, all, expected::flat, refused};

#[test]
fn names_in_comments() {
    let folder = Folder::new("text-comments");
    let cases: &[(&str, &str, &[f64], &[&str])] = &[
        // With numbers or units.
        ("#1:id 2:x 3:y\n7 1 2\n", "x y", &[1.0, 2.0], &["the comment in line 1 names the columns: id, x, y"]),
        ("# 1 id 2 x 3 y\n7 1 2\n", "x y", &[1.0, 2.0], &["names the columns: id, x, y"]),
        ("# [1] id [2] x [3] y\n7 1 2\n", "x y", &[1.0, 2.0], &["names the columns: id, x, y"]),
        ("# id(1), x(2), y(3)\n7 1 2\n", "x y", &[1.0, 2.0], &["names the columns: id(1), x(2), y(3)"]),
        (
            "# halo_id x (Mpc) y (Mpc)\n7 1 2\n",
            "x (Mpc) y (Mpc)",
            &[1.0, 2.0],
            &["names the columns: halo_id, x (Mpc), y (Mpc)", "halo_id (beside"],
        ),
        // Names of AHF and SExtractor.
        ("#ID(1) hostHalo(2) Xc(3) Yc(4)\n7 0 1 2\n", "Xc Yc", &[1.0, 2.0], &["hostHalo (an id by its name)"]),
        (
            "#   1 NUMBER  Running number\n#   2 X_IMAGE  Position [pixel]\n#   3 Y_IMAGE  Position [pixel]\n7 1 2\n",
            "X_IMAGE [pixel] Y_IMAGE [pixel]",
            &[1.0, 2.0],
            &["NUMBER (an index by its name)"],
        ),
        // Other comment characters.
        ("% by hand\n% id x y\n7 1 2\n", "x y", &[1.0, 2.0], &["line 1 'by hand'", "line 2 names the columns"]),
        ("// id x y\n7 1 2\n", "x y", &[1.0, 2.0], &["line 1 names the columns: id, x, y"]),
        ("! id, x, y\n7 1 2\n", "x y", &[1.0, 2.0], &["line 1 names the columns: id, x, y"]),
        ("% made by hand\n7 1 2 3\n", "", &[7.0, 1.0, 2.0, 3.0], &["not used: line 1 'made by hand'"]),
        ("!text\nx y\n1 2\n", "x y", &[1.0, 2.0], &["not used: line 1 'text'"]),
        // The characters belong to names if the line has a name for each field.
        ("% change,price\n1,2\n", "% change price", &[1.0, 2.0], &[]),
        ("%id,a,b\n7,1,2\n", "a b", &[1.0, 2.0], &["%id (an id by its name)"]),
    ];
    for (text, columns, first, said) in cases {
        let snapshot = all(folder.with("a.txt", text)).unwrap();
        assert_eq!((snapshot.columns.join(" ").as_str(), &flat(&snapshot.points)[..]), (*columns, *first), "{text}");
        let notes = snapshot.notes.join("|");
        said.iter().for_each(|part| assert!(notes.contains(part), "{part:?} is not in: {notes}"));
        assert!(!said.is_empty() || notes.is_empty(), "{notes}");
    }
    let path = folder.with("a.txt", "* id x y\n7 1 2\n");
    refused(
        path,
        &["line 2: expected 4 columns as in the first line, got 3: 7 1 2", "put # before it if it is a comment"],
    );
}
