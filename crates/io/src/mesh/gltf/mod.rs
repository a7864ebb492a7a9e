//! glTF 2.0: a scene of meshes in JSON (`.gltf`), or in a binary file with its buffer (`.glb`).
//!
//! - in: the scene that the file names, else its first; without scenes, all meshes as they are
//! - used: triangles, strips and fans, with indices, sparse and quantized positions, and the transformations of nodes
//! - used: colours of vertices (`COLOR_0`) and of materials (`baseColorFactor`)
//! - buffers: in the binary file, in JSON as base64, or in files beside it
//! - noted: points and lines, textures, skins and morph targets, which are not read
//! - refused: compressed meshes and other extensions that a file requires
//!
//! Coordinates are those of the file, in which y points up. A mesh in several places is stored for each.
//! Source: Khronos glTF 2.0, section 3 (ISO/IEC 12113:2022).

mod accessor;
mod buffers;
mod json;
mod scene;
#[cfg(test)]
pub(super) mod tests;

use std::path::Path;

use serde_json::Value;

use ropewalk::internals::cancel::check;
use ropewalk::internals::memory::{append, collected, grow};

use accessor::Accessors;
use json::{item, items, numbers, whole};
use scene::{Placed, places};

use crate::Points;
use crate::mesh::data::{MeshData, channel, vertices};
use crate::messages::shorten;

/// Starts of the names of extensions that a reader of triangles may ignore.
const IGNORED: [&str; 5] = ["KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_", "KHR_mesh_quantization"];

/// Returns `true` for text or binary glTF of any version.
pub(super) fn is_gltf(bytes: &[u8]) -> bool {
    let is_scene = |text: &[u8]| text.starts_with(b"{") && text.windows(7).any(|word| word == b"\"asset\"");
    bytes.starts_with(b"glTF") || is_scene(bytes.trim_ascii_start())
}

/// Reads the meshes of a scene. `folder` is where files of buffers are.
pub(super) fn read(bytes: &[u8], folder: &Path) -> Result<MeshData, String> {
    read_scene(bytes, folder).map_err(|message| format!("is glTF, but {message}"))
}

fn read_scene(bytes: &[u8], folder: &Path) -> Result<MeshData, String> {
    let (json, chunk) = buffers::split(bytes)?;
    let root: Value = serde_json::from_slice(json).map_err(|error| format!("its JSON is invalid: {error}"))?;
    let version = root["asset"]["version"].as_str().unwrap_or_default();
    if !version.starts_with("2.") {
        return Err(format!("of version '{}'; only version 2 is read", shorten(version.as_bytes())));
    }
    let mut required = items(&root, "extensionsRequired")?.iter().filter_map(Value::as_str);
    if let Some(name) = required.find(|name| !IGNORED.iter().any(|start| name.starts_with(start))) {
        let name = shorten(name.as_bytes());
        return Err(format!("needs the extension {name}, which is not read; write its mesh without it"));
    }
    let buffers = buffers::read(&root, chunk, folder)?;
    let mut scene = Triangles::new(&root, Accessors::new(&root, &buffers)?);
    for placed in places(&root)? {
        scene.add_mesh(&placed)?;
    }
    scene.finish()
}

/// The triangles read so far.
struct Triangles<'a> {
    root: &'a Value,
    accessors: Accessors<'a>,
    coordinates: Vec<f64>,
    colors: Vec<[u8; 3]>,
    faces: Vec<[u32; 3]>,
    /// `true` if a vertex or a material has a colour.
    has_colors: bool,
    /// The numbers of parts with points or lines, with textures, and with skins or morph targets.
    passed: [usize; 3],
}

impl<'a> Triangles<'a> {
    fn new(root: &'a Value, accessors: Accessors<'a>) -> Self {
        let (coordinates, colors, faces) = (vec![], vec![], vec![]);
        Self { root, accessors, coordinates, colors, faces, has_colors: false, passed: [0; 3] }
    }

    fn add_mesh(&mut self, placed: &Placed) -> Result<(), String> {
        let mesh = item(self.root, "meshes", "mesh", placed.mesh)?;
        for (i, part) in items(mesh, "primitives")?.iter().enumerate() {
            check();
            let named = |message| format!("mesh {}, primitive {i}: {message}", placed.mesh);
            self.add_part(part, placed).map_err(named)?;
        }
        Ok(())
    }

