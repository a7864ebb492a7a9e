//! Formats, resolutions and slabs of the pictures of `ropewalk halos` and of clusters.

use std::fs;

use crate::program::{Scratch, column, halos, run, sample};

/// Asserts that the objects of a PDF and its page exist, and that the table of references points to them.
fn assert_is_pdf(bytes: &[u8], size: [f64; 2], what: &str) {
    assert!(bytes.starts_with(b"%PDF-1.") && bytes.ends_with(b"%%EOF"), "{what}");
    let text = String::from_utf8_lossy(bytes);
    for part in ["/Type /Catalog", "/Count 1", "/FontFile2", "/ToUnicode", "/Producer (ropewalk"] {
        assert!(text.contains(part), "{what}: {part}");
    }
    let (_, page) = text.split_once("/MediaBox [0 0 ").unwrap();
    let shown: Vec<f64> = page.split(']').next().unwrap().split(' ').map(|x| x.parse().unwrap()).collect();
    assert!((0..2).all(|k| (shown[k] - 72.0 * size[k]).abs() < 0.6), "{what}: {shown:?}");
    let start = bytes.windows(9).rposition(|part| part == b"startxref").unwrap();
    let tail = String::from_utf8_lossy(&bytes[start + 9..]).into_owned();
    let xref: usize = tail.split_whitespace().next().unwrap().parse().unwrap();
    let table = String::from_utf8_lossy(&bytes[xref..start]).into_owned();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("xref"));
    let entries: Vec<&str> = lines.filter(|line| line.trim_end().ends_with(" n")).collect();
    assert!(entries.len() >= 10, "{what}");
    for (number, entry) in entries.iter().enumerate() {
        let at: usize = entry[..10].parse().unwrap();
        let head = format!("{} 0 obj", number + 1);
        assert!(bytes[at..].starts_with(head.as_bytes()), "{what}: {entry}");
    }
}

/// Returns width, height and pixels per metre of a PNG.
fn png_size(bytes: &[u8]) -> [u32; 3] {
    assert!(bytes.starts_with(b"\x89PNG"));
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let density = bytes.windows(4).position(|part| part == b"pHYs").unwrap();
    [number(16), number(20), number(density + 4)]
}

#[test]
fn formats_and_resolutions() {
    let scratch = Scratch::new();
    let options = ["--profiles", "2", "--gallery", "2", "--finder", "adaptahop", "--members"];
    let sizes = [
        ("mass_function", [10.0, 1244.0 / 96.0]),
        ("projection", [1366.0 / 153.6, 1290.0 / 153.6]),
        ("dendrogram", [10.0, 700.0 / 96.0]),
        ("profiles", [10.0, 0.0]),
        ("gallery", [872.0 / 153.6, 652.0 / 153.6]),
    ];
    let mut height = 0.0;
    for format in ["pdf", "svg", "png"] {
        let more = [&options[..], &["--format", format, "--dpi", "50"]].concat();
        let printed = halos(&sample(), &scratch.path("out"), &more).success();
        // Pictures of the previous format belong to an earlier run and are removed.
        assert_eq!(printed.contains("removed: "), format != "pdf", "{printed}");
        let names = scratch.names("out");
        assert_eq!(names.iter().filter(|name| name.ends_with(format)).count(), sizes.len(), "{names:?}");
        assert_eq!(names.len(), sizes.len() + 6, "{names:?}");
        for (name, mut size) in sizes {
            let bytes = fs::read(scratch.path(&format!("out/{name}.{format}"))).unwrap();
            match format {
                "pdf" => {
                    if name == "profiles" {
                        let text = String::from_utf8_lossy(&bytes);
                        let (_, page) = text.split_once("/MediaBox [0 0 720 ").unwrap();
                        height = page.split(']').next().unwrap().parse::<f64>().unwrap() / 72.0;
                    }
                    size[1] = if size[1] > 0.0 { size[1] } else { height };
                    assert_is_pdf(&bytes, size, name);
                }
                "svg" => {
                    let svg = String::from_utf8(bytes).unwrap();
                    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{name}");
                    // The text of an embedded image may contain these letters.
                    let mut drawn = svg.lines().filter(|line| !line.starts_with("<image"));
                    assert!(drawn.all(|line| !line.contains("NaN")), "{name}");
                    let images = svg.matches("data:image/png;base64,").count();
                    assert_eq!(images, [0, 2, 0, 0, 2][sizes.iter().position(|own| own.0 == name).unwrap()], "{name}");
                }
                _ => {
                    size[1] = if size[1] > 0.0 { size[1] } else { height };
                    assert_eq!(
                        png_size(&bytes),
                        [(50.0 * size[0]).round() as u32, (50.0 * size[1]).round() as u32, 1969]
                    );
                }
            }
        }
    }
}

