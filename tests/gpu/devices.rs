//! All available devices, and one device used by several threads.

use ropewalk::gpu::{Bvh, Device, Fof, Points, devices, on_stream};
use ropewalk::{Csr, Nearest};

use common::clouds;

fn labels(device: Device) -> Vec<i32> {
    let cloud = clouds::clustered::<f32, 3>();
    let points = Points::new(&cloud.points, device).unwrap();
    Fof::new(cloud.radii[1]).run(&points).unwrap().read().unwrap().labels().as_slice().to_vec()
}

/// Labels equal those of the CPU. If there are two or more devices, all run at the same time.
#[test]
fn devices_agree() {
    let cloud = clouds::clustered::<f32, 3>();
    let expected = ropewalk::Fof::new(cloud.radii[1]).run(&cloud.points).unwrap();
    std::thread::scope(|scope| {
        let runs: Vec<_> = devices().into_iter().map(|device| scope.spawn(move || labels(device))).collect();
        assert!(!runs.is_empty(), "no device");
        for run in runs {
            assert_eq!(run.join().unwrap(), expected.labels().as_slice());
        }
    });
}

#[test]
fn a_device_serves_several_threads() {
    let device = Device::first().unwrap();
    let expected = labels(device);
    std::thread::scope(|scope| {
        for run in [0; 3].map(|_| scope.spawn(|| labels(device))) {
            assert_eq!(run.join().unwrap(), expected);
        }
    });
}

/// Trees that two threads build at the same time, and a tree that both search, have the results of the CPU.
#[test]
fn two_threads_build_and_search() {
    let (device, cloud) = (Device::first().unwrap(), clouds::clustered::<f32, 3>());
    let radius = cloud.radii[1];
    let expected = ropewalk::Bvh::build(&cloud.points).unwrap();
    let shared = Bvh::build(&cloud.points, device).unwrap();
    let neighbors = |tree: &Bvh<f32, 3>| tree.neighbors(radius).unwrap().read().unwrap().sorted();
    std::thread::scope(|scope| {
        let runs = [0; 2].map(|_| {
            scope.spawn(|| {
                let own = Bvh::build(&cloud.points, device).unwrap();
                let nearest = shared.nearest_neighbors(Nearest::new(3)).unwrap().read().unwrap();
                (own.read().unwrap(), neighbors(&own), neighbors(&shared), nearest)
            })
        });
        for run in runs {
            let (own, of_own, of_shared, nearest) = run.join().unwrap();
            assert!(own == expected);
            let lists: Csr<u32> = expected.neighbors(radius).sorted();
            assert!(of_own == lists && of_shared == lists);
            assert_eq!(nearest, expected.nearest_neighbors(Nearest::new(3)));
        }
    });
}

/// A thread launches a build on one stream and searches on others, and reads the results on its own.
#[test]
fn a_stream_per_call() {
    let (device, cloud) = (Device::first().unwrap(), clouds::clustered::<f32, 3>());
    let expected = ropewalk::Bvh::build(&cloud.points).unwrap();
    let tree = on_stream(3, || Bvh::build(&cloud.points, device)).unwrap();
    let count = |number, &radius: &f64| on_stream(number, || tree.count_neighbors(radius)).unwrap();
    let counts: Vec<_> = (0..).zip(&cloud.radii).map(|(number, radius)| count(number, radius)).collect();
    for (counts, &radius) in counts.iter().zip(&cloud.radii) {
        assert_eq!(counts.read().unwrap(), expected.count_neighbors(radius));
    }
    // A stream that shares its place among 128 streams with another one.
    let again = count(131, &cloud.radii[0]);
    assert_eq!(on_stream(3, || again.read()).unwrap(), expected.count_neighbors(cloud.radii[0]));
}
