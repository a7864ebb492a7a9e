//! The inner structure of halos around their centres: circular velocity, spin, shape.
//!
//! In: [`Halos`], their [`Particles`], a centre for each halo and the sphere around it. Out: a [`Structure`] for each.
//! Cost: a sort of each halo's members by distance. Parallel over halos; sums are in `f64` and in a fixed order.

use crate::cancel::guarded;
use crate::cluster::halos::Halos;
use crate::error::{Error, Result};
use crate::geometry::{Boundary, Scalar, Space, length2};
use crate::halo::centers::CenterPositions;
use crate::halo::overdensity::SphericalOverdensity;
use crate::halo::particles::Particles;
use crate::parallel::map;

/// The circular velocity is measured from this member on; fewer members give only noise.
const INNERMOST: usize = 8;

/// The distribution of a halo's members around its centre. A value is zero if the members do not define it, and NaN if
/// the halo has no centre.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Structure {
    /// The maximum circular velocity `sqrt(G M(<r) / r)` at any member except the innermost seven.
    pub v_max: f64,
    /// The distance from the centre to the member at which the circular velocity is [`Structure::v_max`].
    pub v_max_radius: f64,
    /// The minimum distance within which the members have half of the halo's mass.
    pub half_mass_radius: f64,
    /// The spin parameter of Bullock et al. 2001, equation 5: `J / (sqrt(2) M V R)`. `R` is the radius of the sphere,
    /// `J` and `M` are the angular momentum and the mass of the members within it, and `V^2 = G M / R`. Velocities are
    /// relative to their mean. `None` if velocities are unknown.
    pub spin: Option<f64>,
    /// The middle axis over the longest axis. Axes are roots of the eigenvalues of `sum m x x^T` around the centre,
    /// not around the centre of mass. An offset between the two, caused by gas or satellites, lengthens the axis along
    /// it.
    pub axis_ratio_b: f64,
    /// The shortest axis over the longest axis, also around the centre.
    pub axis_ratio_c: f64,
    /// The distance of the centre of mass from the centre, in units of the sphere's radius.
    pub center_offset: f64,
}

impl Structure {
    /// The structure of a halo without a centre.
    fn missing(has_velocities: bool) -> Self {
        Self {
            v_max: f64::NAN,
            v_max_radius: f64::NAN,
            half_mass_radius: f64::NAN,
            spin: has_velocities.then_some(f64::NAN),
            axis_ratio_b: f64::NAN,
            axis_ratio_c: f64::NAN,
            center_offset: f64::NAN,
        }
    }
}

/// Measures the structure of each halo around its centre.
///
/// `spheres` holds the overdense sphere of each halo, usually for 200 times the critical density. Centres are
/// `&`[`Centers`](crate::halo::Centers) or positions given by the caller. Halos, centres and particles are in the space
/// that any of them specifies. For a halo without a centre all values are NaN.
///
/// `gravity` is the G of `sqrt(G M / r)` in the units of the particles' masses, radii and velocities:
/// [`Conversion::gravity`](crate::units::Conversion::gravity). For comoving radii it is Newton's constant over the
/// scale factor. At redshift `z`, it is `43.0091727 (1 + z)` for comoving Mpc/h, km/s and 1e10 Msun/h. Velocities are
/// peculiar, in the frame-independent unit of `gravity`. Circular velocities scale as `a^(-1/2)` at fixed comoving
/// radii, spins as `a^(1/2)` at fixed peculiar velocities. Other values do not depend on `a`.
///
/// # Errors
/// - A number of centres or spheres that differs from the number of halos.
/// - A centre that is not finite; a `gravity` that is not positive and finite.
/// - Halos, centres or particles in different spaces.
/// - Particles that `Catalog::new` of `ropewalk-table` rejects.
///
/// # Example
///
/// ```
/// use ropewalk::halo::{Particles, SphericalOverdensity, measure_structure};
/// use ropewalk::Fof;
///
/// let positions = [[0.0f32, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [-2.0, 0.0, 0.0]];
/// let halos = Fof::new(2.0).run(&positions)?;
/// let sphere = SphericalOverdensity { mass: 5.0, radius: 2.0, count: 5 };
/// let structure = measure_structure(&halos, &Particles::new(&positions), &[[0.0; 3]], &[sphere], 1.0)?[0];
/// assert!((structure.axis_ratio_b - 0.5).abs() < 1e-7 && structure.axis_ratio_c < 1e-7); // flat, twice as long as wide
/// assert_eq!((structure.half_mass_radius, structure.center_offset), (1.0, 0.0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn measure_structure<'c, S: Scalar>(
    halos: &Halos,
    particles: &Particles<S>,
    centers: impl Into<CenterPositions<'c>>,
    spheres: &[SphericalOverdensity],
    gravity: f64,
) -> Result<Vec<Structure>> {
    let centers = centers.into();
    guarded(|| structures_about(halos, particles, &centers, spheres, gravity))
}

fn structures_about<S: Scalar>(
    halos: &Halos,
    particles: &Particles<S>,
    centers: &CenterPositions<'_>,
    spheres: &[SphericalOverdensity],
    gravity: f64,
) -> Result<Vec<Structure>> {
    particles.check(halos.labels().as_slice().len())?;
    for (name, len) in [("centers", centers.len()), ("spheres", spheres.len())] {
        if len != halos.len() {
            return Err(Error::column_length(name, len, halos.len()));
        }
    }
    if !(gravity > 0.0 && gravity < f64::INFINITY) {
        return Err(Error::parameter_must("gravity", gravity, "positive and finite"));
    }
    centers.check()?;
    let boundary = Boundary::common(&[
        ("the halos were found in", halos.boundary()),
        ("the centres were found in", centers.boundary()),
        ("the particles are in", &particles.boundary()?),
    ])?;
    let space = boundary.space()?;
    let measure = |halo: usize| match centers.at(halo) {
        Some(center) => measure(halos.members(halo), particles, &space, center, &spheres[halo], gravity),
        None => Structure::missing(particles.has_velocities()),
    };
    Ok(map(halos.len(), 4, &measure))
}

