//! Every kind of metadata of text tables, and its treatment: used, noted, or rejected.

use common::data::root;
use ropewalk::ErrorKind;
use ropewalk_io::{Masses, ReadOptions, Role, inspect, read};

use super::Folder;

/// The expected result of reading a table.
enum Outcome {
    /// The names of the coordinates, their first row, and words of the notes; without words there must be no notes.
    Read(&'static str, &'static [f64], &'static [&'static str]),
    /// Words of the error.
    Refused(&'static [&'static str]),
}
use Outcome::{Read, Refused};

const ECSV: &str = "# %ECSV 1.0\n# ---\n# delimiter: ','\n# datatype:\n";

#[test]
fn kinds_of_metadata() {
    let folder = Folder::new("text-metadata");
    let cases: &[(&str, Outcome)] = &[
        // Names in the first line.
        ("x,y\n1,2\n", Read("x y", &[1.0, 2.0], &[])),
        ("Y,X\n1,2\n", Read("X Y", &[2.0, 1.0], &[])),
        ("ra,dec,2mass_k\n1,2,3\n", Read("ra dec", &[1.0, 2.0], &["2mass_k (beside ra and dec)"])),
        ("2mass_j,2mass_k\n1,2\n", Read("2mass_j 2mass_k", &[1.0, 2.0], &[])),
        ("z,Z,w\n1,2,3\n", Read("z Z w", &[1.0, 2.0, 3.0], &[])),
        ("x,y,X\n1,2,3\n", Read("x y", &[1.0, 2.0], &["X (beside x, y)"])),
        ("x,y,x\n1,2,3\n", Refused(&["two columns named x"])),
        ("Mass,MASS,a\n1,2,3\n", Refused(&["two columns named mass: Mass, MASS"])),
        ("x(0) y(1) id(2)\n1 2 3\n", Read("x y", &[1.0, 2.0], &[])),
        // Names in comments.
        ("# id x y z\n1 .5 .25 1\n", Read("x y z", &[0.5, 0.25, 1.0], &["comment in line 1 names the columns"])),
        ("#id,x,y,z\n1,.5,.25,1\n", Read("x y z", &[0.5, 0.25, 1.0], &["comment in line 1"])),
        ("# id x y z\n1,.5,.25,1\n", Read("x y z", &[0.5, 0.25, 1.0], &["comment in line 1"])),
        (
            "#id x y\n#a = 0.5\n#Box size: 62.5 Mpc/h\n1 2 3\n",
            Read("x y", &[2.0, 3.0], &["line 1", "line 2 'a = 0.5'", "Box size"]),
        ),
        ("# by hand\n# x y id\n1 2 3\n", Read("x y", &[1.0, 2.0], &["line 2"])),
        ("# id x y\n1 2 3 4\n", Read("", &[1.0, 2.0, 3.0, 4.0], &["3 names for 4 columns", "not used"])),
        ("# id x y\n# x y id\n1 2 3\n", Refused(&["line 1 and 2 may name the columns"])),
        (
            "# on and on\n# over and out\n1 2 3\n",
            Read("", &[1.0, 2.0, 3.0], &["may name the columns, and are not used"]),
        ),
        ("# made by hand\n1 2\n", Read("", &[1.0, 2.0], &["comments that are not used: line 1 'made by hand'"])),
        // A comment for each column.
        (
            "#   1 ID  Number  [count]\n#   2 X  Position [pix]\n#   3 Y  Position\n7 1 2\n9 4 5\n",
            Read("X [pix] Y", &[1.0, 2.0], &["the comments in lines 1 to 3 name the columns: ID [count], X [pix], Y"]),
        ),
        ("# Column 1: id\n# Column 2: x\n7 1\n9 4\n", Read("x", &[1.0], &["lines 1 to 2"])),
        ("# Column 1: x [kpc]\n# Column 2: y [Mpc]\n7 1\n", Refused(&["x [kpc] and y [Mpc] have different units"])),
        ("# 1 ID\n# 2 X\n7 1 2\n9 4 5\n", Read("", &[7.0, 1.0, 2.0], &["line 1 '1 ID', line 2 '2 X'"])),
        // Unused comments at any position.
        ("x y z\n# box_size = 10 kpc\n1 2 3\n", Read("x y z", &[1.0, 2.0, 3.0], &["line 2 'box_size = 10 kpc'"])),
        ("x,y\n1,2\n# table 2 of 5: box 20\n", Read("x y", &[1.0, 2.0], &["line 3 'table 2 of 5: box 20'"])),
        ("x,y\n# ---\n#\n1,2\n", Read("x y", &[1.0, 2.0], &[])),
        (
            "# one\n# two\n# three\n# four\n# z = 0.5\nx,y\n1,2\n",
            Read("x y", &[1.0, 2.0], &["line 1 'one', line 2 'two', line 5 'z = 0.5', and 2 more"]),
        ),
        ("name,x,y\n#1 star,2,3\nb,4,5\n", Read("x y", &[4.0, 5.0], &["name (text)", "line 2 '1 star,2,3'"])),
        // Rows that begin with `#` and a word for a missing value.
        (
            "x,y\n1,2\n#N/A,3\n4,5\n",
            Refused(&["line 3: column 1 (x) is not a number: '#N/A'", "ReadOptions::skip_missing"]),
        ),
        ("#NA,3\n4,5\n", Refused(&["line 1: column 1 is not a number: '#NA'"])),
        ("x y\n1 2\n#NA 3\n", Refused(&["line 3: column 1 (x) is not a number: '#NA'"])),
        ("x;y\n1;2\n#N/A N/A;3\n", Refused(&["line 3: column 1 (x) is not a number: '#N/A N/A'"])),
        ("x\n1\n#N/A\n", Refused(&["line 3: column 1 (x) is not a number: '#N/A'"])),
        ("#NA x y\n1 2 3\n", Read("x y", &[2.0, 3.0], &["line 1 names the columns"])),
        // Headers of numbers.
        (",0,1\n0,.5,.25\n1,2.5,3.5\n", Read("0 1", &[0.5, 0.25], &["a column without a name (an index by its name)"])),
        ("0,1\n.5,.25\n2.5,3.5\n", Read("0 1", &[0.5, 0.25], &["0,1, is read as names"])),
        ("0,1\n2,3\n", Read("", &[0.0, 1.0], &["0,1, is read as a row"])),
        ("x y\n1 2 3\n4 5 6\n", Read("x y", &[2.0, 3.0], &["read as names of rows"])),
        ("x,y,w\n1,20,3,\n4,50,6,\n", Read("x y", &[1.0, 20.0], &["a delimiter ends each row", "w (beside x, y)"])),
        ("x y\n1 2 3\n4 5 \n", Refused(&["line 3: expected 3 columns as in the first line, got 2"])),
        ("a;b\n1;2;\n4;5;\n", Read("a b", &[1.0, 2.0], &["a delimiter ends each row"])),
        ("a,b\n0,1,\n1,2,\n", Refused(&["line 1 names 2 columns, and the rows have 3 fields", "counts the rows"])),
        ("a,b,\n0,1,\n1,2,\n", Read("a b", &[0.0, 1.0], &["a column without a name"])),
        // Roles of columns by name.
        ("a,b,label\n1,2,0\n", Read("a b", &[1.0, 2.0], &["label (a label by its name)"])),
        ("Unnamed: 0,a,b\n0,1,2\n", Read("a b", &[1.0, 2.0], &["Unnamed: 0 (an index"])),
        ("x1,x2,y\n1,2,0\n", Read("x1 x2", &[1.0, 2.0], &["y (a label beside numbered x)"])),
        ("lon,lat,fare\n1,2,9\n", Read("lon lat", &[1.0, 2.0], &["fare (beside lon and lat)"])),
        ("a_lon,a_lat,b_lon,b_lat\n1,2,3,4\n", Refused(&["several columns of longitudes", "ReadOptions::columns"])),
        ("label,id\n1,2\n", Refused(&["0 columns of coordinates", "label (a label", "ReadOptions::columns"])),
        ("x,y,w\n1,2,3\n", Read("x y", &[1.0, 2.0], &["w (beside x, y)"])),
        (
            "principal component 1,principal component 2\n1,2\n",
            Read("principal component 1 principal component 2", &[1.0, 2.0], &[]),
        ),
        ("a,b,component\n1,2,0\n", Read("a b", &[1.0, 2.0], &["component (a label"])),
        ("height,weight\n170,60\n", Read("height weight", &[170.0, 60.0], &["column weight is used as a coordinate"])),
        ("a,weight,b\n1,2,3\n", Read("a b", &[1.0, 3.0], &["weight (a flag or weight by its name)"])),
        // Units in names.
        ("x [kpc],y [Mpc]\n1,2\n", Refused(&["columns x [kpc] and y [Mpc] have different units"])),
        (
            "x [kpc],y [kpc],mass [Msun],id\n1,2,3,4\n",
            Read("x [kpc] y [kpc]", &[1.0, 2.0], &["names of columns are not used: x [kpc], y [kpc], mass [Msun]"]),
        ),
        ("height (cm),width (m)\n1,2\n", Read("height (cm) width (m)", &[1.0, 2.0], &["are not used: height (cm)"])),
        ("a (1),b (old)\n1,2\n", Read("a (1) b (old)", &[1.0, 2.0], &[])),
        // Text.
        ("a,b,name\n1,2,u\n3,4,v\n", Read("a b", &[1.0, 2.0], &["name (text)"])),
        ("x,y,z\n1,2,u\n3,4,v\n", Refused(&["column z holds text"])),
        ("x,y,mass\n1,2,u\n3,4,v\n", Refused(&["column mass holds text"])),
        ("x,y,id\n1,2,u\n3,4,v\n", Read("x y", &[1.0, 2.0], &["id (text, no ids)"])),
        ("x,y,type\n1,2,u\n3,4,v\n", Read("x y", &[1.0, 2.0], &["type (text, no types)"])),
        ("x,y,type\n1,2,9\n3,4,1\n", Read("x y", &[1.0, 2.0], &["type ('9' is not a particle type)"])),
        ("a,b\n1,2\nu,4\n", Refused(&["line 3: column 1 (a) is not a number: 'u'"])),
        ("a,b\n1,u\n3,4\n", Refused(&["line 2: column 2 (b) is not a number: 'u'"])),
        ("nc1,2,3\nnc2,4,5\n", Refused(&["column 1 is not a number: 'nc1', and no line names the columns"])),
        ("name,2019,2020\na,1,2\n", Refused(&["column 1 is not a number: 'name'"])),
        ("a,b\n1,\n2,\n", Read("a", &[1.0], &["b (only missing values)"])),
        // Values.
        ("a,b\n1,NA\n2,3\n", Refused(&["line 2: column 2 (b) is not a number: 'NA'", "ReadOptions::skip_missing"])),
        ("a,b\n1,nan\n2,3\n", Refused(&["line 2: column 2 (b) is NaN", "ReadOptions::skip_missing"])),
        ("a,b\n1,2\n-inf,3\n", Refused(&["line 3: column 1 (a) is -inf"])),
        ("a,b\n1,2\n3,-1e400\n", Refused(&["line 3: column 2 (b) is -1e400", "no such large numbers"])),
        ("x,y\n9007199254740993,2\n", Refused(&["line 2: column 1 (x) is 9007199254740993: 64-bit floats round"])),
        (
            "1 2\n3 -18446744073709551615\n",
            Refused(&["line 2: column 2 is -18446744073709551615: 64-bit floats round"]),
        ),
        (
            "x,y\n9007199254740993.0,36893488147419103232\n",
            Read("x y", &[9007199254740992.0, 36893488147419103232.0], &[]),
        ),
        ("x,y,id\n-9007199254740992,2,9007199254740993\n", Read("x y", &[-9007199254740992.0, 2.0], &[])),
        ("1.5D+03 -2.5d0\n1 2\n", Read("", &[1500.0, -2.5], &[])),
        ("a;b\n1,5;2,5\n", Refused(&["line 2: column 1 (a) is not a number: '1,5'"])),
        // Separators and line ends.
        ("x|y|name\n1|2|a, b\n3|4|c, d\n", Read("x y", &[1.0, 2.0], &["name"])),
        ("| x | y |\n| 1 | 2 |\n", Read("x y", &[1.0, 2.0], &[])),
        ("\tx\ty\n0\t1\t2\n1\t3\t4\n", Read("x y", &[1.0, 2.0], &["a column without a name"])),
        ("x,y\r1,2\r3,4\r", Read("x y", &[1.0, 2.0], &[])),
        // Other formats.
        (
            "@relation r\n@attribute a numeric\n@attribute b {u, v}\n@data\n1,u\n",
            Read("a", &[1.0], &["b (a nominal attribute)"]),
        ),
        ("% r\n@attribute a numeric\n@data\n1\n", Read("a", &[1.0], &["line 1 'r'"])),
        (
            "% box: 10 kpc\n@relation r\n@attribute a numeric\n@data\n1\n% end of part 2\n2\n",
            Read("a", &[1.0], &["line 1 'box: 10 kpc', line 6 'end of part 2'"]),
        ),
        ("FEA1,FEA2\n1,2\n", Read("FEA1 FEA2", &[1.0, 2.0], &[])),
        ("PAR1,x,y\n1,2,3\n", Read("x y", &[2.0, 3.0], &["PAR1 (beside x, y)"])),
        ("@relation r\n@attribute a numeric\n@data\n{0 1}\n", Refused(&["sparse rows"])),
        ("@relation r\n@attribute a complex\n@data\n1\n", Refused(&["line 2", "'complex'"])),
        ("<?xml version='1.0'?><VOTABLE>", Refused(&["is a VOTable", "enhanced CSV"])),
        ("[{\"x\": 1}]", Refused(&["is JSON"])),
    ];
    for (text, outcome) in cases {
        check(&folder, text, outcome);
    }
}