#[test]
fn units_and_redshift_are_on_them() {
    let scratch = Scratch::new();
    let options =
        ["--format", "svg", "--profiles", "1", "--gallery", "1", "--redshift", "0.5", "--length-unit", "kpc/h"];
    let more = ["--mass-unit", "10 Msun/h"];
    halos(&sample(), &scratch.path("out"), &[&options[..], &more].concat()).success();
    let read = |name: &str| fs::read_to_string(scratch.path("out").join(name)).unwrap();
    for name in ["projection.svg", "mass_function.svg", "profiles.svg", "gallery.svg"] {
        assert!(read(name).contains("redshift 0.5"), "{name}");
        assert!(!read(name).contains("snapshot"), "{name}");
    }
    assert!(
        read("projection.svg").contains(">x  [comoving Mpc/h]<")
            && read("projection.svg").contains("box 0.032 comoving Mpc/h")
    );
    assert!(read("mass_function.svg").contains(">halo mass M  [Msun/h]<"));
    assert!(read("mass_function.svg").contains("n(≥ M)  [(comoving Mpc/h)⁻³]"));
    assert!(read("profiles.svg").contains(">r  [comoving Mpc/h]"));
    assert!(read("gallery.svg").contains(" comoving Mpc/h<"));

    // Unknown units are not invented.
    let points = scratch.write("points.csv", "0 0 0\n1 1 1\n1.01 1 1\n");
    halos(&points, &scratch.path("few"), &["--min-members", "2", "--format", "svg"]).success();
    let projection = fs::read_to_string(scratch.path("few/projection.svg")).unwrap();
    assert!(projection.contains(">x  [snapshot length unit]") && !projection.contains("redshift"));
    let mass_function = fs::read_to_string(scratch.path("few/mass_function.svg")).unwrap();
    assert!(mass_function.contains(">halo mass M  [particles]") && !mass_function.contains("expected"));
    assert!(mass_function.contains("[per snapshot length unit³]"));
}

#[test]
fn slabs() {
    let scratch = Scratch::new();
    // Two pairs below and one above. A slab across the boundary of the box contains the first and the last.
    let points = scratch.write("points.csv", "1,1,0.5\n1,1,0.6\n5,2,4\n5,2,4.1\n7,7,9.5\n7,7,9.6\n");
    let options = ["--eps", "0.2", "--min-members", "2", "--box", "10", "--format", "svg"];
    let draw = |slab: &str| {
        halos(&points, &scratch.path("out"), &[&options[..], &["--slab", slab]].concat()).success();
        fs::read_to_string(scratch.path("out/projection.svg")).unwrap()
    };
    let rings = |svg: &str| svg.matches("r=\"7.00\"").count();
    let svg = draw("z:0..5");
    assert!(svg.contains(">4 particles, 2 halos with 0 ≤ z ≤ 5 snapshot length unit<"), "{svg}");
    assert!(svg.contains(">circles: the 2 halos of the slab<") && svg.contains("numbers: rows of the catalogue"));
    assert_eq!(rings(&svg), 2);
    // Only what is drawn is counted.
    assert!(svg.contains(">Slab, box 10<") && !svg.contains("6 particles") && !svg.contains("3 halos"));
    let svg = draw("z:-1..1");
    assert!(svg.contains(">4 particles, 2 halos with z ≥ 9 or z ≤ 1 snapshot length unit<") && rings(&svg) == 2);
    // The box repeats after one side.
    for slab in ["z:9.45..9.8", "z:-0.55..-0.2", "z:19.45..19.8"] {
        let svg = draw(slab);
        assert!(svg.contains(">2 particles, 1 halo with 9.45 ≤ z ≤ 9.8 snapshot length unit<"), "{slab}");
        assert_eq!(rings(&svg), 1);
    }
    // A projection along x shows y and z.
    let svg = draw("x:6.5..7.5");
    assert!(
        svg.contains(">2 particles, 1 halo with")
            && svg.contains(">y  [")
            && svg.contains(">z  [")
            && !svg.contains(">x  [")
    );
    assert!(svg.contains(">circle: the halo of the slab<") && svg.contains("; number: row of the catalogue<"));
    let svg = draw("y:8..9");
    assert!(svg.contains("no particles in the slab") && svg.contains("no halos") && rings(&svg) == 0);
    // The catalogue has all halos.
    let table = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    assert_eq!(table.lines().filter(|line| !line.starts_with('#')).count(), 1 + 3);
}

