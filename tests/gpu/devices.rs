//! All available devices, and one device used by several threads.

use ropewalk::gpu::{Device, Fof, Points, devices};

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
