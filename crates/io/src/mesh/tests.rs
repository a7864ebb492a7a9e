//! Tests of meshes written by hand, of mutated files, and of error messages.

mod colors;

use super::*;
use crate::Points;
use crate::mesh::data::fan;

/// Reads a mesh that refers to no other file.
fn read(bytes: &[u8]) -> std::result::Result<MeshData, String> {
    read_bytes(bytes, Path::new(""))
}

const CORNERS: [[f64; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -4.5]];
const FACES: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];

/// Returns the corners of each triangle.
fn triangles(mesh: &MeshData) -> Vec<[[f64; 3]; 3]> {
    let wide: Vec<f64> = match &mesh.vertices {
        Points::F32(table) => table.as_slice().iter().map(|&x| x.into()).collect(),
        Points::F64(table) => table.as_slice().to_vec(),
    };
    mesh.faces.iter().map(|face| face.map(|at| std::array::from_fn(|k| wide[3 * at as usize + k]))).collect()
}

fn expected() -> Vec<[[f64; 3]; 3]> {
    FACES.iter().map(|face| face.map(|at| CORNERS[at as usize])).collect()
}

fn ply(format: &str, body: &[u8]) -> Vec<u8> {
    let header = format!(
        "ply\nformat {format} 1.0\nelement vertex 4\nproperty float x\nproperty double y\nproperty float z\nproperty uchar red\n\
         element face 4\nproperty list uchar int vertex_indices\nend_header\n"
    );
    [header.as_bytes(), body].concat()
}

#[test]
fn one_tetrahedron_in_all_formats() {
    let text = |row: &[f64; 3]| format!("{} {} {}", row[0], row[1], row[2]);
    let obj: String = CORNERS.iter().map(|row| format!("v {}\n", text(row))).collect::<String>()
        + "# a comment\nvn 0 0 1\no part\nf 1//1 3//1 2//1\nf 1 2 4\ng other\nf -3 -2 -1\nf 3 1 4\n";
    let mut stl = String::from("solid tetrahedron\n");
    for corners in expected() {
        let vertices: String = corners.iter().map(|row| format!("vertex {}\n", text(row))).collect();
        stl += &format!("facet normal 0 0 0\nouter loop\n{vertices}endloop\nendfacet\n");
    }
    stl += "endsolid tetrahedron\n";
    let mut binary = vec![b's'; 80];
    binary.extend(4u32.to_le_bytes());
    for corners in expected() {
        binary.extend([0; 12]);
        binary.extend(corners.as_flattened().iter().flat_map(|&x| (x as f32).to_le_bytes()));
        binary.extend([0; 2]);
    }
    let lines: String = CORNERS.iter().map(|row| format!("{} 7\n", text(row))).collect();
    let faces: String = FACES.iter().map(|face| format!("3 {} {} {}\n", face[0], face[1], face[2])).collect();
    let packed = |is_little: bool| {
        let mut all = vec![];
        let mut push = |bytes: &mut [u8]| {
            // The numbers are in the byte order of this machine.
            if is_little == cfg!(target_endian = "big") {
                bytes.reverse();
            }
            all.extend_from_slice(bytes);
        };
        for row in CORNERS {
            push(&mut (row[0] as f32).to_ne_bytes());
            push(&mut row[1].to_ne_bytes());
            push(&mut (row[2] as f32).to_ne_bytes());
            push(&mut [7]);
        }
        for face in FACES {
            push(&mut [3]);
            face.iter().for_each(|&at| push(&mut (at as i32).to_ne_bytes()));
        }
        all
    };
    let files = [
        obj.into_bytes(),
        stl.into_bytes(),
        binary,
        ply("ascii", (lines + &faces).as_bytes()),
        ply("binary_little_endian", &packed(true)),
        ply("binary_big_endian", &packed(false)),
    ];
    for (at, file) in files.iter().enumerate() {
        let mesh = read(file).unwrap_or_else(|error| panic!("file {at}: {error}"));
        assert_eq!(triangles(&mesh), expected(), "file {at}");
    }
}

