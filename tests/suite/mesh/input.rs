//! Empty, flat and invalid meshes and rays.

use ropewalk::{ErrorKind, Mesh, Ray};

#[test]
fn what_is_refused() {
    for (value, kind) in [(f32::NAN, ErrorKind::NotFinite), (f32::INFINITY, ErrorKind::NotFinite)] {
        let error = Mesh::build(&[[0.0f32; 3], [0.0, value, 0.0]], &[]).unwrap_err();
        assert_eq!((error.kind(), error.index()), (kind, Some(1)), "{error}");
    }
    let error = Mesh::build(&[[0.0, 1e200, 0.0]], &[]).unwrap_err();
    assert_eq!((error.kind(), error.index()), (ErrorKind::Input, Some(0)), "{error}");
    let error = Mesh::build(&[[0.0f32; 3]; 2], &[[0, 1, 1], [0, 2, 1]]).unwrap_err();
    assert_eq!((error.kind(), error.index()), (ErrorKind::Input, Some(1)));
    assert_eq!(error.to_string(), "face 1 has the vertex index 2; with 2 vertices, it must be less than 2");
}

#[test]
fn nothing() {
    for mesh in [Mesh::<f64>::build(&[], &[]).unwrap(), Mesh::build(&[[0.0; 3]], &[]).unwrap()] {
        let ray = Ray::new([0.0; 3], [1.0, 0.0, 0.0]);
        assert!(mesh.is_empty() && mesh.first_hit(&ray).is_none() && !mesh.any_hit(&ray) && mesh.hits(&ray).is_empty());
        assert!(mesh.first_hits(&[ray; 2]) == [None; 2] && mesh.hits_all(&[ray; 2]).len() == 2);
        assert!(mesh.nearest([0.0; 3]).is_none() && mesh.winding_number([0.0; 3]) == 0.0);
        assert_eq!(mesh.signed_distance([0.0; 3]), f64::INFINITY);
    }
}

#[test]
fn rays_that_are_none() {
    let mesh = Mesh::build(&[[0.0f64, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], &[[0, 1, 2]]).unwrap();
    let ray = Ray::new([0.1, 0.1, 0.0], [0.0, 0.0, 1.0]);
    assert!(mesh.any_hit(&ray));
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for none in [
        Ray { direction: [0.0; 3], ..ray },
        Ray { direction: [0.0, nan, 1.0], ..ray },
        Ray { direction: [0.0, 0.0, inf], ..ray },
        Ray { origin: [nan, 0.1, 0.0], ..ray },
        Ray { origin: [0.1, 0.1, -inf], ..ray },
        ray.between(nan, 2.0),
        ray.between(0.0, nan),
        ray.between(2.0, 0.5),
        ray.between(inf, inf),
        ray.between(-inf, -inf),
    ] {
        assert!(!mesh.any_hit(&none) && mesh.first_hit(&none).is_none() && mesh.hits(&none).is_empty(), "{none:?}");
        assert_eq!(mesh.first_hits(&[none, ray]).iter().filter(|hit| hit.is_some()).count(), 1);
    }
    // Directions of extreme lengths.
    for length in [5e-324, 1e-300, 1e300] {
        let hit = mesh.first_hit(&Ray { direction: [0.0, 0.0, length], ..ray }).is_some();
        assert!(hit, "{length:e}");
    }
    assert!(mesh.any_hit(&Ray { direction: [0.0, 0.0, -1.0], ..ray }.between(-inf, 0.0)));
    assert!(!mesh.any_hit(&Ray { direction: [0.0, 0.0, -1.0], ..ray }));
    for point in [[nan, 0.0, 0.0], [0.0, inf, 0.0]] {
        assert!(
            mesh.nearest(point).is_none()
                && mesh.winding_number(point).is_nan()
                && mesh.signed_distance(point).is_nan()
        );
    }
    for radius in [nan, -1.0] {
        assert!(mesh.nearest_within([0.0; 3], radius).is_none());
    }
}

/// Triangles that are segments or points are never hit, but are nearest by their distance. Many copies of a triangle
/// make a deep tree.
#[test]
fn triangles_without_area() {
    let vertices = [[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [3.0, 0.0, 1.0]];
    let mesh = Mesh::build(&vertices, &[[0, 1, 2], [0, 0, 0], [2, 1, 1]]).unwrap();
    for x in [0.0f32, 0.5, 1.0, 3.0] {
        let ray = Ray::new([x, 0.0, 0.0], [0.0, 0.0, 1.0]);
        assert!(!mesh.any_hit(&ray) && mesh.hits(&ray).is_empty());
        let near = mesh.nearest([x, 2.0, 1.0]).unwrap();
        assert_eq!((near.triangle, near.distance2), (0, 4.0));
    }
    // In the plane of a triangle.
    let mesh = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]; 1000]).unwrap();
    assert!(!mesh.any_hit(&Ray::new([-1.0, 0.2, 0.0], [1.0, 0.0, 0.0])));
    let ray = Ray::new([0.2, 0.2, -1.0], [0.0, 0.0, 1.0]);
    assert_eq!(mesh.first_hit(&ray).unwrap().triangle, 0);
    assert!(mesh.hits(&ray).iter().map(|hit| hit.triangle).eq(0..1000));
    assert!(mesh.k_hits(&ray, 3).iter().map(|hit| hit.triangle).eq(0..3));
    assert_eq!(mesh.nearest([5.0, 5.0, 5.0]).unwrap().triangle, 0);
}
