//! Text tables.

use ropewalk_io::{Format, Masses, ReadOptions, read, read_fields};

use super::{Folder, all, f64s, refused};

#[test]
fn plain_numbers() {
    let folder = Folder::new("csv");
    let wanted = f64s(2, [1.0, -2.5, 3e2, 4.0]);
    let texts = [
        "1,-2.5\n3e2,4\n",
        "1;-2.5\n3e2;4",
        "1\t-2.5\r\n3e2\t4\r\n",
        "  1   -2.5\n 3e2 4   \n",
        "# made by hand; or not\n1, -2.5\n\n# more, and more\n 3e2 , 4\n\n",
        "a,b\n1,-2.5\n3e2,4\n",
        "\u{feff}\"a\",\"b\"\n\"1\",\"-2.5\"\n3e2,4\n",
        "# a b\n1 -2.5\n3e2 4\n",
        "\t1\t-2.5\t\n\t\t\n\t# more\tand more\n3e2\t4\t\n",
    ];
    for text in texts {
        let snapshot = all(folder.with("a", text)).unwrap();
        assert_eq!(snapshot.points, wanted, "{text:?}");
        assert_eq!((snapshot.format, snapshot.ids, snapshot.masses), (Format::Csv, None, Masses::Unknown));
    }
    assert_eq!(all(folder.with("a", "1\n2\n3")).unwrap().points, f64s(1, [1.0, 2.0, 3.0]));
    let preface = format!("{}1 2\n3 4\n", "# on and on\n".repeat(10_000));
    assert_eq!(all(folder.with("a", preface)).unwrap().points, f64s(2, [1.0, 2.0, 3.0, 4.0]));
    let ten = "1 2 3 4 5 6 7 8 9 10";
    assert_eq!(all(folder.with("a", ten)).unwrap().points.dim(), 10);
}

/// Text clouds have colours or normals after the coordinates.
#[test]
fn columns_of_xyz() {
    let folder = Folder::new("csv-xyz");
    for name in ["a.xyz", "B.XYZ"] {
        let cloud = all(folder.with(name, "1 2 3 255 0 7\n4 5 6 0 0 0\n")).unwrap();
        assert_eq!(cloud.points, f64s(3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), "{name}");
        assert!(cloud.notes[0].contains("column 4") && cloud.notes[0].contains("column 6"), "{:?}", cloud.notes);
    }
    assert_eq!(all(folder.with("b.xyz", "1 2\n3 4\n")).unwrap().points.dim(), 2);
    assert_eq!(all(folder.with("c.xyz", "a b c d\n1 2 3 4\n")).unwrap().points.dim(), 4);
    assert_eq!(all(folder.with("d.txt", "1 2 3 4\n")).unwrap().points.dim(), 4);
}

