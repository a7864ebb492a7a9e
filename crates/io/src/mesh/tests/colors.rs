use super::read;

/// The colours of vertices in each format that has them: as integers, as numbers from 0 to 1, and for some vertices only.
#[test]
fn colors_of_vertices() {
    let expected = Some(vec![[255, 0, 51], [0, 102, 255], [255, 255, 255]]);
    let header = |kind: &str| {
        let places: String = "xyz".chars().map(|axis| format!("property float {axis}\n")).collect();
        let colors: String = ["red", "green", "blue"].map(|name| format!("property {kind} {name}\n")).concat();
        let faces = "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
        format!("ply\nformat ascii 1.0\nelement vertex 3\n{places}{colors}{faces}")
    };
    let integers = "0 0 0 255 0 51\n1 0 0 0 102 255\n0 1 0 255 255 255\n";
    let shares = "0 0 0 1.0 0 0.2\n1 0 0 0 0.4 1.0\n0 1 0 1.0 1 1\n";
    let wide = "0 0 0 65535 0 13107\n1 0 0 0 26214 65535\n0 1 0 65535 65535 65535\n";
    let obj = |rows: &str| rows.lines().map(|row| format!("v {row}\n")).collect::<String>() + "f 1 2 3\n";
    let with_alpha = shares.replace('\n', " 0.5\n");
    let with_normals = integers.replace("0 0 0 2", "0 0 0 0 0 1 2").replace("1 0 0 0", "1 0 0 0 0 1 0");
    let with_normals = with_normals.replace("0 1 0 2", "0 1 0 0 0 1 2");
    for text in [
        format!("{}{integers}3 0 1 2\n", header("uchar")),
        format!("{}{shares}3 0 1 2\n", header("float")),
        format!("{}{wide}3 0 1 2\n", header("ushort")),
        obj(shares),
        obj(&with_alpha),
        format!("COFF\n3 1 0\n{integers}3 0 1 2\n"),
        format!("COFF\n3 1 0\n{shares}3 0 1 2\n"),
        format!("CNOFF\n3 1 0\n{with_normals}3 0 1 2\n"),
    ] {
        let mesh = read(text.as_bytes()).unwrap();
        assert_eq!(mesh.colors, expected, "{text}");
        assert_eq!(mesh.corner_colors(), expected.as_ref().map(|own| vec![[own[0], own[1], own[2]]]), "{text}");
        assert_eq!(mesh.vertices.len(), 3);
    }
    // One vertex has no colour.
    assert_eq!(read(obj(&shares.replace(" 1.0 1 1", "")).as_bytes()).unwrap().colors, None);
    assert_eq!(read(b"OFF\n3 1 0\n0 0 0 1 1 1\n1 0 0\n0 1 0\n3 0 1 2\n").unwrap().colors, None);
    // The unit is that of all vertices: pure colours of `%g` have no point.
    let mixed = "0 0 0 1 0 0.2\n1 0 0 0 0.4 1\n0 1 0 1 1 1\n";
    assert_eq!(read(format!("COFF\n3 1 0\n{mixed}3 0 1 2\n").as_bytes()).unwrap().colors, expected);
    // Types of integers in which colours are not stored, and colours of OBJ from 0 to 255.
    assert_eq!(read(format!("{}{integers}3 0 1 2\n", header("int")).as_bytes()).unwrap().colors, None);
    assert_eq!(read(obj(integers).as_bytes()).unwrap().colors, None);
    // A colour that is no number.
    assert_eq!(read(obj(&shares.replace("0.4", "red")).as_bytes()).unwrap().colors, None);
}