/// Without --units, pictures are in comoving Mpc/h and Msun/h; with it, in its units.
#[test]
fn units_of_pictures() {
    let scratch = Scratch::new();
    let draw = |more: &[&str]| {
        let options = ["--format", "svg", "--profiles", "1", "--gallery", "1", "--redshift", "0.5"];
        halos(&sample(), &scratch.path("out"), &[&options[..], more].concat()).success();
        ["mass_function", "projection", "profiles", "gallery"]
            .map(|name| fs::read_to_string(scratch.path(&format!("out/{name}.svg"))).unwrap())
    };
    let kpc = ["--length-unit", "kpc/h", "--mass-unit", "1e10 Msun/h"];
    for own in [&[][..], &kpc] {
        let [mass_function, projection, profiles, gallery] = draw(own);
        assert!(mass_function.contains(">halo mass M  [Msun/h]<"), "{own:?}");
        assert_eq!(mass_function.matches("[(comoving Mpc/h)⁻³]<").count(), 2, "{own:?}");
        assert!(projection.contains(">x  [comoving Mpc/h]<") && gallery.contains(" comoving Mpc/h<"), "{own:?}");
        // In a box of 32 kpc/h no halo has a sphere.
        assert_eq!(profiles.contains("[Msun / comoving Mpc]"), own.is_empty(), "{own:?}");
    }
    let [mass_function, projection, ..] = draw(&["--units", "physical"]);
    assert!(mass_function.contains(">halo mass M  [Msun]<") && projection.contains(">x  [physical Mpc]<"));
    // Numbers are per comoving volume, also in the table.
    assert_eq!(mass_function.matches("[(comoving Mpc)⁻³]<").count(), 2);
    let table = fs::read_to_string(scratch.path("out/mass_function.ecsv")).unwrap();
    let declared = table.lines().find(|line| line.contains("name: n_above,")).unwrap();
    assert!(declared.contains("unit: 1 / Mpc3") && declared.contains("comoving"), "{declared}");
    let h = 0.68;
    let side: f64 = 32.0 / h;
    let [count, number] = ["count_above", "n_above"].map(|name| column(&table, name)[0]);
    assert!((number * side.powi(3) / count - 1.0).abs() < 1e-6, "{number} {count}");
}

/// Fits are named by the halos that they are for, and that for friends of friends is not drawn for HOP.
#[test]
fn fits_of_the_finder() {
    let scratch = Scratch::new();
    let draw = |options: &[&str]| {
        halos(&sample(), &scratch.path("out"), options).success();
        fs::read_to_string(scratch.path("out/mass_function.svg")).unwrap()
    };
    let fof = draw(&[]);
    assert!(fof.contains(">Warren et al. 2006 (FOF, b = 0.2)<") && fof.contains(">Tinker et al. 2008 (SO, 200m)<"));
    // Both panels, with powers of ten only.
    assert!(fof.contains(">n(≥ M)  [") && fof.contains(">dn / d ln M  [") && fof.contains(">10⁻³<"));
    assert!(!fof.contains(">0.001<") && !fof.contains(">0.01<"));
    for options in [&["--finder", "hop"][..], &["--linking-length", "0.1"]] {
        let other = draw(options);
        assert!(!other.contains("Warren") && other.contains("Tinker et al. 2008"), "{options:?}");
        // The table has all expected numbers, and masses are corrected only for groups that Warren et al. describe.
        let table = fs::read_to_string(scratch.path("out/mass_function.ecsv")).unwrap();
        assert!(table.contains("n_above_warren_et_al_2006") && !table.contains("corrected"), "{options:?}");
    }
}