    fn add_part(&mut self, part: &Value, placed: &Placed) -> Result<(), String> {
        let mode = whole(part, "mode")?.unwrap_or(4);
        if mode < 4 {
            self.passed[0] += 1;
            return Ok(());
        }
        let attributes = &part["attributes"];
        let Some(positions) = whole(attributes, "POSITION")? else {
            return Err("has no POSITION".into());
        };
        let positions = self.accessors.numbers(positions, &[3])?;
        let n = positions.len() / 3;
        let end = u32::try_from(self.coordinates.len() / 3 + n).map_err(|_| "has more than 2^32 - 1 vertices")?;
        let first = end - n as u32;
        grow(&mut self.coordinates, positions.len());
        for place in positions.as_chunks::<3>().0 {
            self.coordinates.extend(placed.transform.apply(place));
        }
        let (factor, has_texture) = self.material(part)?;
        let colors = match whole(attributes, "COLOR_0")? {
            None => vec![],
            Some(at) => {
                let width = self.accessors.width(at)?;
                let numbers = self.accessors.numbers(at, &[3, 4])?;
                collected(numbers.chunks_exact(width).map(|color| [color[0], color[1], color[2]]))
            }
        };
        if !colors.is_empty() && colors.len() != n {
            return Err(format!("has {} colours for {n} vertices", colors.len()));
        }
        self.has_colors |= !colors.is_empty() || factor.is_some();
        let factor = factor.unwrap_or([1.0; 3]);
        let of_material = factor.map(encoded);
        let of_vertex = |color: &[f64; 3]| std::array::from_fn(|k| encoded(color[k] * factor[k]));
        match colors.is_empty() {
            true => append(&mut self.colors, std::iter::repeat_n(of_material, n)),
            false => append(&mut self.colors, colors.iter().map(of_vertex)),
        }
        let corners = match whole(part, "indices")? {
            None => collected(0..n as u32),
            Some(at) => self.accessors.indices(at, n)?,
        };
        append(&mut self.faces, triangles(mode, &corners)?.into_iter().map(|face| face.map(|corner| first + corner)));
        self.passed[1] += usize::from(has_texture);
        self.passed[2] += usize::from(placed.has_skin || !items(part, "targets")?.is_empty());
        Ok(())
    }

    /// Returns the colour of the material of a part, and whether it has a texture.
    fn material(&self, part: &Value) -> Result<(Option<[f64; 3]>, bool), String> {
        let Some(at) = whole(part, "material")? else { return Ok((None, false)) };
        let material = item(self.root, "materials", "material", at)?;
        let surface = &material["pbrMetallicRoughness"];
        let has_texture = !surface["baseColorTexture"].is_null();
        Ok((numbers::<4>(surface, "baseColorFactor")?.map(|[r, g, b, _]| [r, g, b]), has_texture))
    }

    fn finish(self) -> Result<MeshData, String> {
        let what = ["points or lines", "textures", "skins or morph targets"];
        let note = |(n, what): (usize, &str)| {
            let parts = if n == 1 { "part has" } else { "parts have" };
            (n > 0).then(|| format!("{n} {parts} {what}, which are not read"))
        };
        let notes = self.passed.into_iter().zip(what).filter_map(note).collect();
        let colors = self.has_colors.then_some(self.colors);
        Ok(MeshData { vertices: vertices(self.coordinates, Points::F64)?, faces: self.faces, colors, notes })
    }
}

/// Returns the triangles of a part from its corners, in the order of the corners.
fn triangles(mode: usize, corners: &[u32]) -> Result<Vec<[u32; 3]>, String> {
    Ok(match mode {
        4 if corners.len().is_multiple_of(3) => collected(corners.as_chunks().0.iter().copied()),
        4 => return Err(format!("has {} corners of triangles, which three do not divide", corners.len())),
        // In a strip every second triangle has the other orientation.
        5 => collected(corners.windows(3).enumerate().map(|(i, corner)| {
            let [a, b, c] = [corner[0], corner[1], corner[2]];
            if i % 2 == 0 { [a, b, c] } else { [b, a, c] }
        })),
        6 => collected(super::data::fan(corners)),
        _ => return Err(format!("has the mode {mode}; modes are 0 to 6")),
    })
}

/// Returns the sRGB byte of a linear intensity.
fn encoded(linear: f64) -> u8 {
    channel(if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 })
}
