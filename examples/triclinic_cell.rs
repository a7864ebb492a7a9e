//! Neighbours in a triclinic cell: coordination shells of a crystal from one atom, and the same energy per atom from a
//! larger cell.
//!
//! `cargo run --release --example triclinic_cell`

use std::collections::BTreeMap;

use ropewalk::Result;
use ropewalk::geometry::Cell;
use ropewalk::search::CellBvh;

/// The primitive vectors of a face-centred cubic crystal whose cubic cell has a side of 1.
const PRIMITIVE: [[f64; 3]; 3] = [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];

/// The distance at which the Lennard-Jones potential is 0, in units of the side of the cubic cell.
const SIGMA: f64 = 0.65;

/// Returns the Lennard-Jones energy per atom, with neighbours within `cutoff`.
fn energy(bvh: &CellBvh<3>, cutoff: f64) -> Result<f64> {
    let potential = |distance2: f64| {
        let inverse6 = (SIGMA * SIGMA / distance2).powi(3);
        4.0 * (inverse6 * inverse6 - inverse6)
    };
    let energies = bvh.map_neighbors(cutoff, |_, near| {
        let others = near.iter().filter(|near| near.distance2 > 0.0);
        // Each of the two atoms of a pair has half of its energy.
        others.map(|near| 0.5 * potential(near.distance2)).sum::<f64>()
    })?;
    Ok(energies.iter().sum::<f64>() / bvh.len() as f64)
}

fn main() -> Result<()> {
    let cell = Cell::new(PRIMITIVE)?;
    let atom = CellBvh::build(&[[0.0, 0.0, 0.0]], &cell)?;
    println!("a cell of volume {:.2} with one atom, and heights of {:.3}", cell.volume(), cell.heights()[0]);

    // The radius is larger than the cell, so all neighbours are images of the atom.
    let shells = atom.map_neighbors(2.0, |_, near| {
        let mut shells = BTreeMap::new();
        near.iter().for_each(|near| *shells.entry((near.distance2 * 2.0).round() as u32).or_insert(0) += 1);
        shells
    })?;
    println!("\ndistance  atoms");
    for (twice, count) in shells[0].iter().filter(|&(&twice, _)| twice > 0) {
        println!("{:>8.4}{count:>7}", (f64::from(*twice) / 2.0).sqrt());
    }

    // Six copies of the atom along each vector, in a cell that is six times as large.
    let copies: Vec<[f64; 3]> = (0..216).map(|i| cell.translation(&[i % 6, i / 6 % 6, i / 36])).collect();
    let large = CellBvh::build(&copies, &Cell::new(PRIMITIVE.map(|vector| vector.map(|x| 6.0 * x)))?)?;
    println!("\nenergy per atom from   1 atom:  {:.6}", energy(&atom, 2.5)?);
    println!("energy per atom from {} atoms: {:.6}", large.len(), energy(&large, 2.5)?);

    // The vector to a neighbour: its coordinates, plus its shift times the vectors, minus the coordinates of the atom.
    let lists = large.half_neighbors(0.75)?;
    let far = lists.of(0).iter().find(|near| near.shift != [0; 3]);
    if let Some(near) = far {
        let translation = large.cell().translation(&near.shift);
        let at: Vec<f64> = (0..3).map(|k| copies[near.index as usize][k] + translation[k] - copies[0][k]).collect();
        println!("\natom {} at shift {:?} is at {at:?} from atom 0", near.index, near.shift);
    }
    Ok(())
}