#[test]
fn headers_of_enhanced_csv() {
    let folder = Folder::new("ecsv-metadata");
    let column = |name: &str, rest: &str| format!("# - {{name: {name}{rest}}}\n");
    let kpc = ", unit: kpc, datatype: float64";
    let xy = |x: &str, y: &str, rest: &str| format!("{ECSV}{}{}{rest}x,y\n1,2\n", column("x", x), column("y", y));
    let meta = |entry: &str| xy(kpc, kpc, &format!("# meta: !!omap\n# - {entry}\n"));
    let float = ", datatype: float64";
    let three = |kind: &str, rest: &str| {
        format!("{ECSV}{}{}{}{rest}p,q,r\n1,2,3\n", column("p", float), column("q", float), column("r", kind))
    };
    let object = |class: &str, parts: &str| {
        let rest = format!("# meta: !!omap\n# - __serialized_columns__: {{r: {{__class__: {class}, {parts}}}}}\n");
        three(float, &rest)
    };
    let xy_read = || Read("x y", &[1.0, 2.0], &[]);
    let pq = |words| Read("p q", &[1.0, 2.0], words);
    let cases = [
        (xy(kpc, kpc, ""), xy_read()),
        (xy(", unit: &u kpc, datatype: float64", ", unit: *u, datatype: float64", ""), xy_read()),
        (
            xy(", unit: &u !astropy.units.Unit {unit: kpc}, datatype: float64", ", unit: *u, datatype: float64", ""),
            xy_read(),
        ),
        (xy(", unit: Mpc, datatype: float64", kpc, ""), Refused(&["both must have the same unit"])),
        (xy(", unit: &u Mpc, datatype: float64", kpc, "# meta: {a: *u}\n"), Refused(&["both must have the same unit"])),
        (
            xy(", unit: deg, datatype: float64", ", unit: arcmin, datatype: float64", ""),
            Refused(&["both must have the same unit"]),
        ),
        (
            xy(", unit: deg, datatype: float64", ", unit: deg, datatype: float64", ""),
            Read("x y", &[1.0, 2.0], &["'deg' of x, y is not a known unit of length"]),
        ),
        (xy(kpc, ", unit: *nothing", ""), Refused(&["header of enhanced CSV that is not YAML"])),
        (xy(kpc, ", unit: [", ""), Refused(&["header of enhanced CSV that is not YAML"])),
        (format!("{ECSV}{}x,y\n1,2\n", column("q", kpc)), Refused(&["line 6 names the columns x, y", "declares q"])),
        ("# %ECSV 1.0\n# ---\n# delimiter: ';'\n# datatype: []\nx;y\n1;2\n".into(), Refused(&["delimiter ';'"])),
        (meta("{box_size: 10}"), xy_read()),
        (meta("{BoxSize: '10.0'}"), xy_read()),
        (meta("{box_size: ten}"), Refused(&["box_size in its header, which is not a number: 'ten'"])),
        (
            meta("{box_size: !astropy.units.Quantity {unit: Mpc, value: 1.0}}"),
            Refused(&["box_size in Mpc, but coordinates in kpc"]),
        ),
        (meta("{box_size: [1, 2]}"), Refused(&["box_size", "list"])),
        (meta("{box_size: -1}"), Refused(&["above 0"])),
        (meta("{redshift: high}"), Refused(&["redshift", "'high'"])),
        (meta("{h: !numpy.ndarray {buffer: abc}}"), Refused(&["has h in its header as an object"])),
        (meta("{box_size: null}"), xy_read()),
        (xy(", unit: null, datatype: float64", float, ""), xy_read()),
        (
            meta("{particle_mass: !astropy.units.Quantity {unit: Msun, value: 1e10}}"),
            Read("x y", &[1.0, 2.0], &["particle_mass in the header is not used: the table has no column named mass"]),
        ),
        (
            meta("{redshift: !astropy.units.Quantity {unit: kpc, value: 1.0}}"),
            Refused(&["redshift in kpc, but it has no unit"]),
        ),
        (meta("{redshift: !astropy.units.Quantity {unit: '', value: 1.0}}"), xy_read()),
        (format!("{}# redshift: 9\n3,4\n", xy(kpc, kpc, "")), Read("x y", &[1.0, 2.0], &["line 9 'redshift: 9'"])),
        (
            meta("{telescope: Euclid}"),
            Read("x y", &[1.0, 2.0], &["entries of the header that are not read: telescope"]),
        ),
        (three(", datatype: string", ""), pq(&["r (values of the type string)"])),
        (three(", datatype: string, subtype: 'float64[2]'", ""), pq(&["r (arrays of float64[2])"])),
        (object("astropy.time.core.Time", "value: {name: r}"), pq(&["r (a component of astropy.time.core.Time)"])),
        (
            object("astropy.table.column.MaskedColumn", "data: {name: r}, mask: {name: r.mask}"),
            pq(&["r (values that the column r.mask masks)"]),
        ),
        (object("astropy.units.quantity.Quantity", "value: {name: r}"), Read("p q r", &[1.0, 2.0, 3.0], &[])),
    ];
    for (text, outcome) in &cases {
        check(&folder, text, outcome);
    }
    let options = ReadOptions::default();
    let quantity = meta("{box_size: !astropy.units.Quantity {unit: kpc, value: 10.0}}");
    let snapshot = read(folder.with("a", quantity), &options).unwrap();
    assert_eq!((snapshot.box_size, snapshot.units.length.map(|unit| unit.mpc)), (Some(10.0), Some(1e-3)));
    // The unit of the common particle mass is that of the masses, not of the coordinates.
    let masses = |own: &str, each: &str| {
        let columns = column("x", kpc) + &column("mass", &format!(", unit: {own}, datatype: float64"));
        let entry = format!("# - particle_mass: !astropy.units.Quantity {{unit: {each}, value: 3.0}}\n");
        read(folder.with("a", format!("{ECSV}{columns}# meta: !!omap\n{entry}x,mass\n1,3\n")), &options)
    };
    assert_eq!(masses("Msun", "solMass").unwrap().masses, Masses::Equal(3.0));
    let error = masses("Msun", "kg").unwrap_err().to_string();
    assert!(error.contains("has particle_mass in kg, but masses in Msun"), "{error}");
}

