//! The nodes of a glTF scene: which meshes are drawn, and where.
//!
//! In: the JSON. Out: a mesh and a transformation for each node with a mesh, in the order of the scene, parents first.
//! Cost: one pass over the nodes.

use serde_json::Value;

use super::json::{absent, items, numbers, whole};

/// A mesh in a place.
pub(super) struct Placed {
    pub mesh: usize,
    pub transform: Transform,
    pub has_skin: bool,
}

/// An affine map: its matrix, column by column, and its translation.
#[derive(Clone, Copy)]
pub(super) struct Transform {
    columns: [[f64; 3]; 3],
    translation: [f64; 3],
}

impl Transform {
    const NONE: Self = Self { columns: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], translation: [0.0; 3] };

    /// Returns the transformed place.
    pub(super) fn apply(&self, place: &[f64; 3]) -> [f64; 3] {
        let turned = self.turn(place);
        std::array::from_fn(|k| turned[k] + self.translation[k])
    }

    fn turn(&self, place: &[f64; 3]) -> [f64; 3] {
        std::array::from_fn(|k| (0..3).map(|axis| self.columns[axis][k] * place[axis]).sum())
    }

    /// Returns the map of a child node whose own map is `own`.
    fn then(&self, own: &Self) -> Self {
        Self { columns: own.columns.map(|column| self.turn(&column)), translation: self.apply(&own.translation) }
    }

    /// Returns the map of a node: its matrix, or its translation, rotation and scale.
    fn of_node(node: &Value) -> Result<Self, String> {
        if let Some(matrix) = numbers::<16>(node, "matrix")? {
            let column = |at: usize| std::array::from_fn(|k| matrix[4 * at + k]);
            return Ok(Self { columns: [0, 1, 2].map(column), translation: column(3) });
        }
        let translation = numbers(node, "translation")?.unwrap_or([0.0; 3]);
        let scale = numbers::<3>(node, "scale")?.unwrap_or([1.0; 3]);
        let [x, y, z, w] = numbers(node, "rotation")?.unwrap_or([0.0, 0.0, 0.0, 1.0]);
        // A quaternion may be rounded, so its length is divided out.
        let two = 2.0 / (x * x + y * y + z * z + w * w);
        if !two.is_finite() {
            return Err("rotation must not be zero".into());
        }
        let turned = [
            [1.0 - two * (y * y + z * z), two * (x * y + w * z), two * (x * z - w * y)],
            [two * (x * y - w * z), 1.0 - two * (x * x + z * z), two * (y * z + w * x)],
            [two * (x * z + w * y), two * (y * z - w * x), 1.0 - two * (x * x + y * y)],
        ];
        let columns = std::array::from_fn(|axis| turned[axis].map(|number| scale[axis] * number));
        Ok(Self { columns, translation })
    }
}

/// Returns the meshes of the scene that is drawn. Without scenes, returns all meshes without transformations.
pub(super) fn places(root: &Value) -> Result<Vec<Placed>, String> {
    let scenes = items(root, "scenes")?;
    if scenes.is_empty() {
        let all = 0..items(root, "meshes")?.len();
        return Ok(all.map(|mesh| Placed { mesh, transform: Transform::NONE, has_skin: false }).collect());
    }
    let at = whole(root, "scene")?.unwrap_or(0);
    let scene = scenes.get(at).ok_or_else(|| absent("scene", at))?;
    let nodes = items(root, "nodes")?;
    let mut is_used = vec![false; nodes.len()];
    let mut found = vec![];
    // The last node is the next.
    let mut waiting: Vec<(usize, Transform)> = indices(scene, "nodes")?.map(|node| (node, Transform::NONE)).collect();
    while let Some((at, outer)) = waiting.pop() {
        let node = nodes.get(at).ok_or_else(|| absent("node", at))?;
        // Otherwise nodes could contain themselves.
        if std::mem::replace(&mut is_used[at], true) {
            return Err(format!("node {at} has more than one parent"));
        }
        let named = |message| format!("node {at}: {message}");
        let transform = outer.then(&Transform::of_node(node).map_err(named)?);
        if let Some(mesh) = whole(node, "mesh").map_err(named)? {
            found.push(Placed { mesh, transform, has_skin: !node["skin"].is_null() });
        }
        waiting.extend(indices(node, "children").map_err(named)?.map(|child| (child, transform)));
    }
    Ok(found)
}

/// Returns a list of indices, from the last to the first.
fn indices(value: &Value, name: &str) -> Result<impl Iterator<Item = usize>, String> {
    let index = |item: &Value| item.as_u64().and_then(|item| usize::try_from(item).ok());
    let found: Option<Vec<usize>> = items(value, name)?.iter().rev().map(index).collect();
    Ok(found.ok_or_else(|| format!("{name} must be indices"))?.into_iter())
}
