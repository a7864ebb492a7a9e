use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::mesh::data::MeshData;
use crate::mesh::read_bytes;

/// A scene of one square of two triangles, whose node is moved by (10, 20, 30) and doubled.
fn square() -> Value {
    let mut bytes: Vec<u8> = vec![];
    for place in [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]] {
        bytes.extend(place.iter().flat_map(|x| x.to_le_bytes()));
    }
    bytes.extend([0u16, 1, 2, 0, 2, 3].iter().flat_map(|x| x.to_le_bytes()));
    json!({
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": [10, 20, 30], "scale": [2, 2, 2]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 12},
        ],
        "buffers": [{"byteLength": 60, "uri": format!("data:application/octet-stream;base64,{}", STANDARD.encode(&bytes))}],
    })
}

/// The buffer of [`square`].
fn buffer() -> Vec<u8> {
    let scene = square();
    let uri = scene["buffers"][0]["uri"].as_str().unwrap();
    STANDARD.decode(uri.split_once("base64,").unwrap().1).unwrap()
}

/// The scene in text and in binary.
pub fn files() -> [Vec<u8>; 2] {
    [serde_json::to_vec(&square()).unwrap(), binary(&square())]
}

/// A binary file of a scene and the buffer of [`square`].
fn binary(scene: &Value) -> Vec<u8> {
    let mut json = serde_json::to_vec(scene).unwrap();
    json.resize(json.len().next_multiple_of(4), b' ');
    let buffer = buffer();
    let length = (28 + json.len() + buffer.len()) as u32;
    let number = |x: u32| x.to_le_bytes();
    let start = [*b"glTF", number(2), number(length), number(json.len() as u32), *b"JSON"].concat();
    [&start[..], &json, &number(buffer.len() as u32), b"BIN\0", &buffer].concat()
}

fn read(scene: &Value) -> Result<MeshData, String> {
    read_bytes(&serde_json::to_vec(scene).unwrap(), Path::new(""))
}

fn places(mesh: &MeshData) -> Vec<[f64; 3]> {
    let crate::Points::F64(table) = &mesh.vertices else { panic!("64 bits") };
    table.rows().unwrap().to_vec()
}

/// The same scene as text with base64, as text with a file beside it, and as a binary file.
#[test]
fn text_and_binary() {
    let expected = [[10.0, 20.0, 30.0], [12.0, 20.0, 30.0], [12.0, 22.0, 30.0], [10.0, 22.0, 30.0]];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("the points.bin"), buffer()).unwrap();
    let mut beside = square();
    beside["buffers"][0]["uri"] = "the%20points.bin".into();
    let mut inside = square();
    inside["buffers"][0].as_object_mut().unwrap().remove("uri");
    let mut here = beside.clone();
    here["buffers"][0]["uri"] = "./the points.bin".into();
    for bytes in [
        serde_json::to_vec(&square()).unwrap(),
        serde_json::to_vec(&beside).unwrap(),
        serde_json::to_vec(&here).unwrap(),
        binary(&inside),
    ] {
        let mesh = read_bytes(&bytes, folder.path()).unwrap();
        assert_eq!(places(&mesh), expected);
        assert_eq!(mesh.faces, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!((mesh.colors, mesh.notes), (None, vec![]));
    }
}

/// Children move with their parents, a rotation by a quarter about z that is not normalized, a matrix, and two places of one mesh.
#[test]
fn nodes() {
    let mut scene = square();
    let half = 0.5f64.sqrt();
    scene["scenes"] = json!([{"nodes": []}, {"nodes": [1]}]);
    scene["scene"] = 1.into();
    scene["nodes"] = json!([
        {"mesh": 0, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3, 0, 1, 0, 0, 1]},
        {"translation": [0, 0, 5], "rotation": [0, 0, 3.0 * half, 3.0 * half], "children": [0, 2]},
        {"mesh": 0},
    ]);
    let mesh = read(&scene).unwrap();
    assert_eq!(mesh.faces, [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]]);
    // x becomes y, and y becomes -x.
    let expected =
        [[0.0, 1.0, 5.0], [0.0, 2.0, 5.0], [-1.0, 2.0, 5.0], [-1.0, 1.0, 5.0], [0.0, 0.0, 5.0], [0.0, 1.0, 5.0]];
    for (own, expected) in places(&mesh).iter().zip(expected) {
        assert!((0..3).all(|k| (own[k] - expected[k]).abs() < 1e-12), "{own:?} {expected:?}");
    }
    scene["nodes"][2]["children"] = json!([1]);
    assert_eq!(read(&scene).unwrap_err(), "is glTF, but node 1 has more than one parent");
    scene.as_object_mut().unwrap().remove("scenes");
    assert_eq!(places(&read(&scene).unwrap())[2], [1.0, 1.0, 0.0]);
}