/// A header is read completely or rejected, never truncated.
#[test]
fn long_headers_of_enhanced_csv() {
    let folder = Folder::new("ecsv-long");
    let columns = "# - {name: x, datatype: float64}\n# - {name: y, datatype: float64}\n# meta: !!omap\n";
    let text = |kilobytes: usize| {
        let line = format!("#   - '{}'\n", "a".repeat(1000));
        format!("{ECSV}{columns}# - history:\n{}# - {{box_size: 100.0}}\nx,y\n1,2\n", line.repeat(kilobytes))
    };
    assert_eq!(read(folder.with("a", text(1500)), &ReadOptions::default()).unwrap().box_size, Some(100.0));
    let error = read(folder.with("a", text(5000)), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("header of enhanced CSV with more than 4194304 bytes"), "{error}");
    // Comments of any length are not headers.
    let path = folder.with("a", format!("{}x,y\n1,2\n", "# a comment of a hundred letters\n".repeat(200_000)));
    let snapshot = read(path, &ReadOptions::default()).unwrap();
    assert!(snapshot.columns == ["x", "y"] && snapshot.notes[0].ends_with("and 199997 more"), "{:?}", snapshot.notes);
}

/// The time for a description is linear in the number of columns, not quadratic.
#[test]
fn descriptions_of_wide_tables() {
    let folder = Folder::new("ecsv-wide");
    let names: Vec<String> = (0..8000).map(|i| format!("c{i}")).collect();
    let declared: String =
        names.iter().map(|name| format!("# - {{name: {name}, unit: kpc, datatype: float64}}\n")).collect();
    let declared = declared.replace(", datatype: float64", ", datatype: int8");
    let row = vec!["1"; names.len()].join(",");
    let path = folder.with("a", format!("{ECSV}{declared}{}\n{row}\n", names.join(",")));
    let start = std::time::Instant::now();
    let contents = inspect(&path, &ReadOptions::default().columns(["c7999", "c0"])).unwrap();
    assert_eq!((contents.types[0].fields.len(), contents.types[0].fields[7999].unit.as_str()), (8000, "kpc"));
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

/// The sum of masses covers all types, so a wrong mass is an error in rows of any type.
#[test]
fn masses_of_types_that_are_not_wanted() {
    let folder = Folder::new("masses-unwanted");
    let of = |mass: &str, options: &ReadOptions| {
        read(folder.with("a", format!("x,y,mass,type\n1,2,5,1\n2,3,{mass},0\n4,5,7,1\n")), options)
    };
    let options = ReadOptions::default().types([1]);
    assert_eq!(of("8", &options).unwrap().matter, Some(20.0));
    let said = |mass: &str| of(mass, &options).unwrap_err().to_string();
    assert!(said("oops").contains("line 3: column 3 (mass) is not a mass: 'oops'"), "{}", said("oops"));
    assert!(said("").contains("ReadOptions::skip_missing"), "{}", said(""));
    let snapshot = of("", &options.clone().skip_missing(true)).unwrap();
    assert_eq!((snapshot.points.len(), snapshot.matter), (2, Some(12.0)));
    assert!(of("oops", &options.skip_missing(true)).is_err());
}

#[track_caller]
fn check(folder: &Folder, text: &str, outcome: &Outcome) {
    let path = folder.with("table", text);
    let found = read(&path, &ReadOptions::default());
    // The description is equally complete.
    let described = inspect(&path, &ReadOptions::default());
    match (found, outcome) {
        (Ok(snapshot), Read(names, first, words)) => {
            let rows = super::f64s(first.len(), *first);
            let ropewalk_io::Points::F64(table) = &snapshot.points else { panic!("{text:?}") };
            let dim = table.dim();
            assert_eq!(super::f64s(dim, &table.as_slice()[..dim]), rows, "{text:?}");
            assert_eq!(snapshot.columns.join(" "), *names, "{text:?}");
            let notes = snapshot.notes.join("\n");
            for word in *words {
                assert!(notes.contains(word), "{text:?}: {word:?} is not in: {notes}");
            }
            assert!(!words.is_empty() || notes.is_empty(), "{text:?}: {notes}");
            let described = described.unwrap_or_else(|error| panic!("{text:?}: {error}"));
            let notes = described.notes.join("\n");
            for word in *words {
                assert!(notes.contains(word), "{text:?}: {word:?} is not in the description: {notes}");
            }
            assert!(!words.is_empty() || notes.is_empty(), "{text:?}: {notes}");
            let fields = described.types.iter().flat_map(|kind| &kind.fields);
            let mut positions: Vec<&str> =
                fields.filter(|field| field.role == Role::Position).map(|field| field.name.as_str()).collect();
            let mut read: Vec<&str> = snapshot.columns.iter().map(String::as_str).collect();
            positions.sort_unstable();
            read.sort_unstable();
            assert!(read.is_empty() || positions == read, "{text:?}: {positions:?}, {read:?}");
        }
        (Err(error), Refused(words)) => {
            let message = error.to_string();
            for word in *words {
                assert!(message.contains(word), "{text:?}: {word:?} is not in: {message}");
            }
            // A description reports an error, possibly in other words.
            let said = described.map_or_else(|error| vec![error.to_string()], |contents| contents.notes);
            assert!(!said.is_empty(), "{text:?}: the description says nothing of: {message}");
        }
        (Ok(snapshot), Refused(words)) => panic!("{text:?} is read, not refused for {words:?}: {:?}", snapshot.notes),
        (Err(error), Read(..)) => panic!("{text:?}: {error}"),
    }
}

/// Skipped rows are numbered as in the table, and other rows keep their numbers.
#[test]
fn rows_with_missing_values() {
    let folder = Folder::new("missing");
    let path = folder.with("a.csv", "a,b,id,mass,name\n1,2,7,1,u\n,4,8,1,v\n5,6,9,,w\n7,nan,10,1,\n9,10,11,2,x\n");
    let options = ReadOptions::default().skip_missing(true);
    let snapshot = read(&path, &options).unwrap();
    assert_eq!(snapshot.points, super::f64s(2, [1.0, 2.0, 9.0, 10.0]));
    assert_eq!((snapshot.skipped, snapshot.ids), (vec![1, 2, 3], Some(vec![7, 11])));
    assert_eq!(snapshot.masses, Masses::Each(vec![1.0, 2.0]));
    assert!(snapshot.notes.iter().any(|note| note == "3 of 5 rows have missing values and are left out"));
    // Unused columns may have missing values.
    let snapshot = read(&path, &ReadOptions::default().masses(false).columns(["id"])).unwrap();
    assert_eq!((snapshot.points.len(), snapshot.skipped), (5, vec![]));
    let bare = ReadOptions::default().masses(false).skip_missing(true);
    assert_eq!(read(&path, &bare).unwrap().skipped, [1, 3]);
    let npy = folder.file("a.npy");
    ropewalk_io::write_npy_f64(&npy, &[1.0, f64::NAN, 3.0]).unwrap();
    let snapshot = read(&npy, &options).unwrap();
    assert_eq!((snapshot.points, snapshot.skipped), (super::f64s(1, [1.0, 3.0]), vec![1]));
    let message = read(root().join("data/p3m_64.gadget2"), &options).unwrap_err().to_string();
    assert!(message.contains("is a snapshot of a simulation"), "{message}");
    let all = folder.with("all", "a,b\n1,\n,2\n");
    assert_eq!(read(&all, &options).unwrap().skipped, [0, 1]);
    for token in ["#N/A", "#NA", "#N/A N/A", "\"#N/A\""] {
        let snapshot = read(folder.with("first", format!("x,y\n1,2\n{token},3\n4,5\n")), &options).unwrap();
        assert_eq!((snapshot.points.len(), snapshot.skipped), (2, vec![1]), "{token}");
    }
}

/// Only chosen columns must hold numbers.
#[test]
fn columns_that_nobody_wants() {
    let folder = Folder::new("unwanted");
    let path = folder.with("a.csv", "id,lat,lon,note,mass\nnc1,38.8,-122.7,a,?\nnc2,38.9,-122.8,,x\n");
    let choose = |columns: &[&str]| ReadOptions::default().ids(false).masses(false).columns(columns.iter().copied());
    assert_eq!(read(&path, &choose(&["lat", "lon"])).unwrap().points.len(), 2);
    for (columns, said) in [(&["id"][..], "line 2: column 1 (id) is not a number: 'nc1'"), (&["note"], "'a'")] {
        let message = read(&path, &choose(columns)).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
    let bare = folder.with("bare", "nc1,38.8,-122.7\nnc2,38.9,-122.8\n");
    let snapshot = read(&bare, &choose(&["2", "3"])).unwrap();
    assert!(snapshot.points.len() == 2 && snapshot.notes[0].contains("read as a row"), "{:?}", snapshot.notes);
}

#[test]
fn descriptions_of_tables() {
    let folder = Folder::new("described");
    let text =
        "id,when,lon,lat,passengers,note,flag\nr1,2020-01-01,1.5,2.5,1,,0\nr2,2020-01-02,3.5,4.5,,,1\nr3,x,inf,6,2,,\n";
    let contents = inspect(folder.with("taxi.csv", text), &ReadOptions::default()).unwrap();
    let fields: Vec<String> =
        contents.types[0].fields.iter().map(|field| format!("{} {}", field.name, field.number)).collect();
    assert_eq!(
        fields,
        ["id text", "when text", "lon f64", "lat f64", "passengers i64", "note only missing values", "flag i64"]
    );
    let positions = contents.types[0].fields.iter().filter(|field| field.role == Role::Position).count();
    assert_eq!((contents.total(), positions), (3, 2));
    let notes = contents.notes.join("\n");
    for said in ["passengers: 1 of 3 rows have no value", "columns left out: ", "id (text", "flag ("] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    let contents = inspect(folder.with("b.csv", "a,b\n1,u\n2,4\nv,5\n"), &ReadOptions::default()).unwrap();
    assert!(contents.notes.join("\n").contains("a: numbers, but in line 4 'v'"), "{:?}", contents.notes);
    let contents = inspect(folder.with("c.csv", "name\nu\nv\n"), &ReadOptions::default()).unwrap();
    assert!(contents.notes.join("\n").contains("has 0 columns of coordinates"), "{:?}", contents.notes);
}

/// Compressed text uses no temporary files, and its rows take only the memory for their values.
#[test]
fn compressed_text() {
    use std::io::Write;
    let folder = Folder::new("text-gzip");
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
    let line = "0,0\n".repeat(1 << 12);
    (0..1 << 9).for_each(|_| encoder.write_all(line.as_bytes()).unwrap());
    let path = folder.with("zeros.csv.gz", encoder.finish().unwrap());
    let snapshot = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(snapshot.points.len(), 1 << 21);
    super::assert_modest_memory();
    drop(snapshot);
    // A truncated file.
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
    encoder.write_all(b"x y\n1 2\n").unwrap();
    let path = folder.with("cut.csv.gz", &encoder.finish().unwrap()[..12]);
    let message = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("cannot be read"), "{message}");
    assert_ne!(read(&path, &ReadOptions::default()).unwrap_err().kind(), ErrorKind::Memory);
}
