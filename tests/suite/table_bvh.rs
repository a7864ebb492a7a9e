//! A tree of points whose type is known at run time, compared with the definitions in all dimensions and both
//! precisions.

use common::random::Random;
use ropewalk::geometry::BoxSize;
use ropewalk::search::Neighbor;
use ropewalk::{ErrorKind, Nearest};
use ropewalk_table::{Bvh, Points, Table, TreeFormat, nearest_to, pairs};

const N: usize = if cfg!(debug_assertions) { 100 } else { 300 };

/// Coordinates in 64 bits, and a flag for a table of 32 bits.
#[derive(Clone)]
struct Rows {
    dim: usize,
    values: Vec<f64>,
    is_f32: bool,
}

impl Rows {
    /// Returns multiples of 1/8, for which ties occur and sums are exact, or any numbers in the box.
    fn random(random: &mut Random, n: usize, dim: usize, is_f32: bool, ties: bool, outside: f64) -> Self {
        let mut value = || match ties {
            true => ((4.0 + 2.0 * outside) * 8.0 * random.unit()).floor() / 8.0 - outside,
            false => 4.0 * random.unit(),
        };
        let narrow = |x: f64| if is_f32 { f64::from(x as f32) } else { x };
        Self { dim, values: (0..n * dim).map(|_| narrow(value())).collect(), is_f32 }
    }

    fn table(&self) -> Points {
        if self.is_f32 {
            Points::F32(Table::new(self.dim, self.values.iter().map(|&x| x as f32).collect()).unwrap())
        } else {
            Points::F64(Table::new(self.dim, self.values.clone()).unwrap())
        }
    }

    fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.dim..][..self.dim]
    }
}

/// Returns the squared distance by definition, for coordinates with exact remainders.
fn distance2(a: &[f64], b: &[f64], sides: Option<&[f64]>) -> f64 {
    let axis = |k: usize| {
        let Some(sides) = sides else { return (a[k] - b[k]).abs() };
        let wrap = |x: f64| if (0.0..=sides[k]).contains(&x) { x } else { x.rem_euclid(sides[k]) };
        let d = (wrap(a[k]) - wrap(b[k])).abs();
        d.min((sides[k] - d).max(0.0))
    };
    (0..a.len()).map(|k| axis(k) * axis(k)).fold(0.0, |sum, square| sum + square)
}

/// Returns the points within each radius.
fn within(points: &Rows, queries: &Rows, radii: &[f64], sides: Option<&[f64]>) -> Vec<Vec<u32>> {
    let near = |i: usize, j: usize| distance2(queries.row(i), points.row(j), sides) <= radii[i] * radii[i];
    (0..queries.len()).map(|i| (0..points.len()).filter(|&j| near(i, j)).map(|j| j as u32).collect()).collect()
}

fn nearest(points: &Rows, queries: &Rows, k: usize, sides: Option<&[f64]>) -> Vec<Vec<Neighbor>> {
    let list = |i: usize| {
        let distance2 = |j: usize| distance2(queries.row(i), points.row(j), sides);
        let mut all: Vec<Neighbor> =
            (0..points.len()).map(|j| Neighbor { index: j as u32, distance2: distance2(j) }).collect();
        all.sort_by(|a, b| a.distance2.total_cmp(&b.distance2).then(a.index.cmp(&b.index)));
        all.truncate(k);
        all
    };
    (0..queries.len()).map(list).collect()
}