/// The structure of one halo's members around a centre; spin and centre offset refer to the sphere.
pub(super) fn measure<S: Scalar>(
    members: &[u32],
    particles: &Particles<S>,
    space: &Space<3>,
    center: [f64; 3],
    sphere: &SphericalOverdensity,
    gravity: f64,
) -> Structure {
    struct Member {
        offset: [f64; 3],
        distance: f64,
        mass: f64,
        index: u32,
    }
    let mut about: Vec<Member> = members
        .iter()
        .map(|&index| {
            let offset = space.offset(&center, &particles.position(index as usize));
            let distance = length2(offset).sqrt();
            Member { offset, distance, mass: particles.mass_of(index as usize), index }
        })
        .collect();
    about.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.index.cmp(&b.index)));
    let total: f64 = about.iter().map(|member| member.mass).sum();
    let mut structure = Structure::default();
    if total <= 0.0 {
        return structure;
    }

    let mut within = 0.0;
    let mut tensor = [[0.0; 3]; 3];
    let mut drift = [0.0; 3];
    for (i, member) in about.iter().enumerate() {
        // The tolerance counts half of the total as half despite rounding.
        if within < (0.5 - 1e-12) * total {
            structure.half_mass_radius = member.distance;
        }
        within += member.mass;
        let velocity = (gravity * within / member.distance).sqrt();
        if i + 1 >= INNERMOST && member.distance > 0.0 && velocity > structure.v_max {
            (structure.v_max, structure.v_max_radius) = (velocity, member.distance);
        }
        for (k, row) in tensor.iter_mut().enumerate() {
            drift[k] += member.mass * member.offset[k];
            for (product, x) in row.iter_mut().zip(member.offset) {
                *product += member.mass * member.offset[k] * x;
            }
        }
    }
    let axes = eigenvalues(tensor).map(|value| value.max(0.0).sqrt());
    if axes[0] > 0.0 {
        (structure.axis_ratio_b, structure.axis_ratio_c) = (axes[1] / axes[0], axes[2] / axes[0]);
    }
    if sphere.radius > 0.0 {
        structure.center_offset = length2(drift.map(|x| x / total)).sqrt() / sphere.radius;
    }

    if particles.has_velocities() {
        let inside = &about[..about.partition_point(|member| member.distance <= sphere.radius)];
        let mass: f64 = inside.iter().map(|member| member.mass).sum();
        let velocity = |member: &Member| particles.velocity(member.index as usize);
        let mean: [f64; 3] = std::array::from_fn(|k| {
            inside.iter().map(|member| member.mass * velocity(member)[k]).sum::<f64>() / mass.max(f64::MIN_POSITIVE)
        });
        let mut spin = [0.0; 3];
        for member in inside {
            let (x, v) = (member.offset, velocity(member));
            let v: [f64; 3] = std::array::from_fn(|k| v[k] - mean[k]);
            for (k, spin) in spin.iter_mut().enumerate() {
                let (l, m) = ((k + 1) % 3, (k + 2) % 3);
                *spin += member.mass * (x[l] * v[m] - x[m] * v[l]);
            }
        }
        // M V R with V^2 = G M / R.
        let scale = (2.0 * gravity * mass * sphere.radius).sqrt() * mass;
        structure.spin = Some(if scale > 0.0 { length2(spin).sqrt() / scale } else { 0.0 });
    }
    structure
}

/// The eigenvalues of a symmetric matrix in closed form, largest first. Source: Smith 1961.
fn eigenvalues(a: [[f64; 3]; 3]) -> [f64; 3] {
    let mean = (a[0][0] + a[1][1] + a[2][2]) / 3.0;
    let mut b = a;
    for (k, row) in b.iter_mut().enumerate() {
        row[k] -= mean;
    }
    let scale = (b.iter().flatten().map(|x| x * x).sum::<f64>() / 6.0).sqrt();
    if scale == 0.0 {
        return [mean; 3];
    }
    let b = b.map(|row| row.map(|x| x / scale));
    let determinant = b[0][0] * (b[1][1] * b[2][2] - b[1][2] * b[2][1])
        - b[0][1] * (b[1][0] * b[2][2] - b[1][2] * b[2][0])
        + b[0][2] * (b[1][0] * b[2][1] - b[1][1] * b[2][0]);
    let angle = (0.5 * determinant).clamp(-1.0, 1.0).acos() / 3.0;
    let largest = mean + 2.0 * scale * angle.cos();
    let smallest = mean + 2.0 * scale * (angle + 2.0 * std::f64::consts::FRAC_PI_3).cos();
    [largest, 3.0 * mean - largest - smallest, smallest]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_of_a_turned_matrix() {
        // A matrix with the diagonal 5, 3, 2, rotated by 30 and 50 degrees.
        let (s, c) = 30f64.to_radians().sin_cos();
        let (t, d) = 50f64.to_radians().sin_cos();
        let turn = [[c, -s * d, s * t], [s, c * d, -c * t], [0.0, t, d]];
        let of = [5.0, 3.0, 2.0];
        let a = std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| turn[i][k] * of[k] * turn[j][k]).sum()));
        let found = eigenvalues(a);
        assert!((0..3).all(|k| (found[k] - of[k]).abs() < 1e-12), "{found:?}");
        assert_eq!(eigenvalues([[0.0; 3]; 3]), [0.0; 3]);
        assert_eq!(eigenvalues([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]), [2.0; 3]);
    }
}