/// Strips and fans, parts without triangles, sparse places, and quantized places.
#[test]
fn parts_and_arrays() {
    let mut scene = square();
    scene["nodes"] = json!([{"mesh": 0}]);
    let part = |mode: u32| json!({"attributes": {"POSITION": 0}, "mode": mode});
    scene["meshes"][0]["primitives"] = json!([part(5), part(6), part(1)]);
    let mesh = read(&scene).unwrap();
    assert_eq!(mesh.faces, [[0, 1, 2], [2, 1, 3], [4, 5, 6], [4, 6, 7]]);
    assert_eq!(mesh.notes, ["1 part has points or lines, which are not read"]);

    // The second and the last vertex of zeros are replaced by the first and the second of the square.
    scene["meshes"][0]["primitives"] = json!([part(4)]);
    scene["accessors"][0] = json!({
        "componentType": 5126, "count": 3, "type": "VEC3",
        "sparse": {
            "count": 2,
            "indices": {"bufferView": 1, "byteOffset": 2, "componentType": 5123},
            "values": {"bufferView": 0, "byteOffset": 12},
        },
    });
    assert_eq!(places(&read(&scene).unwrap()), [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]);

    // Normalized integers: bytes 0, 127, 255; the places are two bytes apart in a view of rows of four.
    scene["buffers"][0] = json!({"byteLength": 12, "uri": "data:;base64,AH//AH//AAD/AH8A"});
    scene["bufferViews"][0] = json!({"buffer": 0, "byteLength": 12, "byteStride": 4});
    scene["accessors"][0] =
        json!({"bufferView": 0, "componentType": 5121, "normalized": true, "count": 3, "type": "VEC3"});
    scene["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
    let half = 127.0 / 255.0;
    assert_eq!(places(&read(&scene).unwrap()), [[0.0, half, 1.0], [half, 1.0, 0.0], [1.0, 0.0, half]]);
    scene["accessors"][0]["componentType"] = 5120.into();
    // As signed bytes, 255 is -1, which means -1/127.
    assert_eq!(places(&read(&scene).unwrap())[0], [0.0, 1.0, -1.0 / 127.0]);
    scene["bufferViews"][0]["byteStride"] = 2.into();
    assert!(read(&scene).unwrap_err().ends_with("has a byteStride of 2 for items of 3 bytes"));
    scene["bufferViews"][0]["byteStride"] = 4.into();
    scene["accessors"][0]["byteOffset"] = 2.into();
    assert!(read(&scene).unwrap_err().ends_with("accessor 0 needs more bytes than bufferView 0 has"));
    scene["extensionsRequired"] = json!(["KHR_draco_mesh_compression"]);
    assert!(read(&scene).unwrap_err().starts_with("is glTF, but needs the extension KHR_draco_mesh_compression"));
}

/// Linear colours of vertices times the colour of the material become sRGB.
#[test]
fn colors() {
    let mut scene = square();
    scene["materials"] = json!([{"pbrMetallicRoughness": {"baseColorFactor": [1.0, 0.5, 0.0, 1.0]}}]);
    scene["meshes"][0]["primitives"][0]["material"] = 0.into();
    // 0.5 is 188 in sRGB, by IEC 61966-2-1.
    assert_eq!(read(&scene).unwrap().colors, Some(vec![[255, 188, 0]; 4]));
    scene["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = 0.into();
    assert_eq!(read(&scene).unwrap().colors, Some(vec![[0, 0, 0], [255, 0, 0], [255, 188, 0], [0, 188, 0]]));
}

#[test]
fn what_is_refused() {
    let change = |path: &str, value: Value| {
        let mut scene = square();
        *scene.pointer_mut(path).unwrap() = value;
        read(&scene).unwrap_err()
    };
    for (path, value, expected) in [
        ("/asset/version", json!("1.0"), "of version '1.0'; only version 2 is read"),
        ("/scene", json!(3), "refers to scene 3, which it does not have"),
        ("/nodes/0/mesh", json!(1), "refers to mesh 1, which it does not have"),
        ("/nodes/0/mesh", json!(-1), "node 0: mesh is -1; it must be an integer from 0"),
        ("/nodes/0/scale", json!([1, "x", 2, 3]), "node 0: scale must have 3 numbers"),
        ("/nodes", json!({}), "nodes is {}; it must be a list"),
        ("/nodes/0/scale", json!([1, 2]), "node 0: scale must have 3 numbers"),
        ("/accessors/0/count", json!(5), "accessor 0 needs more bytes than bufferView 0 has"),
        ("/accessors/0/count", json!(u64::MAX), "accessor 0 needs more bytes than bufferView 0 has"),
        ("/accessors/0/type", json!("MAT4"), "accessor 0 is of 'MAT4'"),
        ("/accessors/0/type", json!("VEC2"), "accessor 0 is of 'VEC2'"),
        ("/accessors/1/componentType", json!(7), "accessor 1 has the componentType 7"),
        ("/accessors/1/count", json!(5), "has 5 corners of triangles, which three do not divide"),
        ("/bufferViews/1/byteOffset", json!(49), "accessor 1 needs more bytes than bufferView 1 has"),
        ("/bufferViews/1/byteOffset", json!(u64::MAX), "accessor 1 needs more bytes than bufferView 1 has"),
        ("/bufferViews/0/buffer", json!(2), "refers to buffer 2, which it does not have"),
        ("/buffers/0/byteLength", json!(61), "buffer 0 has 60 bytes, fewer than its byteLength 61"),
        ("/buffers/0/uri", json!("data:,a"), "buffer 0 has a data uri that is not in base64"),
        ("/buffers/0/uri", json!("../points.bin"), "only files below the folder of this one are read"),
        ("/buffers/0/uri", json!("https://a.b/c"), "only files below the folder of this one are read"),
        ("/buffers/0/uri", json!("none.bin"), "buffer 0 is in none.bin, which cannot be read"),
    ] {
        let error = change(path, value);
        assert!(error.starts_with("is glTF, but ") && error.contains(expected), "{path}: {error}");
    }
    assert!(change("/accessors/0/type", json!("A".repeat(100_000))).len() < 300);
    // The index 3 where there are three vertices.
    assert!(change("/accessors/0/count", json!(3)).contains("has the index 3, but there are 3 vertices"));
    let whole = binary(&square());
    for length in 0..whole.len() {
        assert!(read_bytes(&whole[..length], Path::new("")).is_err());
    }
}
