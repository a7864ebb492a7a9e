//! Compares results as columns on the device with `read`. Also tests points from coordinates on the device and memory
//! of other libraries.

use common::clouds;
use ropewalk::cluster::Edge;
use ropewalk::gpu::{Bvh, Dbscan, Device, DeviceVec, Fof, MinimumSpanningTree, Points, on_one_stream};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

fn widened(offsets: &DeviceVec<u32>) -> Vec<usize> {
    offsets.read().unwrap().into_iter().map(|offset| offset as usize).collect()
}

#[test]
fn columns_are_what_read_gives() {
    let cloud = clouds::clustered::<f32, 3>();
    let coordinates = DeviceVec::new(cloud.points.as_flattened(), device()).unwrap();
    let bvh =
        on_one_stream(|| Bvh::from_points(&Points::<_, 3>::from_device(&coordinates, cloud.side).unwrap())).unwrap();
    assert_eq!(bvh.read().unwrap().nodes(), ropewalk::Bvh::build_periodic(&cloud.points, cloud.side).unwrap().nodes());

    for min_samples in [1, 2, 5] {
        let labels = Dbscan::new(cloud.radii[1], min_samples).run_on(&bvh).unwrap();
        let read = labels.read().unwrap();
        let core: Vec<u32> = (0..cloud.points.len()).filter(|&i| read.is_core(i)).map(|i| i as u32).collect();
        assert_eq!(labels.core_indices().unwrap().read().unwrap(), core, "{min_samples}");
    }
    let halos = Fof::new(cloud.radii[1]).min_members(3).run_on(&bvh).unwrap();
    let read = halos.read().unwrap();
    assert_eq!(widened(&halos.offsets()), read.offsets());
    assert_eq!(halos.all_members().read().unwrap(), read.all_members());
    let mut halo_of = vec![-1; cloud.points.len()];
    (0..read.len()).for_each(|halo| read.members(halo).iter().for_each(|&i| halo_of[i as usize] = halo as i32));
    assert_eq!(halos.halo_of_points().unwrap().read().unwrap(), halo_of);

    let tree = MinimumSpanningTree::new().run_on(&bvh).unwrap();
    let read = tree.read().unwrap();
    let ends: Vec<u32> = read.edges().iter().flat_map(|edge| [edge.low, edge.high]).collect();
    assert_eq!(tree.ends().unwrap().read().unwrap(), ends);
    let weights: Vec<f64> = read.edges().iter().map(Edge::weight).collect();
    assert_eq!(tree.weights().unwrap().read().unwrap(), weights);

    let lists = bvh.neighbors(cloud.radii[0]).unwrap();
    assert_eq!(lists.values().read().unwrap(), lists.read().unwrap().values());
    assert_eq!(widened(&lists.offsets()), lists.read().unwrap().offsets());
    let nearest = bvh.nearest_neighbors(4).unwrap();
    let read = nearest.read().unwrap();
    let indices: Vec<u32> = read.values().iter().map(|neighbor| neighbor.index).collect();
    let distances2: Vec<f64> = read.values().iter().map(|neighbor| neighbor.distance2).collect();
    let distances: Vec<f64> =
        distances2.iter().map(|&distance2| ropewalk::geometry::distance_from_square(distance2)).collect();
    assert_eq!((nearest.k(), nearest.indices().read().unwrap()), (4, indices));
    assert_eq!(nearest.distances2().read().unwrap(), distances2);
    assert_eq!(nearest.distances().unwrap().read().unwrap(), distances);
}

#[test]
fn none_and_one() {
    for points in [vec![], vec![[1.0f64, 2.0]]] {
        let coordinates = DeviceVec::new(points.as_flattened(), device()).unwrap();
        let bvh = Bvh::from_points(&Points::<_, 2>::from_device(&coordinates, None::<f64>).unwrap()).unwrap();
        assert_eq!(bvh.len(), points.len());
        assert_eq!(Dbscan::new(1.0, 1).run_on(&bvh).unwrap().core_indices().unwrap().len(), points.len());
        let halos = Fof::new(1.0).run_on(&bvh).unwrap();
        assert_eq!(halos.halo_of_points().unwrap().read().unwrap(), vec![-1; points.len()]);
        let tree = MinimumSpanningTree::new().run_on(&bvh).unwrap();
        assert!(tree.ends().unwrap().is_empty() && tree.weights().unwrap().is_empty());
    }
}

/// Tests that need an NVIDIA GPU.
#[cfg(feature = "cuda")]
mod cuda {
    use super::*;
    use ropewalk::ErrorKind;

    #[test]
    fn there_and_back() {
        let device = Device::cuda(0).expect("a GPU of NVIDIA's");
        for n in [0, 1, 2, 3, 1000, 1 << 20] {
            let numbers: Vec<u32> = (0..n).collect();
            let kept = DeviceVec::new(&numbers, device).unwrap();
            let memory = std::thread::scope(|scope| scope.spawn(|| kept.to_cuda()).join().unwrap()).unwrap();
            assert_eq!((memory.address() % 256, memory.bytes()), (0, 4 * n as usize));
            // Only the exported memory keeps the numbers alive now, while other allocations take place.
            drop(kept);
            let others: Vec<DeviceVec<u32>> =
                (0..8).map(|_| DeviceVec::new(&vec![7; n as usize], device).unwrap()).collect();
            let copy = DeviceVec::<u32>::from_cuda(memory.address(), n as usize, device).unwrap();
            drop((memory, others));
            assert_eq!(copy.read().unwrap(), numbers);
        }
        device.wait_for_all().unwrap();
    }

    #[test]
    fn addresses_that_lie() {
        let device = Device::cuda(0).expect("a GPU of NVIDIA's");
        let memory = DeviceVec::new(&[1.0f32; 64], device).unwrap().to_cuda().unwrap();
        let host = [1.0f32; 64];
        let wrong = [host.as_ptr() as u64, 0, 4096, u64::MAX - 3];
        for (address, len) in wrong.map(|address| (address, 64)).into_iter().chain([(memory.address(), 1 << 31)]) {
            let error = DeviceVec::<f32>::from_cuda(address, len, device).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Input, "{address:#x}: {error}");
        }
        assert_eq!(DeviceVec::<f32>::from_cuda(memory.address(), 64, device).unwrap().read().unwrap(), [1.0; 64]);
    }
}
