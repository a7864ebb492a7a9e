//! The order of the points of a view: group by group, thinned if there are too many.
//!
//! Groups are in depth-first order of their nesting. The members of a group, including those of all nested groups,
//! are therefore one range. Points without a row in the table come last.

use ropewalk::Result;
use ropewalk::internals::random::mixed;

use crate::errors::{invalid_parents, labels_length};

/// The default maximum number of points in a view.
pub const MAX_POINTS: usize = 2_000_000;
/// The number of members that a group keeps, if it has as many.
const MIN_MEMBERS: usize = 16;

/// Groups of points: halos, or clusters. Each row of the table is a group.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    /// The group of each point; negative for none.
    pub labels: &'a [i32],
    /// The label of each row of the table. Points with other labels are shown as points without a group.
    pub rows: &'a [u32],
    /// The row that contains each row, for nested groups; empty if groups are not nested.
    pub parents: &'a [Option<u32>],
}

/// The points of a view in their order.
pub struct Order {
    /// The point at each place. Points of one group are consecutive, in ascending order.
    pub points: Vec<u32>,
    /// The places where groups begin, in order, and the end of the last group.
    pub starts: Vec<usize>,
    /// The first place and the end of the members of each row, including those of nested rows.
    pub ranges: Vec<[usize; 2]>,
    /// The row of each group, in the order of the groups.
    pub rows: Vec<u32>,
}

impl Groups<'_> {
    /// Sorts the points that `is_valid` accepts by group, and keeps at most `max` of them.
    ///
    /// Thinning keeps the same fraction of each group, except that groups keep up to 16 members, if there is room.
    /// Which points are kept depends only on their indices.
    pub fn order(&self, n: usize, max: usize, is_valid: impl Fn(usize) -> bool) -> Result<Order> {
        if self.labels.len() != n {
            return Err(labels_length(self.labels.len(), n));
        }
        let (rows, ends) = depth_first(self.parents, self.rows.len())?;
        let outside = rows.len();
        let mut group_of = vec![];
        for (group, &row) in rows.iter().enumerate() {
            let label = self.rows[row as usize] as usize;
            if label >= group_of.len() {
                group_of.resize(label + 1, outside);
            }
            group_of[label] = group;
        }
        let group = |i: usize| usize::try_from(self.labels[i]).ok().and_then(|label| group_of.get(label).copied());
        let group = |i: usize| group(i).unwrap_or(outside);

        let mut members: Vec<Vec<u32>> = vec![vec![]; outside + 1];
        for i in (0..n).filter(|&i| is_valid(i)) {
            members[group(i)].push(i as u32);
        }
        let counts: Vec<usize> = members.iter().map(Vec::len).collect();
        let (mut points, mut starts) = (Vec::with_capacity(max.min(n)), vec![]);
        for (mut members, quota) in members.into_iter().zip(quotas(&counts, max)) {
            starts.push(points.len());
            thin(&mut members, quota);
            points.append(&mut members);
        }
        let mut ranges = vec![[0; 2]; outside];
        for (group, &row) in rows.iter().enumerate() {
            ranges[row as usize] = [starts[group], starts[ends[group]]];
        }
        Ok(Order { points, starts, ranges, rows })
    }
}

/// Returns the rows in depth-first order, and the place after the last descendant of each.
fn depth_first(parents: &[Option<u32>], n: usize) -> Result<(Vec<u32>, Vec<usize>)> {
    let parent = |row: usize| parents.get(row).copied().flatten();
    let is_valid = |row: &Option<u32>| row.is_none_or(|row| (row as usize) < n);
    if !(parents.is_empty() || parents.len() == n) || !parents.iter().all(is_valid) {
        return Err(invalid_parents(parents.len(), n));
    }
    let mut children = vec![vec![]; n];
    let mut open: Vec<(u32, bool)> = vec![];
    for row in (0..n).rev() {
        match parent(row) {
            Some(parent) => children[parent as usize].push(row as u32),
            None => open.push((row as u32, false)),
        }
    }
    let (mut rows, mut ends, mut place) = (vec![], vec![0; n], vec![0; n]);
    while let Some((row, is_done)) = open.pop() {
        if is_done {
            ends[place[row as usize]] = rows.len();
            continue;
        }
        place[row as usize] = rows.len();
        rows.push(row);
        open.push((row, true));
        open.extend(children[row as usize].iter().map(|&child| (child, false)));
    }
    // Rows of a cycle are not below any row without a parent.
    if rows.len() < n { Err(invalid_parents(parents.len(), n)) } else { Ok((rows, ends)) }
}

