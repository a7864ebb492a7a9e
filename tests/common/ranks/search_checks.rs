//! Comparison of searches across ranks with one process and with the definitions, for distributed points and queries.

use std::ops::Range;

use ropewalk::distributed::{Bvh, Communicator, Neighbor, Reduction};
use ropewalk::{Aabb, Csr, Nearest, Scalar, Sphere};

use super::distributions::Distribution;
use crate::clouds::Cloud;
use crate::oracle::{self, NearestQuery, Side};
use crate::random::Random;

/// All points, in open space or a periodic box, and this rank's range of them.
pub struct Case<'a, S, const D: usize> {
    pub points: &'a [[S; D]],
    pub side: Side,
    pub range: Range<usize>,
    /// One process's tree of all points, and the points wrapped into the box.
    pub one: ropewalk::Bvh<S, D>,
    wrapped: Vec<[S; D]>,
    /// `true` if there are few enough points to compare with the definitions.
    is_small: bool,
    context: String,
}

/// A nearest-neighbour query: `k` points within a radius, with or without an excluded point.
#[derive(Clone, Copy, Debug)]
pub struct NearestOptions {
    pub k: usize,
    pub radius: f64,
    pub exclusion: Exclusion,
}

#[derive(Clone, Copy, Debug)]
pub enum Exclusion {
    Nothing,
    Own,
    Index(u32),
}

impl NearestOptions {
    fn nearest(self) -> Nearest {
        let all = Nearest::new(self.k).within(self.radius);
        match self.exclusion {
            Exclusion::Nothing => all,
            Exclusion::Own => all.excluding_self(),
            Exclusion::Index(index) => all.excluding(index),
        }
    }

    /// Returns the options for one query, given its number.
    fn nearest_of(self, query: usize) -> Nearest {
        let exclusion =
            if let Exclusion::Own = self.exclusion { Exclusion::Index(query as u32) } else { self.exclusion };
        Self { exclusion, ..self }.nearest()
    }
}

pub fn some(k: usize) -> NearestOptions {
    NearestOptions { k, radius: f64::INFINITY, exclusion: Exclusion::Nothing }
}

pub fn others(k: usize) -> NearestOptions {
    NearestOptions { exclusion: Exclusion::Own, ..some(k) }
}

/// Returns the lists as 64-bit indices, each ascending.
pub fn rows(lists: &Csr<u32>) -> Vec<Vec<u64>> {
    let sorted = |list: &[u32]| {
        let mut list: Vec<u64> = list.iter().map(|&index| index.into()).collect();
        list.sort_unstable();
        list
    };
    lists.iter().map(sorted).collect()
}

fn wide(list: Vec<u32>) -> Vec<u64> {
    list.into_iter().map(u64::from).collect()
}

impl<'a, S: Scalar, const D: usize> Case<'a, S, D> {
    pub fn new(ranks: &dyn Communicator, cloud: &'a Cloud<S, D>, side: Side, share: Distribution) -> Self {
        let points = &cloud.points[..];
        let one = match side {
            None => ropewalk::Bvh::build(points),
            Some(side) => ropewalk::Bvh::build_periodic(points, side),
        };
        Self {
            points,
            side,
            range: share.of(points.len(), ranks),
            one: one.unwrap(),
            wrapped: points.iter().map(|point| oracle::wrap_point(point, side)).collect(),
            is_small: points.len() < 500,
            context: format!("{}, {D} dimensions, {side:?}, {share:?}", cloud.name),
        }
    }