/// The fit of Warren et al. is evaluated at masses that are corrected for the number of particles. That of Tinker et
/// al. is not.
#[test]
fn masses_of_few_particles_are_corrected() {
    let scratch = Scratch::new();
    let options = ["--units", "h", "--sigma8", "0.8"];
    halos(&sample(), &scratch.path("out"), &options).success();
    let table = fs::read_to_string(scratch.path("out/mass_function.ecsv")).unwrap();
    let values = |name: &str| column(&table, name);
    let [edges, corrected] = ["mass_min", "mass_min_corrected"].map(values);
    let halos = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    let particle = column(&halos, "fof_halo_mass")[0] / column(&halos, "fof_halo_count")[0];
    // Edges are half-way between whole numbers of particles.
    assert!((edges[0] / particle - 19.5).abs() < 1e-4, "{}", edges[0] / particle);
    let mut cosmology = ropewalk::halo::Cosmology::flat(number_in(&table, "omega_m"));
    (cosmology.h, cosmology.sigma_8) = (number_in(&table, "h"), 0.8);
    let check = |name: &str, masses: &[f64], function| {
        let expected = cosmology.halos_above(masses, function).unwrap();
        let found = column(&table, name);
        // The steps of integrals depend on all masses.
        assert!(found.iter().zip(&expected).all(|(found, expected)| (found / expected - 1.0).abs() < 5e-3), "{name}");
    };
    check("n_above_warren_et_al_2006", &corrected, ropewalk::halo::MassFunction::Warren2006);
    check("n_above_tinker_et_al_2008_200m", &edges, ropewalk::halo::MassFunction::Tinker2008);
    for (edge, corrected) in edges.iter().zip(&corrected) {
        assert!((corrected / edge / (1.0 - (edge / particle).powf(-0.6)) - 1.0).abs() < 1e-5);
    }
    // Assumed parameters are named in the table and in the figure.
    assert!((number_in(&table, "sigma_8"), number_in(&table, "n_s")) == (0.8, 0.965));
    assert!(table.contains("# - {assumed_parameters: \"omega_b, n_s\"}"), "{table}");
    let figure = fs::read_to_string(scratch.path("out/mass_function.svg")).unwrap();
    assert!(figure.contains(", σ8 0.8; assumed: Ωb 0.049, n_s 0.965<"), "{figure}");
    assert!(figure.contains(">Warren et al.: mass M of N particles corrected to M (1 − N⁻⁰·⁶)<"));
    assert!(figure.contains("linking length 0.1 comoving Mpc/h (b = 0.2), redshift 0<"));
}

/// Returns a number in the header of a table.
fn number_in(table: &str, name: &str) -> f64 {
    let line = table.lines().find(|line| line.starts_with(&format!("# - {{{name}: "))).unwrap();
    line.rsplit(' ').next().unwrap().trim_end_matches('}').parse().unwrap()
}

/// The gallery marks the centres of --center only, besides the centre of R200c, and rounds R200c.
#[test]
fn centers_of_the_gallery() {
    let scratch = Scratch::new();
    let draw = |options: &[&str]| {
        let all = [&["--format", "svg", "--gallery", "2", "--no-pictures"], options].concat();
        halos(&sample(), &scratch.path("out"), &all).success();
        fs::read_to_string(scratch.path("out/gallery.svg")).unwrap()
    };
    let names = ["most bound particle", "most connected particle", "centre of mass", "shrinking sphere", "R200c"];
    let drawn = |svg: &str| names.map(|name| svg.contains(&format!(">{name}<")));
    let svg = draw(&[]);
    assert_eq!(drawn(&svg), [true, false, false, false, true]);
    assert!(svg.contains(">halo 0 (tag 57)<") && svg.contains(">R200c 0.707 comoving Mpc/h<"), "{svg}");
    assert_eq!(drawn(&draw(&["--center", "com,mcp"])), [true, true, true, false, true]);
}

/// Points in space are drawn in three plots, and axes have the names of the columns.
#[test]
fn clusters_in_space() {
    let scratch = Scratch::new();
    let points =
        scratch.write("points.csv", "east,north,depth\n0,0,0\n0,0.1,0\n0.1,0,0\n5,5,5\n5,5.1,5\n5.1,5,5\n9,9,3\n");
    let (file, plot) = (points.display().to_string(), scratch.path("plot.svg").display().to_string());
    let hdbscan = ["hdbscan", &file, "--min-cluster-size", "3", "--plot", &plot];
    let dbscan = ["dbscan", &file, "--eps", "0.2", "--min-pts", "3", "--plot", &plot];
    let read = || fs::read_to_string(scratch.path("plot.svg")).unwrap();
    let counts = |svg: &str| ["east", "north", "depth"].map(|name| svg.matches(&format!(">{name}</text>")).count());
    for command in [&hdbscan[..], &dbscan] {
        run(command.to_vec()).success();
        let svg = read();
        assert_eq!((counts(&svg), svg.matches("<image").count()), ([1, 2, 1], 3), "{command:?}");
        assert!(svg.contains(">cluster</text>") && svg.contains(">points</text>") && svg.contains(">noise</text>"));
    }
    run([&dbscan[..], &["--columns", "north,depth"]].concat()).success();
    assert_eq!(counts(&read()), [0, 1, 1]);
}

