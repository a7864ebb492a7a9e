//! Instances of meshes.

/// A mesh at a place in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshInstance {
    /// The index of the mesh in its group.
    pub mesh: u32,
    /// The map from the mesh to the world, three rows of four numbers: the point `p` of the mesh is at
    /// `row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3]` in the world, one row per axis.
    pub transform: [[f64; 4]; 3],
}

impl MeshInstance {
    /// Creates an instance at the place of the mesh itself.
    pub fn new(mesh: u32) -> Self {
        Self { mesh, transform: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] }
    }

    /// Moves the instance by a vector in the world.
    #[must_use]
    pub fn moved(mut self, by: [f64; 3]) -> Self {
        for (row, by) in self.transform.iter_mut().zip(by) {
            row[3] += by;
        }
        self
    }

    /// Replaces the map from the mesh to the world.
    #[must_use]
    pub fn transformed(self, transform: [[f64; 4]; 3]) -> Self {
        Self { transform, ..self }
    }
}
