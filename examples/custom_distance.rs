//! Nearest neighbours by a user-defined distance, on the CPU and on a GPU: shops along a slope, on which each metre
//! uphill or downhill counts as three.
//!
//!     cargo run --release --features vulkan --example custom_distance
//!
//! `--features cuda` is for NVIDIA's GPUs. A user-defined distance must be at least the distance to the bounding box.

use cubecl::prelude::*;
use ropewalk::geometry::Distance;
use ropewalk::gpu::{self, Device, DistanceTest, Shape, cubecl};
use ropewalk::{Aabb, Bounded, Result, ValueBvh};

#[derive(Clone)]
struct Shop([f32; 2]);

impl Bounded<f32, 2> for Shop {
    fn bounds(&self) -> Aabb<f32, 2> {
        Aabb::point(self.0)
    }
}

impl Distance<f32, 2> for Shop {
    fn distance2_to(&self, point: &[f32; 2]) -> f64 {
        let [x, y] = [0, 1].map(|k| f64::from(self.0[k]) - f64::from(point[k]));
        x * x + 9.0 * y * y
    }
}

/// The numbers that a kernel sees.
impl Shape<f32, 2> for Shop {
    const NUMBERS: usize = 2;

    fn write(&self, numbers: &mut [f64], _: &mut Vec<f64>) {
        numbers.copy_from_slice(&self.0.map(f64::from));
    }
}

struct OnTheSlope;

#[cube]
impl DistanceTest for OnTheSlope {
    fn distance2(shop: &Array<f64>, at: u32, _: &Array<f64>, point: &Array<f64>) -> f64 {
        let (x, y) = (shop[at as usize] - point[0], shop[at as usize + 1] - point[1]);
        x * x + f64::new(9.0) * y * y
    }
}

impl gpu::Distance<f32, 2> for Shop {
    type Test = OnTheSlope;
}

fn main() -> Result<()> {
    // In whole metres, so that squares are exact and the same in all orders of their products.
    let shops: Vec<Shop> = (0..2000).map(|i| Shop([(i * 37 % 499) as f32, (i * 61 % 503) as f32])).collect();
    let places = [[250.0f32, 250.0], [0.0, 500.0], [90.0, 10.0]];

    let bvh = ValueBvh::build(shops.clone())?;
    let on_device = gpu::ValueBvh::build(shops.clone(), Device::first()?)?.nearest_all(&places, 2)?.read()?;
    for (place, found) in places.iter().zip(&on_device) {
        for near in found {
            let shop = shops[near.index as usize].0;
            println!("from {place:?} to {shop:?}: {:.3}", near.distance2.sqrt());
        }
        let best = shops.iter().map(|shop| shop.distance2_to(place)).fold(f64::INFINITY, f64::min);
        assert_eq!(found[0].distance2, best);
    }
    assert_eq!(on_device, bvh.nearest_all(&places, 2));
    Ok(())
}
