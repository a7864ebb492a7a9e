//! Closed meshes with integer corners, and exact results for them.

/// A random generator (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number in `0..1`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns an integer from `lo` to `hi`, both inclusive.
    pub fn integer(&mut self, lo: i64, hi: i64) -> i64 {
        lo + (self.bits() % (hi - lo + 1) as u64) as i64
    }
}

/// Vertices and faces of a closed mesh.
#[derive(Clone, Default)]
pub struct Solid {
    pub vertices: Vec<[i64; 3]>,
    pub faces: Vec<[u32; 3]>,
}

impl Solid {
    fn face(&mut self, corners: [[i64; 3]; 3]) {
        let first = self.vertices.len() as u32;
        self.vertices.extend(corners);
        self.faces.push([first, first + 1, first + 2]);
    }

    pub fn corners(&self, face: usize) -> [[i64; 3]; 3] {
        self.faces[face].map(|vertex| self.vertices[vertex as usize])
    }

    /// Returns the octahedron `|x| + |y| + |z| = size`, with `size * size` triangles per face.
    pub fn octahedron(size: i64) -> Self {
        let mut all = Self::default();
        for octant in 0..8 {
            let sign = [0, 1, 2].map(|k| if octant >> k & 1 == 1 { -1 } else { 1 });
            let at = |i: i64, j: i64| [sign[0] * i, sign[1] * j, sign[2] * (size - i - j)];
            let is_even = sign.iter().product::<i64>() > 0;
            for i in 0..size {
                for j in 0..size - i {
                    let mut add = |[a, b, c]: [[i64; 3]; 3]| all.face(if is_even { [a, b, c] } else { [a, c, b] });
                    add([at(i, j), at(i + 1, j), at(i, j + 1)]);
                    if i + j + 2 <= size {
                        add([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
                    }
                }
            }
        }
        all
    }

    /// Returns the cube from 0 to `size`, with `2 * size * size` triangles per face.
    pub fn cube(size: i64) -> Self {
        let mut all = Self::default();
        for axis in 0..3 {
            for side in [0, size] {
                for i in 0..size {
                    for j in 0..size {
                        let at = |di: i64, dj: i64| {
                            let mut at = [side; 3];
                            (at[(axis + 1) % 3], at[(axis + 2) % 3]) = (i + di, j + dj);
                            at
                        };
                        let mut add = |[a, b, c]: [[i64; 3]; 3]| all.face(if side > 0 { [a, b, c] } else { [a, c, b] });
                        // Diagonals in both directions.
                        if (i + j) % 2 == 0 {
                            add([at(0, 0), at(1, 0), at(1, 1)]);
                            add([at(0, 0), at(1, 1), at(0, 1)]);
                        } else {
                            add([at(0, 0), at(1, 0), at(0, 1)]);
                            add([at(1, 0), at(1, 1), at(0, 1)]);
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns tetrahedra of four faces each, with corners from 0 to `size`. Some are flat.
    pub fn tetrahedra(n: usize, size: i64, random: &mut Random) -> Self {
        let mut all = Self::default();
        for _ in 0..n {
            let mut corner = || [0; 3].map(|_: i64| random.integer(0, size));
            let [a, b, c, d] = [corner(), corner(), corner(), corner()];
            let (b, c) = if volume(minus(b, a), minus(c, a), minus(d, a)) < 0 { (c, b) } else { (b, c) };
            for face in [[a, c, b], [a, b, d], [b, c, d], [c, a, d]] {
                all.face(face);
            }
        }
        all
    }
}

pub fn minus(a: [i64; 3], b: [i64; 3]) -> [i64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

/// Returns `a . (b x c)`.
pub fn volume(a: [i64; 3], b: [i64; 3], c: [i64; 3]) -> i128 {
    let [a, b, c] = [a, b, c].map(|x| x.map(i128::from));
    a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
}

/// Returns the intersection of a line and a triangle including its edges: `t` as numerator and positive denominator.
pub fn meeting(o: [i64; 3], d: [i64; 3], corners: [[i64; 3]; 3]) -> Option<(i128, i128)> {
    let [a, b, c] = corners.map(|corner| minus(corner, o));
    let edges = [volume(d, b, c), volume(d, c, a), volume(d, a, b)];
    let sum: i128 = edges.iter().sum();
    let met = sum != 0 && (edges.iter().all(|&e| e >= 0) || edges.iter().all(|&e| e <= 0));
    met.then(|| (volume(a, b, c) * sum.signum(), sum.abs()))
}

/// Returns `true` if a point is strictly inside a tetrahedron of four faces; `None` if it is on its surface, or in
/// the plane of a flat one.
pub fn is_inside(point: [i64; 3], faces: &[[[i64; 3]; 3]]) -> Option<bool> {
    let least = faces.iter().map(|face| {
        let [a, b, c] = face.map(|corner| minus(corner, point));
        volume(a, b, c).signum()
    });
    match least.min() {
        Some(0) => None,
        least => Some(least == Some(1)),
    }
}