#[test]
fn polygons_are_fans() {
    assert!(fan(&[4, 5, 6, 7, 8]).eq([[4, 5, 6], [4, 6, 7], [4, 7, 8]]));
    for few in [&[][..], &[1], &[1, 2]] {
        assert_eq!(fan(few).count(), 0);
    }
}

#[test]
fn what_is_wrong_is_an_error() {
    let vertices = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for text in [
        "v 0 0 0\nf 1 2 3\n".to_string(),
        format!("{vertices}f 1 2 x\n"),
        format!("{vertices}v 0 zero 0\n"),
        format!("{vertices}v nan 0 0\nf 1 2 4\n"),
        "<html>".into(),
        // Vertices without faces, faces of two corners, and a continued line at the end of the file.
        vertices.into(),
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n0 0 0\n".into(),
        String::from_utf8_lossy(&ply("ascii", b"0 0 0 7\n1 0 0 7\n0 1 0 7\n0 0 1 7\n2 0 1\n2 0 2\n2 0 3\n2 1 2\n")).into_owned(),
        format!("{vertices}f 1 2 \\\n"),
        "solid cut\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n".into(),
        "ply\nformat ascii 1.0\nelement vertex 2\n".into(),
        String::from_utf8_lossy(&ply("ascii", b"0 0 0 7\n1 0 0 7\n0 1 0 7\n0 0 1 7\n3 0 1 9\n")).into_owned(),
        String::from_utf8_lossy(&ply("ascii", b"0 0 0 7\n")).into_owned(),
    ] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
    // Files truncated at any byte.
    let mut body = vec![0; 4 * 17];
    (0..4).for_each(|_| body.extend([3, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]));
    let whole = ply("binary_little_endian", &body);
    assert!(read(&whole).is_ok());
    for length in 4..whole.len() {
        assert!(read(&whole[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn faces_by_another_name_are_named() {
    let whole = ply("ascii", b"0 0 0 7\n1 0 0 7\n0 1 0 7\n0 0 1 7\n3 0 1 2\n3 0 1 2\n3 0 1 2\n3 0 1 2\n");
    let named = |name: &str| String::from_utf8_lossy(&whole).replace("vertex_indices", name);
    assert!(["vertex_index", "vertex_indices"].iter().all(|name| read(named(name).as_bytes()).is_ok()));
    let error = read(named("vertex_indexes").as_bytes()).unwrap_err();
    assert!(error.contains("vertex_indexes") && error.contains("vertex_indices"), "{error}");
}

#[test]
fn numbers_of_text_ply_as_others_write_them() {
    let mesh = read(&ply("ascii", b".5 1. -.5e1 7\n+1 1E0 0 7\n\n  0 1 0 7 9\n0 0 1 7\n3 0 1 2\n\n0\n0\n0")).unwrap();
    assert_eq!(triangles(&mesh), [[[0.5, 1.0, -5.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]]);
    let more =
        String::from_utf8(ply("ascii", b"0 0 0 7 nan\n1 0 0 7 inf\n0 1 0 7 0\n0 0 1 7 1\n3 0 1 2\n0\n0\n0\n")).unwrap();
    let more = more.replace("uchar red\n", "uchar red\nproperty float quality\n");
    assert_eq!(read(more.as_bytes()).unwrap().faces, [[0, 1, 2]]);
}

/// Holds for any number of elements in the header.
#[test]
fn elements_without_properties_take_no_time() {
    let body = [vec![0; 4 * 17], [3, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0].repeat(4)].concat();
    let whole = ply("binary_little_endian", &body);
    let end = whole.windows(10).position(|bytes| bytes == b"end_header").unwrap();
    let more = [&whole[..end], b"element foo 4000000000000000000\n", &whole[end..]].concat();
    assert_eq!(read(&more), read(&whole));
    assert!(read(&more).is_ok());
}

#[test]
fn errors_name_the_line() {
    let header = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
        property uchar a\nproperty list uchar int b\nend_header\n";
    let header = header.to_string();
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for (text, said) in [
        (format!("{header}0 0 0 0 0\none 0 0 0 0\n"), "line 11: 'one' is not a number"),
        (format!("{header}0 0 0 300 0\n0 0 0 0 0\n"), "line 10: '300' is not a whole number that its type can hold"),
        (format!("{header}0 0 0 0 0\n0 0 0 0 2 1\n"), "line 11: ends before b of the element vertex"),
        (format!("{header}0 0 0 0 0\n"), "ends after 1 of 2 lines of the element vertex"),
        (header.replace("vertex 2", "vertex x"), "line 3: 'element vertex x' cannot be read as a line of the header"),
        (header.replace("end_header\n", ""), "its header has no line end_header"),
        (header.replace("format ascii 1.0\n", ""), "No format line found."),
        (format!("{obj}f 1 2 x\n"), "line 4: 'f 1 2 x' is not a list of vertices"),
        (format!("{obj}\r\nf 1 2 3\r\nv 0 zero 0"), "line 6: 'v 0 zero 0' needs three numbers"),
        (format!("{obj}f 1 2 \\\nx\n"), "line 4: 'f 1 2  x' is not a list of vertices"),
        (format!("{obj}v 0 0 0 1 1\nf 1 2 3\n"), "line 4: 'v 0 0 0 1 1' must have 3, 4, 6 or 7 numbers"),
        (format!("{obj}vn 0 0 1\n\nf 1 2 3/1/1/1\n"), "line 6: 'f 1 2 3/1/1/1' is not a list of vertices"),
        (format!("f 1 2 3\n{obj}f 1 2 9\n"), "line 5: 'f 1 2 9' has a vertex that does not exist; the file has 3"),
        (format!("{obj}f 1 2 -4\n"), "line 4: 'f 1 2 -4' has a vertex that does not exist"),
        (format!("{obj}f\nf 1 2 3\no next\n"), "line 4: a face has no vertices"),
    ] {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
    let whole = ply("binary_little_endian", &[0; 20]);
    let error = read(&whole).unwrap_err();
    assert!(error.ends_with("ends within the element vertex, which must have 4 rows"), "{error}");
}

#[test]
fn lines_of_obj_that_are_passed_over() {
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    let faces = [[0, 1, 2]];
    for more in [
        // Normals and texture coordinates that do not exist, and indices whose product overflows.
        "vn 0 0 1\nf 1//6148914691236517206 2//1 3//1\n",
        "vn 0 0 1\nf 1//-9 2//1 3//1\n",
        "vn 0 0 1\nf 1//0 2 3//2\n",
        "vt 0 1\nf 1/-9 2 3\n",
        "vt 0 1\nf 1/9223372036854775807/-9223372036854775808 2/1/ 3/\n",
        // Normals and texture coordinates that are not numbers, or have too few.
        "vn 0 0\nvt\nvn a b c\nf 1 2 3\n",
        // Materials, lines and points.
        "mtllib\nusemtl\nl 1 2 3\nl x\np 1\nf 1 2 3\nusemtl b\n",
        "v 1 1 1 0.5 0.5 0.5\nf 1 2 3\n",
        "v 1 1 1\t0.5 red  blue \r\nf 1 2 3\n",
        // Continued lines, also twice and at the end of the file, and comments at the end of lines.
        "f 1 \\\n 2 \\\r\n3\n",
        "f 1 2 3 \\",
        "f 1 2 3 # a triangle\n# f 1 2 3 \\\n",
        "f 1/1 2/2 \\\n 3/3#\n",
        // Indices counted from the end, and normals that are not numbers.
        "f -3 -2 -1\n",
        "vn nan nan nan\nf 1//1 2//1 3//1\n",
    ] {
        let mesh = read(format!("{obj}{more}").as_bytes()).unwrap_or_else(|error| panic!("{more}: {error}"));
        let n = 3 + usize::from(more.starts_with("v "));
        assert_eq!((&mesh.faces[..], mesh.vertices.len()), (&faces[..], n), "{more}");
    }
    // A colour on one of the vertices, and a fourth number on another.
    let text = "v 0 0 0 1 0 1\nv 2 4 6 2\nv 0 1 0\no p\u{e4}rt\nf 1 2 3";
    let corners = [[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]];
    assert_eq!(triangles(&read(text.as_bytes()).unwrap()), corners);
    // Names and comments in another encoding.
    let other = [obj.as_bytes(), b"o p\xe4rt\n# \xe4\n\xe4 1\nf 1 2 3\n"].concat();
    assert_eq!(read(&other).unwrap().faces, faces);
    let error = read(&[obj.as_bytes(), b"f 1 2 3 \xe4\n"].concat()).unwrap_err();
    assert!(error.contains("line 4: 'f 1 2 3 \u{fffd}' is not text in UTF-8"), "{error}");
    for face in [
        "6148914691236517206 2 3",
        "9223372036854775807 2 3",
        "9223372036854775808 2 3",
        "-9223372036854775808 1 2",
        "-4 1 2",
        "0 1 2",
        "/1 2 3",
    ] {
        assert!(read(format!("{obj}vn 0 0 1\nvt 0 0\nf {face}\n").as_bytes()).is_err(), "{face}");
    }
}

/// Files with a few changed bytes are either read or rejected. If a file is read, all vertices of faces exist, and no
/// coordinate is NaN.
#[test]
fn mutated_files() {
    let corners: Vec<u8> = (0..12).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let mut stl = vec![b' '; 80];
    stl.extend(1u32.to_le_bytes());
    stl.extend([&corners[..], &[0, 0]].concat());
    let seeds = [
        b"v 0 0 0\nv 1 0 0 0.5 0.5 0.5\nvt 0 1\nvn 0 0 1\nv 0 1 0\no part\nf 1/1/1 2//1 -1\nl 1 2\nf 1 2 3 2\n".to_vec(),
        b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1e3 0\nendloop\nendfacet\nendsolid a\n".to_vec(),
        stl,
        ply("ascii", b"0 0 0 7\n1 0 0 7\n0 1 0 7\n0 0 1 7\n3 0 1 2\n3 0 1 2\n4 0 1 2 3\n3 0 1 2\n"),
        ply("binary_little_endian", &[0; 68 + 4]),
        b"COFF\n4 2 0\n0 0 0 255 0 9\n1 0 0 1 1 1\n0 1 0 0 0 0\n0 0 1 7 7 7\n3 0 1 2\n3 0 1 3\n".to_vec(),
    ];
    let seeds = [&seeds[..], &gltf::tests::files()].concat();
    let mut n_read = 0;
    for round in 0..20_000 {
        let mut place = 16 * round;
        let mut below = |n: usize| {
            place += 1;
            (ropewalk::internals::random::mixed(place) % n.max(1) as u64) as usize
        };
        let mut bytes = seeds[below(seeds.len())].clone();
        for _ in 0..1 + below(3) {
            if bytes.is_empty() {
                break;
            }
            let at = below(bytes.len());
            match below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes.insert(at, b"09-/.e \n"[below(8)]),
                2 => drop(bytes.remove(at)),
                _ => bytes[at] = [b'0' + below(10) as u8, 0xff, 0, b' ', 0x7f][below(5)],
            }
        }
        let Ok(mesh) = read(&bytes) else { continue };
        n_read += 1;
        assert!(triangles(&mesh).as_flattened().as_flattened().iter().all(|x| x.is_finite()));
    }
    assert!(n_read > 1000, "{n_read}");
}

#[test]
fn nothing_is_an_empty_mesh() {
    for text in ["# nothing\n", "solid nothing\nendsolid nothing\n"] {
        let mesh = read(text.as_bytes()).unwrap();
        assert!(mesh.faces.is_empty() && mesh.vertices.is_empty());
    }
    assert_eq!(read(b""), Err("is empty".into()));
    assert_eq!(read(b"\xef\xbb\xbf"), Err("is empty".into()));
}

/// Returns a facet as text.
fn facet(corners: [[i32; 3]; 3]) -> String {
    let vertices = corners.map(|[x, y, z]| format!("  vertex {x} {y} {z}\n")).concat();
    format!("facet normal 0 0 0\n outer loop\n{vertices} endloop\nendfacet\n")
}

#[test]
fn all_solids_of_a_text_are_read() {
    let [one, two] = [[0, 0, 1], [5, 6, 7]].map(|last| facet([[0, 0, 0], [1, 0, 0], last]));
    let text = format!("solid a b\n{one}endsolid a b\n\nsolid\nendsolid\n\n solid \u{e9}\n{two}endsolid \u{e9}\n");
    let faces = [[0, 1, 2], [0, 1, 3]];
    assert_eq!(read(text.as_bytes()).unwrap().faces, faces);
    assert_eq!(read(text.to_uppercase().as_bytes()).unwrap().faces, faces);
    let without_normals = text.replace("normal 0 0 0", "normal NaN -nan(ind) 1e999");
    assert_eq!(read(without_normals.as_bytes()).unwrap().faces, faces);
    read(text.replace("normal 0 0 0", "normal 0 0 up").as_bytes()).unwrap_err();
    assert_eq!(read(format!("  \r\n  {}", text.replace('\n', "\r\n")).as_bytes()).unwrap().faces, faces);
    // A name in another encoding.
    assert_eq!(read(&[b"solid \xe9\n", one.as_bytes(), b"endsolid"].concat()).unwrap().faces, faces[..1]);
    let many = "solid\nendsolid\n".repeat(100_000);
    assert!(read(many.as_bytes()).unwrap().faces.is_empty());
    for (text, said) in [
        (format!("solid a\n{one}endsolid a\nfacet\n"), "line 10: expected another solid after endsolid"),
        (format!("solid a\n{one}solid b\n{two}endsolid\n"), "line 9: invalid facet header"),
        (format!("solid a\n\n{}", one.replace("1 0 0", "1 0 x")), "line 6: invalid float literal"),
        (format!("solid a\n{one}"), "line 8: EOF while expecting facet or endsolid"),
    ] {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_mark_before_text_is_no_part_of_it() {
    let one = facet([[0, 0, 0], [1, 0, 0], [0, 1, 0]]);
    for text in [
        "v 9 9 9\nv 0 0 0\nv 1 0 0\nf 1 2 3\n".into(),
        format!("solid\n{one}endsolid\n"),
        String::from_utf8(ply("ascii", b"0 0 0 7\n1 0 0 7\n0 1 0 7\n0 0 1 7\n3 0 1 2\n0\n0\n0\n")).unwrap(),
    ] {
        let mesh = read(text.as_bytes()).unwrap();
        assert_eq!(read(format!("\u{feff}{text}").as_bytes()), Ok(mesh), "{text}");
    }
}

#[test]
fn polygons_of_obj_and_vertices_in_the_order_of_the_file() {
    let text = "v 9 9 9\nv 0 0 0\ng a\nv 1 0 0\nv 1 1 0\ng b\nv 0 1 0\nf 2 3 4 5\nf -1 -2 -3\ncurv 0 1 1 2\n";
    let mesh = read(text.as_bytes()).unwrap();
    assert_eq!(mesh.faces, [[1, 2, 3], [1, 3, 4], [4, 3, 2]]);
    assert_eq!(mesh.vertices.len(), 5);
    assert_eq!(mesh.notes, ["lines that are not read: curv (1)"]);
    // A face before its vertices.
    assert_eq!(read(b"f 3 2 1\nv 0 0 0\nv 1 0 0\nv 0 1 0\n").unwrap().faces, [[2, 1, 0]]);
}

#[test]
fn headers_of_ply_in_other_encodings() {
    let body = [vec![0; 4 * 17], [3, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0].repeat(4)].concat();
    let whole = ply("binary_little_endian", &body);
    let mesh = read(&whole).unwrap();
    let at = whole.windows(7).position(|bytes| bytes == b"element").unwrap();
    let latin = [&whole[..at], b"comment Gr\xf6\xdfe\nobj_info num_cols 2\ncomment\n", &whole[at..]].concat();
    assert_eq!(read(&latin), Ok(mesh.clone()));
    let longer = read(&[&whole[..], b"more"].concat()).unwrap();
    assert_eq!(
        (longer.faces, &longer.notes[..]),
        (mesh.faces, &["4 bytes after the last element are not read".into()][..])
    );
    // Two properties with the same name would shift all following values.
    let twice = String::from_utf8(ply("ascii", b"")).unwrap().replace("uchar red", "float x");
    let error = read(twice.as_bytes()).unwrap_err();
    assert!(error.contains("line 7: 'property float x' cannot be read as a line of the header"), "{error}");
    let error = read(&ply("ascii", b"0 0 0 7\n1 0 0 7\n0 1 0 7\n0 0 1 7\n3 0 1 2\n3 0 1 9\n0\n0\n")).unwrap_err();
    assert!(error.contains("face 2 of 4 has vertex 9; vertices must be 0 to 3"), "{error}");
}

#[test]
fn off_files() {
    let rows: String = CORNERS.iter().map(|row| format!("{} {} {} 7\n", row[0], row[1], row[2])).collect();
    let faces: String = FACES.iter().map(|face| format!("3 {} {} {} 255 0 0\n", face[0], face[1], face[2])).collect();
    for header in ["OFF\n4 4 6\n", "# a comment\r\n\nCOFF 4 4 # numbers\n"] {
        let mesh = read(format!("{header}\n{rows}{faces}").as_bytes()).unwrap();
        assert_eq!((triangles(&mesh), mesh.notes.len()), (expected(), 0));
    }
    let mesh = read(format!("OFF 4 1 0\n{rows}4 0 1 2 3\n3 0 1 2\n").as_bytes()).unwrap();
    assert_eq!(mesh.faces, [[0, 1, 2], [0, 2, 3]]);
    assert_eq!(mesh.notes, ["lines after the last face that are not read: 1"]);
    for (text, said) in [
        ("OFF".into(), "is OFF, and ends before the numbers of vertices and faces"),
        ("OFF\n4 x 0\n".into(), "line 2: '4 x 0' must be the numbers of vertices and faces"),
        ("4OFF\n4 4 0\n".into(), "is OFF of other than three dimensions"),
        ("OFF BINARY\n\0\0".into(), "is OFF in binary"),
        ("OFF\n4000000000 4000000000 0\n0 0 0\n".into(), "is OFF, and ends before vertex 2 of 4000000000"),
        ("OFF\n1 0 0\n0 0\n".into(), "line 3: '0 0' needs three numbers"),
        (format!("OFF\n4 2 0\n{rows}3 0 1 2\n"), "is OFF, and ends before face 2 of 2"),
        (
            format!("OFF\n4 1 0\n{rows}3 0 1 4\n"),
            "line 7: '3 0 1 4' has the vertex 4; vertices must be integers from 0 to 3",
        ),
        (format!("OFF\n4 1 0\n{rows}3 0 1\n"), "line 7: '3 0 1' must have 3 vertices"),
        (format!("OFF\n4 1 0\n{rows}three 0 1 2\n"), "must begin with a number of vertices"),
    ] {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(error.starts_with(said) || error.ends_with(said), "{error}");
    }
    // Bytes 80 to 83 are letters, which are no number of triangles.
    let binary: Vec<u8> = b"\0some other binary format".iter().copied().cycle().take(4000).collect();
    assert_eq!(read(&binary).unwrap_err(), "is in a binary format other than PLY and STL");
}

#[test]
fn binary_stl_of_another_length() {
    for name in [b"solid", b"other"] {
        let mut bytes = [&name[..], &[0; 75]].concat();
        bytes.extend(4u32.to_le_bytes());
        bytes.extend([0; 151]);
        let error = read(&bytes).unwrap_err();
        assert!(error.ends_with("binary STL of 4 triangles must have 284 bytes, got 235"), "{error}");
        let mut one = bytes.clone();
        one[80] = 2;
        let mesh = read(&[&one[..184], b"bytes"].concat()).unwrap();
        assert_eq!(
            (mesh.faces.len(), &mesh.notes[..]),
            (2, &["5 bytes after the last triangle are not read".into()][..])
        );
        assert!(read(&[&one[..184], &[0; 50]].concat()).is_err());
        let error = read(&bytes[..70]).unwrap_err();
        assert!(error.ends_with("binary STL must have at least 84 bytes, got 70"), "{error}");
    }
}