    pub fn build<'r>(&self, ranks: &'r dyn Communicator) -> Bvh<'r, S, D> {
        let own = &self.points[self.range.clone()];
        let bvh = match self.side {
            None => Bvh::build(ranks, own),
            Some(side) => Bvh::build_periodic(ranks, own, side),
        };
        let bvh = bvh.unwrap();
        assert_eq!((bvh.len(), bvh.is_empty()), (self.points.len() as u64, self.points.is_empty()));
        assert!(bvh.tree().len() == bvh.domain().points().len() && bvh.domain().own().eq(as_ids(&self.range)));
        bvh
    }

    pub fn check_stored(&self, ranks: &dyn Communicator, bvh: &Bvh<'_, S, D>, radius: f64) {
        let context = format!("{}, radius {radius}", self.context);
        let lists = bvh.neighbors(radius).unwrap();
        let balls: Vec<_> = self.points[self.range.clone()].iter().map(|&center| Sphere { center, radius }).collect();
        let expected = rows(&self.one.query_all(&balls));
        assert!(lists.iter().eq(&expected), "{context}");
        if self.is_small {
            for (own, point) in lists.iter().zip(self.range.clone()) {
                let defined = oracle::in_ball(&self.wrapped, &self.wrapped[point], radius, self.side);
                assert_eq!(own, wide(defined), "{context}, point {point}");
            }
        }
        let counts: Vec<u64> = lists.iter().map(|list| list.len() as u64).collect();
        assert_eq!(bvh.count_neighbors(radius).unwrap(), counts, "{context}");
        let pairs = as_ids(&self.range).zip(&expected).flat_map(|(i, list)| list.iter().map(move |&j| [i, j]));
        let pairs: Vec<[u64; 2]> = pairs.filter(|pair| pair[0] < pair[1]).collect();
        assert_eq!(bvh.pairs(radius).unwrap(), pairs, "{context}");
        let mut all = [pairs.len() as u64];
        ranks.all_reduce(&mut all, Reduction::Sum).unwrap();
        assert_eq!(bvh.count_pairs(radius).unwrap(), all[0], "{context}");
    }

    /// Compares nearest neighbours of all stored points, and of this rank's queries.
    pub fn check_nearest(&self, bvh: &Bvh<'_, S, D>, queries: &[[S; D]], own: &Range<usize>, options: NearestOptions) {
        let lists = bvh.nearest_neighbors(options.nearest()).unwrap();
        self.check_lists(&lists, self.points, &self.range, options);
        let lists = bvh.nearest_all(&queries[own.clone()], options.nearest()).unwrap();
        self.check_lists(&lists, queries, own, options);
    }

    fn check_lists(&self, lists: &Csr<Neighbor>, queries: &[[S; D]], own: &Range<usize>, options: NearestOptions) {
        assert_eq!(lists.len(), own.len(), "{}, {options:?}", self.context);
        for (list, query) in lists.iter().zip(own.clone()) {
            let list: Vec<(u64, f64)> = list.iter().map(|near| (near.index, near.distance2)).collect();
            let expected = self.one.nearest(queries[query], options.nearest_of(query));
            let expected: Vec<(u64, f64)> = expected.iter().map(|near| (near.index.into(), near.distance2)).collect();
            assert_eq!(list, expected, "{}, {options:?}, query {query}: {:?}", self.context, queries[query]);
        }
    }

    /// Compares nearest neighbours with the definition.
    pub fn check_nearest_defined(
        &self,
        bvh: &Bvh<'_, S, D>,
        queries: &[[S; D]],
        own: &Range<usize>,
        k: usize,
        radius: f64,
    ) {
        let lists = bvh.nearest_all(&queries[own.clone()], Nearest::new(k).within(radius)).unwrap();
        for (list, query) in lists.iter().zip(own.clone()) {
            let list: Vec<(u32, f64)> = list.iter().map(|near| (near.index as u32, near.distance2)).collect();
            let defined =
                oracle::nearest(&self.wrapped, &queries[query], NearestQuery::new(k).within(radius), self.side);
            assert_eq!(list, defined, "{}, the {k} nearest within {radius} of {:?}", self.context, queries[query]);
        }
    }

    pub fn check_queries(&self, bvh: &Bvh<'_, S, D>, points: &[[S; D]], own: &Range<usize>, radius: f64) {
        let context = format!("{}, around, radius {radius}", self.context);
        let balls: Vec<Sphere<S, D>> = points.iter().map(|&center| Sphere { center, radius }).collect();
        let lists = bvh.query_all(&balls[own.clone()]).unwrap();
        let expected = rows(&self.one.query_all(&balls[own.clone()]));
        assert_eq!(lists.iter().collect::<Vec<_>>(), expected, "{context}");
        let counts: Vec<u64> = expected.iter().map(|list| list.len() as u64).collect();
        assert_eq!(bvh.count_all(&balls[own.clone()]).unwrap(), counts, "{context}");
        if self.is_small {
            for (list, query) in lists.iter().zip(own.clone()) {
                let defined = oracle::in_ball(&self.wrapped, &points[query], radius, self.side);
                assert_eq!(list, wide(defined), "{context}, {:?}", points[query]);
            }
        }
        let corner = |point: &[S; D], by: f64| point.map(|x| S::from_f64(Into::<f64>::into(x) + by));
        let boxes: Vec<Aabb<S, D>> =
            points.iter().map(|point| Aabb { lo: corner(point, -radius), hi: corner(point, 0.5 * radius) }).collect();
        let lists = bvh.query_all(&boxes[own.clone()]).unwrap();
        let expected = rows(&self.one.query_all(&boxes[own.clone()]));
        assert_eq!(lists.iter().collect::<Vec<_>>(), expected, "{context}, boxes");
        let counts: Vec<u64> = expected.iter().map(|list| list.len() as u64).collect();
        assert_eq!(bvh.count_all(&boxes[own.clone()]).unwrap(), counts, "{context}, boxes");
        let is_defined = |query: &usize| points[*query].iter().all(|&x| Into::<f64>::into(x).is_finite());
        for query in own.clone().filter(|query| self.is_small && radius.is_finite() && is_defined(query)) {
            let defined = oracle::in_box(&self.wrapped, &boxes[query].lo, &boxes[query].hi, self.side);
            assert_eq!(expected[query - own.start], wide(defined), "{context}, {:?}", boxes[query]);
        }
    }
}

fn as_ids(range: &Range<usize>) -> Range<u64> {
    range.start as u64..range.end as u64
}

/// Returns stored points, positions between and beyond them, distant positions, and positions without neighbours.
pub fn queries<S: Scalar, const D: usize>(cloud: &Cloud<S, D>) -> Vec<[S; D]> {
    let mut random = Random::new(cloud.points.len() as u64 + 77);
    let n = cloud.points.len();
    let mut queries: Vec<[S; D]> = (0..n.min(12)).map(|_| cloud.points[random.below(n)]).collect();
    for _ in 0..12 {
        let (a, b) = (random.below(n.max(1)), random.below(n.max(1)));
        let (at, side) = (2.0 * random.unit() - 0.5, cloud.side);
        queries.push(std::array::from_fn(|axis| {
            let of = |i: usize| cloud.points.get(i).map_or(0.0, |point| point[axis].into());
            S::from_f64(of(a) + at * (of(b) - of(a)) + if axis % 2 == 0 { 0.01 * side } else { 0.0 })
        }));
    }
    queries.push([S::from_f64(-30.0 * cloud.side); D]);
    queries.push([S::from_f64(3.0 * cloud.side); D]);
    queries.push([S::from_f64(f64::NAN); D]);
    queries.push([S::INFINITY; D]);
    let first = queries[0];
    queries.extend([first; 3]);
    queries
}