/// Runs all queries of a tree.
fn ask(points: &Rows, queries: &Rows, sides: Option<&[f64]>, random: &mut Random) {
    let size = BoxSize::from(sides.map(<[f64]>::to_vec));
    let what = format!("{} dimensions, {} {}, {sides:?}", points.dim, points.is_f32, queries.is_f32);
    let (table, asked) = (points.table(), queries.table());
    let bvh = Bvh::build_periodic(&table, size.clone()).unwrap();
    assert_eq!((bvh.len(), bvh.dim(), bvh.box_size(), bvh.is_empty()), (points.len(), points.dim, &size, false));
    let radius = 1.0 * (points.dim as f64).sqrt() / 2.0;
    let radii: Vec<f64> = (0..queries.len()).map(|_| (8.0 * radius * random.unit()).round() / 8.0).collect();

    let expected = within(points, queries, &radii, sides);
    assert!(bvh.query(&asked, &radii[..]).unwrap().iter().eq(&expected), "{what}: radii");
    assert!(bvh.count(&asked, &radii[..]).unwrap().into_iter().eq(expected.iter().map(|list| list.len() as u32)));
    let expected = within(points, queries, &vec![radius; queries.len()], sides);
    assert!(bvh.query(&asked, radius).unwrap().iter().eq(&expected), "{what}: one radius");
    let all = nearest(points, queries, N, sides);
    for k in [0, 1, 7, N + 5] {
        let expected: Vec<_> = all.iter().map(|list| list[..k.min(N)].to_vec()).collect();
        assert!(bvh.nearest(&asked, k).unwrap().iter().eq(&expected), "{what}: {k} nearest");
        assert!(nearest_to(&asked, &table, k, size.clone()).unwrap().iter().eq(&expected), "{what}: {k} nearest to");
    }
    let expected = within(points, points, &[radius; N], sides);
    assert!(bvh.neighbors(radius).unwrap().iter().eq(&expected), "{what}: neighbours");
    assert!(bvh.count_neighbors(radius).unwrap().into_iter().eq(expected.iter().map(|list| list.len() as u32)));
    let expected: Vec<[u32; 2]> =
        (0..).zip(&expected).flat_map(|(i, list)| list.iter().filter(move |&&j| j > i).map(move |&j| [i, j])).collect();
    let found = bvh.pairs(radius).unwrap();
    assert_eq!(found.indices.as_slice(), expected.as_flattened(), "{what}: pairs");
    let distance2 = |&[i, j]: &[u32; 2]| distance2(points.row(i as usize), points.row(j as usize), sides);
    assert!(found.distances2.iter().copied().eq(expected.iter().map(distance2)));
    assert_eq!(pairs(&table, radius, size).unwrap(), found);
    let own = Nearest::new(3).excluding_self();
    assert_eq!(bvh.nearest_neighbors(own).unwrap(), bvh.nearest(&table, own).unwrap());
    // A clone gives the same results, whether or not it has a 64-bit tree.
    assert_eq!(bvh.clone().query(&asked, radius).unwrap(), bvh.query(&asked, radius).unwrap());
}

#[test]
fn all_kinds() {
    let mut random = Random::new(3);
    for dim in 1..=10 {
        for (points, queries) in [(true, true), (true, false), (false, true), (false, false)] {
            for ties in [true, false] {
                let rows = Rows::random(&mut random, N, dim, points, ties, 0.0);
                let asked = Rows::random(&mut random, 40, dim, queries, ties, 0.0);
                ask(&rows, &asked, None, &mut random);
                ask(&rows, &asked, Some(&vec![4.0; dim]), &mut random);
            }
            // Some points are outside of the box.
            let rows = Rows::random(&mut random, N, dim, points, true, 3.0);
            let asked = Rows::random(&mut random, 40, dim, queries, true, 9.0);
            ask(&rows, &asked, Some(&vec![4.0; dim]), &mut random);
            let sides: Vec<f64> = (0..dim).map(|k| [4.0, 8.0, 5.0][k % 3]).collect();
            ask(&rows, &asked, Some(&sides), &mut random);
        }
    }
}

/// Queries whose results would change if they were rounded to the precision of the points.
#[test]
fn queries_of_more_bits_than_the_points() {
    for dim in 1..=3 {
        let row = |x: f64| [&[x][..], &vec![0.0; dim - 1]].concat();
        let points = Points::F32(Table::new(dim, row(0.0).iter().map(|&x| x as f32).collect()).unwrap());
        let bvh = Bvh::build_periodic(&points, 8.0).unwrap();
        let query = |x: f64| Points::F64(Table::new(dim, row(x)).unwrap());
        let beyond = 1.0 + f64::EPSILON;
        assert_eq!(bvh.count(&query(1.0), 1.0).unwrap(), [1]);
        assert_eq!(bvh.count(&query(beyond), 1.0).unwrap(), [0]);
        assert_eq!(bvh.nearest(&query(beyond), 1).unwrap().of(0)[0].distance2, beyond * beyond);
        // 7 + 2^-40 from the other side, wrapped from outside of the box.
        let outside = -9.0 + 2.0f64.powi(-40);
        assert_eq!(bvh.count(&query(outside), 1.0).unwrap(), [1]);
        assert_eq!(bvh.count(&query(outside - 2.0f64.powi(-39)), 1.0).unwrap(), [0]);
    }
}

#[test]
fn empty_ones() {
    for dim in [1, 2, 3, 5, 10] {
        let none = Points::F32(Table::new(dim, vec![]).unwrap());
        let one = Points::F64(Table::new(dim, vec![0.1; dim]).unwrap());
        let bvh = Bvh::build_periodic(&none, 1.0).unwrap();
        assert!(bvh.is_empty() && bvh.neighbors(1.0).unwrap().is_empty() && bvh.pairs(1.0).unwrap().indices.is_empty());
        assert_eq!(
            (bvh.query(&one, 1.0).unwrap().offsets(), &bvh.count(&one, 1.0).unwrap()[..]),
            (&[0, 0][..], &[0][..])
        );
        assert_eq!(bvh.nearest(&one, 3).unwrap().offsets(), [0, 0]);
        assert!(bvh.nearest_neighbors(3).unwrap().is_empty());
        let bvh = Bvh::build(&one).unwrap();
        assert!(bvh.query(&none, 1.0).unwrap().is_empty() && bvh.nearest(&none, 1).unwrap().is_empty());
        assert_eq!(bvh.nearest_neighbors(usize::MAX).unwrap().of(0).len(), 1);
        assert_eq!(bvh.nearest(&one, usize::MAX).unwrap().of(0).len(), 1);
    }
}

