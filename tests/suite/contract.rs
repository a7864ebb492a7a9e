//! Properties of the whole library: its types can cross threads, and `f32` gives the same results as `f64`.

use common::clouds;
use ropewalk::geometry::{Boundary, Space};
use ropewalk::halo::{CenterFinder, Centers, Particles};
use ropewalk::reference::BruteForce;
use ropewalk::search::{Hits, Neighbor};
use ropewalk::{Aabb, Bvh, Csr, Dbscan, Error, Fof, Halos, Labels, Nearest, Sphere};
use ropewalk_table::Catalog;

/// Compiling this function proves it.
#[test]
fn types_cross_threads() {
    fn send_sync<T: Send + Sync>() {}
    fn owned<T: Send + Sync + Unpin + 'static>() {}
    owned::<Bvh<f32, 3>>();
    owned::<BruteForce<f64, 2>>();
    owned::<(Aabb<f32, 3>, Sphere<f64, 2>, Space<3>, Boundary)>();
    owned::<(Csr<u32>, Csr<Neighbor>, Labels, Halos, Centers, Catalog)>();
    owned::<(Fof, Dbscan, CenterFinder, Nearest)>();
    owned::<Error>();
    owned::<(ropewalk_io::Snapshot, ropewalk_io::ReadOptions)>();
    send_sync::<Hits<'static, f32, 3, Sphere<f32, 3>>>();
    send_sync::<Particles<'static, [f64; 3]>>();
    // An error can be boxed like any other.
    let error: Box<dyn std::error::Error + Send + Sync> = Bvh::build(&[[f32::NAN]]).unwrap_err().into();
    assert!(error.to_string().contains("NaN"));
}

/// Points of `f32` have the same neighbours, distances and labels as the same points in `f64`, bit for bit.
#[test]
fn narrow_points_answer_as_wide_ones() {
    for cloud in clouds::all::<f32, 3>() {
        let wide: Vec<[f64; 3]> = cloud.points.iter().map(|point| point.map(f64::from)).collect();
        let (ours, theirs) = (Bvh::build(&cloud.points).unwrap(), Bvh::build(&wide).unwrap());
        for &radius in &cloud.radii {
            let what = format!("{}, radius {radius}", cloud.name);
            assert_eq!(ours.count_neighbors(radius), theirs.count_neighbors(radius), "{what}");
            assert_eq!(ours.count_pairs(radius), theirs.count_pairs(radius), "{what}");
            let [narrow, wide] = [Fof::new(radius).run_on(&ours), Fof::new(radius).run_on(&theirs)].map(Result::unwrap);
            assert_eq!(narrow, wide, "{what}");
            let dbscan = Dbscan::new(radius, 5);
            assert_eq!(dbscan.run_on(&ours).unwrap(), dbscan.run_on(&theirs).unwrap(), "{what}");
        }
        for k in [1, 7, 70] {
            assert!(ours.nearest_neighbors(k) == theirs.nearest_neighbors(k), "{}, {k} nearest", cloud.name);
        }
    }
}