/// Axes and lengths have the unit of the table, also if it is not a length.
#[test]
fn units_of_tables() {
    let scratch = Scratch::new();
    let plot = scratch.path("plot.svg").display().to_string();
    for (unit, shown) in [("deg", "deg"), ("kpc", "kpc")] {
        let columns = format!(
            "{{name: lon, unit: {unit}, datatype: float64}}\n# - {{name: lat, unit: {unit}, datatype: float64}}"
        );
        let field = "# - {name: heat, datatype: float64}";
        let text = format!(
            "# %ECSV 1.0\n# ---\n# datatype:\n# - {columns}\n{field}\nlon lat heat\n0 0 1\n0 0.1 2\n0.1 0 3\n5 5 4\n"
        );
        let file = scratch.write("points.ecsv", &text).display().to_string();
        let draw = |command: &[&str]| {
            let all = [&command[..1], &[file.as_str()], &command[1..], &["--plot", &plot]].concat();
            run(all).success();
            fs::read_to_string(&plot).unwrap()
        };
        let axes = ["lon", "lat"].map(|name| format!(">{name}  [{shown}]<"));
        let two = ["--columns", "lon,lat"];
        let svg = draw(&[&["dbscan", "--eps", "0.2", "--min-pts", "3"][..], &two].concat());
        assert!(axes.iter().all(|axis| svg.contains(axis)) && svg.contains(&format!("eps 0.2 {shown}, min_samples 3")));
        let svg = draw(&[&["hdbscan", "--min-cluster-size", "3"][..], &two].concat());
        assert!(axes.iter().all(|axis| svg.contains(axis)));
        let svg = draw(&[&["kdist", "--k", "2"][..], &two].concat());
        assert!(svg.contains(&format!(">distance  [{shown}]<")));
        let svg = draw(&["interpolate", "--values-columns", "heat", "--grid", "4x4", "--method", "idw"]);
        assert!(axes.iter().all(|axis| svg.contains(axis)));
    }
}

#[test]
fn refusals() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "0 0 0\n1 1 1\n");
    for (option, value, part) in [
        ("--slab", "z:2..1", "z:10..20"),
        ("--slab", "10..20", "z:10..20"),
        ("--dpi", "9", "from 10 to 1200"),
        ("--dpi", "NaN", "from 10 to 1200"),
        ("--dpi", "fine", "not a number"),
        ("--format", "gif", "pdf"),
    ] {
        let output = halos(&points, &scratch.path("out"), &["--eps", "1", option, value]);
        assert_eq!(output.status, 2, "{option} {value}");
        assert!(output.stderr.contains(part), "{option} {value}: {}", output.stderr);
    }
    assert!(!scratch.path("out").exists());
}

#[test]
fn clusters_and_distances_in_all_formats() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y\n0,0\n0,0.1\n0.1,0\n0.1,0.1\n5,5\n5,5.1\n5.1,5\n9,9\n");
    let file = points.display().to_string();
    let name = |name: &str, format: &str| scratch.path(&format!("{name}.{format}")).display().to_string();
    for format in ["png", "svg", "pdf"] {
        let [plot, tree, curve, found] = ["plot", "tree", "curve", "found"].map(|own| name(own, format));
        run(["hdbscan", &file, "--min-cluster-size", "3", "--plot", &plot, "--tree", &tree]).success();
        run(["kdist", &file, "--k", "2", "--plot", &curve]).success();
        run(["dbscan", &file, "--eps", "0.2", "--min-pts", "3", "--plot", &found]).success();
        for path in [plot, tree, curve, found] {
            let bytes = fs::read(&path).unwrap();
            let start: &[u8] = if format == "png" {
                b"\x89PNG"
            } else if format == "svg" {
                b"<svg"
            } else {
                b"%PDF"
            };
            assert!(bytes.starts_with(start), "{path}");
        }
    }
    let line = run(["dbscan", &file, "--eps", "0.2", "--min-pts", "3", "--plot", &name("plot", "gif")]).error();
    assert!(line.contains("must end in .png or .svg or .pdf"), "{line}");
}

/// Invalid picture options are refused before halos are found.
#[test]
fn pictures_that_cannot_be() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y,z\n0,1,2\n0,1,2.5\n9,9,9\n");
    let error = |options: &[&str]| {
        let common = ["--eps", "1", "--min-members", "2"];
        halos(&points, &scratch.path("out"), &[&common, options].concat()).error()
    };
    let said = error(&["--slab", "z:20..30"]);
    assert!(said.contains("--slab z:20..30: the particles are from 2 to 9 along z"), "{said}");
    // Also for a box with open boundaries.
    let said = error(&["--slab", "z:20..30", "--box", "10", "--open"]);
    assert!(said.contains("--slab z:20..30: the particles are from 2 to 9 along z"), "{said}");
    let said = error(&["--gallery", "100", "--dpi", "1200"]);
    assert!(said.contains("--gallery 100") && said.contains("pixels exceed the limit"), "{said}");
}