/// Returns the number of members that each group keeps, at most `max` in all.
fn quotas(counts: &[usize], max: usize) -> Vec<usize> {
    let n: usize = counts.iter().sum();
    if n <= max {
        return counts.to_vec();
    }
    // At most half of the points go to minima, so that large groups keep their share.
    let minimum = MIN_MEMBERS.min(max / (2 * counts.len()));
    let minima: usize = counts.iter().map(|&count| count.min(minimum)).sum();
    let fraction = (max - minima) as f64 / (n - minima) as f64;
    let quota = |&count: &usize| {
        let least = count.min(minimum);
        least + (fraction * (count - least) as f64) as usize
    };
    counts.iter().map(quota).collect()
}

/// Keeps the `quota` points whose indices have the smallest hashes, in ascending order.
fn thin(points: &mut Vec<u32>, quota: usize) {
    if quota < points.len() {
        points.select_nth_unstable_by_key(quota, |&i| mixed(i.into()));
        points.truncate(quota);
        points.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_row_are_a_range() {
        // Row 0 contains row 2, which contains row 1; row 3 is alone; label 9 has no row.
        let labels = [3, 9, 5, 7, -1, 5, 1, 7, 3];
        let groups = Groups { labels: &labels, rows: &[3, 7, 5, 1], parents: &[None, Some(2), Some(0), None] };
        let order = groups.order(9, 100, |_| true).unwrap();
        let members = |row: usize| {
            let [from, to] = order.ranges[row];
            let mut points = order.points[from..to].to_vec();
            points.sort_unstable();
            points
        };
        assert_eq!([0, 1, 2, 3].map(members), [vec![0, 2, 3, 5, 7, 8], vec![3, 7], vec![2, 3, 5, 7], vec![6]]);
        assert_eq!(order.points[order.starts[4]..], [1, 4]);
        assert_eq!(order.rows, [0, 2, 1, 3]);
        let order = groups.order(9, 100, |i| i != 6).unwrap();
        assert_eq!((order.points.len(), order.ranges[3]), (8, [6, 6]));
    }

    #[test]
    fn thinning_keeps_small_groups_and_is_reproducible() {
        let labels: Vec<i32> = (0..100_000).map(|i| if i < 5 { 0 } else { i % 3 - 1 }).collect();
        let groups = Groups { labels: &labels, rows: &[0, 1], parents: &[] };
        let order = groups.order(labels.len(), 1000, |_| true).unwrap();
        let again = groups.order(labels.len(), 1000, |_| true).unwrap();
        assert_eq!(order.points, again.points);
        assert!((995..=1000).contains(&order.points.len()), "{}", order.points.len());
        for (row, [from, to]) in order.ranges.iter().enumerate() {
            assert!((300..380).contains(&(to - from)), "{row}: {from} to {to}");
            assert!(order.points[*from..*to].iter().all(|&i| labels[i as usize] == row as i32));
        }
        // Indices are spread evenly.
        let first = order.points.iter().filter(|&&i| i < 50_000).count();
        assert!((430..570).contains(&first), "{first}");
        for max in [0, 1, 2, 7] {
            assert!(groups.order(labels.len(), max, |_| true).unwrap().points.len() <= max);
        }
        let many: Vec<i32> = (0..1000).flat_map(|group| [group; 20]).chain(std::iter::repeat_n(-1, 80_000)).collect();
        let rows: Vec<u32> = (0..1000).collect();
        let order = Groups { labels: &many, rows: &rows, parents: &[] }.order(many.len(), 40_000, |_| true).unwrap();
        assert!(order.ranges.iter().all(|[from, to]| to - from >= 16));
        assert!((38_000..=40_000).contains(&order.points.len()));
    }

    #[test]
    fn invalid_groups_are_errors() {
        let error = |labels: &[i32], parents: &[Option<u32>]| {
            let order = Groups { labels, rows: &[0, 1], parents }.order(2, 10, |_| true);
            order.err().map(|error| error.to_string())
        };
        assert_eq!(error(&[0], &[]).as_deref(), Some("1 labels for 2 points; expected one per point"));
        for parents in [&[None][..], &[None, Some(2)], &[Some(1), Some(0)], &[None, Some(1)]] {
            assert!(error(&[0, 1], parents).is_some_and(|text| text.contains("parents of 2 rows")), "{parents:?}");
        }
        assert_eq!(error(&[0, 1], &[Some(1), None]), None);
    }
}