#[test]
fn bad_input() {
    let table = |dim, values: &[f64]| Points::F64(Table::new(dim, values.to_vec()).unwrap());
    let points = table(2, &[0.0, 0.0, 1.0, 1.0]);
    for bvh in [Bvh::build_periodic(&points, 4.0).unwrap(), Bvh::build(&points).unwrap()] {
        for bad in [f64::NAN, f64::INFINITY] {
            let error = bvh.query(&table(2, &[0.0, 1.0, 0.0, bad]), 1.0).unwrap_err();
            assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(1)));
            assert_eq!(bvh.nearest(&table(2, &[bad, 0.0]), 1).unwrap_err().index(), Some(0));
        }
        assert_eq!(bvh.count(&table(2, &[1e200, 0.0]), 1.0).unwrap_err().kind(), ErrorKind::Input);
        for radius in [f64::NAN, -1.0, f64::INFINITY] {
            let kinds = [
                bvh.query(&points, radius).unwrap_err(),
                bvh.count(&points, radius).unwrap_err(),
                bvh.neighbors(radius).unwrap_err(),
                bvh.count_neighbors(radius).unwrap_err(),
                bvh.pairs(radius).unwrap_err(),
                bvh.query(&points, &[1.0, radius][..]).unwrap_err(),
            ];
            assert!(
                kinds.iter().all(|error| error.kind() == ErrorKind::Parameter && error.parameter() == Some("radius"))
            );
            assert_eq!(kinds[5].index(), Some(1));
        }
        for radius in [f64::NAN, -1.0] {
            assert_eq!(bvh.nearest(&points, Nearest::new(1).within(radius)).unwrap_err().kind(), ErrorKind::Parameter);
            assert!(bvh.nearest_neighbors(Nearest::new(1).within(radius)).is_err());
        }
        let message = bvh.query(&points, &[1.0][..]).unwrap_err().to_string();
        assert_eq!(message, "1 radii for 2 centres; expected one per centre, or one for all");
        assert_eq!(bvh.query(&table(3, &[0.0; 3]), 1.0).unwrap_err().kind(), ErrorKind::Parameter);
    }
    assert_eq!(Bvh::build(&table(2, &[0.0, f64::NAN])).unwrap_err().index(), Some(0));
    assert!(Bvh::build_periodic(&points, -1.0).is_err() && Bvh::build_periodic(&points, [1.0, 1.0, 1.0]).is_err());
    assert!(Bvh::build_periodic(&table(4, &[0.0; 4]), [1.0, 1.0, 1.0]).is_err());
}

/// Each format has the text of the generic tree, and is refused for points with more coordinates than it shows.
#[test]
fn pictures_of_trees() {
    let mut random = Random::new(7);
    for (dim, is_f32) in (1..=10).flat_map(|dim| [(dim, true), (dim, false)]) {
        let rows = Rows::random(&mut random, 100, dim, is_f32, true, 0.0);
        let bvh = Bvh::build(&rows.table()).unwrap();
        for (format, most) in [(TreeFormat::Graphviz, 10), (TreeFormat::Tikz, 2), (TreeFormat::Vtk, 3)] {
            let mut text = vec![];
            match bvh.write(format, &mut text) {
                Ok(()) => assert!(dim <= most && !text.is_empty(), "{format:?} in {dim} dimensions"),
                Err(error) => assert!(dim > most && text.is_empty() && error.kind() == ErrorKind::Unsupported),
            }
        }
    }
    let points = Rows::random(&mut random, 100, 2, true, false, 0.0).table();
    let Points::F32(table) = &points else { unreachable!() };
    let (generic, bvh) = (ropewalk::Bvh::build(table.rows::<2>().unwrap()).unwrap(), Bvh::build(&points).unwrap());
    assert_eq!(bvh.n_nodes(), generic.n_nodes());
    let [mut dot, mut tikz, mut vtk] = [const { Vec::new() }; 3];
    generic.write_graphviz(&mut dot).unwrap();
    generic.write_tikz(&mut tikz).unwrap();
    generic.write_vtk(&mut vtk).unwrap();
    for (format, expected) in [(TreeFormat::Graphviz, dot), (TreeFormat::Tikz, tikz), (TreeFormat::Vtk, vtk)] {
        let mut text = vec![];
        bvh.write(format, &mut text).unwrap();
        assert!(text == expected, "{format:?}");
    }
    // A writer without space.
    assert_eq!(bvh.write(TreeFormat::Vtk, &mut [0; 9][..]).unwrap_err().kind(), ErrorKind::Io);
}