#[test]
fn named_columns() {
    let folder = Folder::new("csv-named");
    let text = "ID,vx,VY,vz,z,y,x,Mass,halo\n7,10,20,30,3,2,1,0.5,99\n18446744073709551615,-1,-2,-3,6,5,4,1,nothing\n";
    let snapshot = all(folder.with("a", text)).unwrap();
    assert_eq!(snapshot.points, f64s(3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(snapshot.velocities, Some(f64s(3, [10.0, 20.0, 30.0, -1.0, -2.0, -3.0])));
    assert_eq!(snapshot.ids, Some(vec![7, u64::MAX]));
    assert_eq!(snapshot.masses, Masses::Each(vec![0.5, 1.0]));

    let snapshot = all(folder.with("a", "id petal sepal\n1 2 3\n")).unwrap();
    assert_eq!((snapshot.points, snapshot.ids), (f64s(2, [2.0, 3.0]), Some(vec![1])));

    refused(folder.with("a", "x,x\n1,2\n"), &["two columns named x"]);
    refused(folder.with("a", "x,y,vx\n1,2,3\n"), &["2 columns of coordinates, but 1 of velocities"]);
    refused(folder.with("a", "id,mass\n1,2\n"), &["0 columns of coordinates"]);
    refused(folder.with("a", "id,x\n1,2\n-1,2\n"), &["line 3: column 1 (id) is not an id", "'-1'"]);
    refused(folder.with("a", "id,x\n1.5,2\n"), &["line 2", "'1.5'"]);
}

/// A name such as x, y or z for one of several columns does not hide the others.
#[test]
fn names_that_are_half_known() {
    let folder = Folder::new("csv-half-known");
    let case = |text: &str| {
        let snapshot = all(folder.with("a", text)).unwrap();
        (snapshot.points, snapshot.columns.join(" "))
    };
    assert_eq!(case("RA,DEC,z\n1,2,3\n"), (f64s(3, [1.0, 2.0, 3.0]), "RA DEC z".into()));
    assert_eq!(case("z,x\n1,2\n"), (f64s(2, [1.0, 2.0]), "z x".into()));
    assert_eq!(case("id,x,mass\n1,2,3\n"), (f64s(1, [2.0]), "x".into()));
    assert_eq!(case("y,w,x\n1,2,3\n"), (f64s(2, [3.0, 1.0]), "x y".into()));
    assert_eq!(case("Z,Y,X,w\n1,2,3,4\n"), (f64s(3, [3.0, 2.0, 1.0]), "X Y Z".into()));
    assert_eq!(case("petal,sepal,class\n1,2,0\n"), (f64s(2, [1.0, 2.0]), "petal sepal".into()));
    assert_eq!(case("1,2\n3,4\n"), (f64s(2, [1.0, 2.0, 3.0, 4.0]), String::new()));
    assert_eq!(case("petal,sepal,species\n1,2,setosa\n"), (f64s(2, [1.0, 2.0]), "petal sepal".into()));
    refused(
        folder.with("a", "a,b,c,d,e,f,g,h,i,j,k\n1,2,3,4,5,6,7,8,9,10,11\n"),
        &["11 columns", "ReadOptions::columns"],
    );
}

#[test]
fn chosen_columns() {
    let folder = Folder::new("csv-chosen");
    let path = folder.with("a", "id,lon,LAT,x,y,mass,name\n7,1,2,3,4,5,a\n8,6,7,8,9,10,b\n");
    let choose = |path: &std::path::Path, columns: &[&str]| {
        read(path, &ReadOptions::default().columns(columns.iter().map(|c| c.to_string())))
    };
    let genes: String = (0..9000).map(|gene| format!(",gene{gene}")).collect();
    let wide = folder.with("wide", format!("lat,lon{genes}\n1,2{}\n", ",0".repeat(9000)));
    assert_eq!(choose(&wide, &["lon", "lat"]).unwrap().points, f64s(2, [2.0, 1.0]));
    let snapshot = choose(&path, &["lat", "lon"]).unwrap();
    assert_eq!((snapshot.points, snapshot.columns), (f64s(2, [2.0, 1.0, 7.0, 6.0]), vec!["LAT".into(), "lon".into()]));
    assert_eq!((snapshot.ids, snapshot.masses), (Some(vec![7, 8]), Masses::Each(vec![5.0, 10.0])));
    let snapshot = choose(&path, &["6", " x "]).unwrap();
    assert_eq!((snapshot.points, snapshot.masses), (f64s(2, [5.0, 3.0, 10.0, 8.0]), Masses::Unknown));
    for (columns, said) in [
        (&["lot"][..], "has no column lot; its 7 columns are id, lon, LAT"),
        (&["0"], "has no column 0"),
        (&["8"], "has no column 8"),
        (&["lon", "2"], "column 2 is chosen twice"),
        (&["name"], "line 2: column 7 (name) is not a number: 'a'"),
        (&[""], "has no column "),
    ] {
        let message = choose(&path, columns).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
    let both = folder.with("both", "a,A,vx\n1,2,3\n");
    assert_eq!(choose(&both, &["A"]).unwrap().points, f64s(1, [2.0]));
    // Velocities are omitted if their number differs from that of the chosen coordinates.
    assert_eq!(choose(&both, &["A", "a"]).unwrap().velocities, None);
    let bare = folder.with("bare", "1 2 3\n4 5 6\n");
    let snapshot = choose(&bare, &["3", "1"]).unwrap();
    assert_eq!((snapshot.points, snapshot.columns), (f64s(2, [3.0, 1.0, 6.0, 4.0]), vec!["3".into(), "1".into()]));
    assert!(choose(&bare, &["x"]).unwrap_err().to_string().contains("its 3 columns have no names"));
}

#[test]
fn quotes_hold_separators() {
    let folder = Folder::new("csv-quotes");
    for (text, names) in [
        ("\"a,b\",c\n1,2\n", ["a,b", "c"]),
        ("c;\"a;b\"\n1;2\n", ["c", "a;b"]),
        ("\"a b\" c\n1 2\n", ["a b", "c"]),
        ("\"a;b, c\",d\n\"1\",2\n", ["a;b, c", "d"]),
        (" \"a, \"\"b\"\", c\" , d\n1,2\n", ["a, \"b\", c", "d"]),
    ] {
        let snapshot = all(folder.with("a", text)).unwrap();
        assert_eq!(
            (snapshot.points, snapshot.columns),
            (f64s(2, [1.0, 2.0]), names.map(String::from).to_vec()),
            "{text}"
        );
    }
}

#[test]
fn ids_as_spreadsheets_write_them() {
    let folder = Folder::new("csv-ids");
    let text = "id,x\n1.0,0\n2e3,0\n9007199254740991.0,0\n18446744073709551615,0\n";
    assert_eq!(all(folder.with("a", text)).unwrap().ids, Some(vec![1, 2000, (1 << 53) - 1, u64::MAX]));
    // From 2^53 on, one float stands for several ids.
    for id in ["1.5", "-1.0", "1e17", "inf", "-0.5", "1e-3", "9007199254740992.0", "9007199254740993.0"] {
        refused(folder.with("a", format!("id,x\n{id},0\n")), &["line 2: column 1 (id) is not an id", id]);
    }
    let without = all(folder.with("a", "id,x\nNaN,0\n")).unwrap();
    assert!(
        without.ids.is_none() && without.notes[0].contains("id (only missing values, no ids)"),
        "{:?}",
        without.notes
    );
}

/// Integers that binary files are rejected for are also rejected in text and in fields. Floats written without a
/// point are accepted.
#[test]
fn whole_numbers_that_floats_round() {
    let folder = Folder::new("csv-rounded");
    let ecsv = "# %ECSV 1.0\n# ---\n# datatype:\n# - {name: x, datatype: int64}\n# - {name: y, datatype: int64}\nx y\n1 9007199254740993\n";
    refused(folder.with("a", ecsv), &["line 7: column 2 (y) is 9007199254740993"]);
    let path = folder.with("a", "a,b\n1,9007199254740993\n");
    let error = read_fields(&path, &[]).unwrap_err().to_string();
    assert!(error.contains("column 2 (b) is 9007199254740993"), "{error}");
    assert_eq!(read_fields(&path, &["a".into()]).unwrap().values, [1.0]);
    let values = [1e20, -3e16, f64::MAX, 1e23];
    let rows = values.map(|value: f64| value.to_string()).join("\n");
    assert_eq!(all(folder.with("a", rows)).unwrap().points, f64s(1, values));
}

#[test]
fn wrong() {
    let folder = Folder::new("csv-wrong");
    refused(folder.with("a", ""), &["no rows of numbers"]);
    refused(folder.with("a", "x,y\n"), &["no rows of numbers"]);
    refused(folder.with("a", "# nothing\n"), &["no rows of numbers"]);
    refused(folder.with("a", "1,2\n3,4\n5\n"), &["line 3: expected 2 columns as in the first line, got 1: 5"]);
    refused(folder.with("a", "1,2\n3,4,5"), &["line 2: expected 2 columns as in the first line, got 3: 3 4 5"]);
    refused(folder.with("a", "1 2\n3 4\n5 six\n7 8\n"), &["line 3: column 2 is not a number: 'six'"]);
    refused(folder.with("a", "1 2\r\n# so\r\n\r\n3 4\r\n5 six\r\n"), &["line 5: column 2 is not a number: 'six'"]);
    refused(folder.with("a", "# a\n\n\n# b\n1 2\n5 six"), &["line 6: column 2"]);
    // A name with a blank counts as two names.
    let names = "expected 2 columns as in the first line, got 1: 1; the first line is read as names of columns; put names that have blanks in quotes";
    refused(folder.with("a", "my column\n1\n2\n"), &[names]);
    // The last line may lack a line end, comments may be indented, and blank lines may contain blanks.
    let before = "\u{feff}# a\r\n\r\n  # b; c\r\nx,y\r\n \t\r\n\r\n1,2\r\n# d\r\n\r\n#\r\n";
    for end in ["", "\n", "\r\n", "\r\n\r\n# e\r\n5,6\r\n"] {
        for (row, said) in [
            ("3,four", "column 2 (y) is not a number: 'four'"),
            ("3", "expected 2 columns as in the first line, got 1"),
        ] {
            refused(folder.with("a", format!("{before}{row}{end}")), &[&format!("line 11: {said}")]);
            refused(folder.with("a", format!("{before}{row}{end}").replace('\r', "")), &[&format!("line 11: {said}")]);
        }
    }
    let far = format!("1 2\r\n{}5 six\r\n", "# so\r\n\r\n3 4\r\n".repeat(20_000));
    refused(folder.with("a", far), &["line 60002: column 2"]);
    refused(folder.with("a", "x,y\n1,2\n3,\n"), &["line 3: column 2 (y) is not a number: ''"]);
    // A typing error in the first row does not turn it into a header.
    refused(folder.with("a", "1,2,three\n4,5,6\n"), &["line 1: column 3 is not a number: 'three'"]);
    refused(folder.with("a", "1,5;2,5\n"), &["'1,5'"]);
    refused(folder.with("a", b"1,2\n3,\xff\n"), &["line 2: column 2"]);
    refused(folder.with("a", "1,2,3,4,5,6,7,8,9,10,11\n"), &["11 columns of coordinates"]);
    refused(folder.with("a", "1 ".repeat(1 << 23)), &["line 1 has 16777216 bytes or more"]);
    let late = format!("# a\r\n\r\n1 2\r\n{}", "3 ".repeat(1 << 23));
    refused(folder.with("a", late), &["line 4 has 16777216 bytes or more"]);
    // A stray quote does not extend to the following lines.
    refused(folder.with("a", "1,2\n\"3,4\n5,6\n"), &["line 2: column 1 is not a number"]);
    let long = format!("1\n{}\n", "x".repeat(60_000));
    assert!(all(folder.with("a", long)).unwrap_err().to_string().len() < 500);
}
