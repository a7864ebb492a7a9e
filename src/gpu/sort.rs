//! Stable radix sorts: of 64-bit keys with 32-bit values, and of Morton codes by their leading bits.
//!
//! In: keys. Out: values or indices in the order of the keys; those of equal keys keep their order. Digit by digit of nine bits
//! from the lowest: each cube counts the digits of its part, the counts are summed up, and each cube writes its part, tile after
//! tile, to where its digits go; in a tile's own memory keys are put in order first, so that neighbours are written together.
//! What is before a key in its tile is counted by 32 units at once, which find out who has the same digit.
//! Cost: 32 bytes a pair and digit. A code and its index go as one word, of which the digits done with are left off: 24 bytes a
//! digit. Source: Satish, Harris and Garland 2009, sections 3 and 4; Ashkiani et al. 2016, section 5, for the ranks.

#![allow(unsafe_code)] // Kernels that test their bounds themselves.

use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, count, cubes};
use super::planes::{PLANES, has_planes, peers, sum_before, sync_peers};
use crate::error::Result;

const BITS: u32 = 9;
const DIGITS: u32 = 1 << BITS;
/// Counts of all planes' digits.
const COUNTS: u32 = DIGITS * PLANES;
/// More parts mean more counts, fewer leave units idle.
const PARTS: u32 = 1056;

/// Codes are sorted by so many leading bits,
pub(super) const LEADING: u32 = 45;
/// of so many,
const CODE: u32 = 63;
/// if there are no more than two to the power of this, for which the rest of a word has room when the first digit is done.
const INDEX: u32 = 64 + BITS - LEADING;
/// Bits for a place in a tile.
const PLACE: u32 = 13;

/// How a device is used best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    /// Keys of a unit in a tile.
    items: u32,
    has_planes: bool,
}

impl Shape {
    fn of<R: Runtime>(client: &ComputeClient<R>) -> Self {
        let rest = (COUNTS + DIGITS + UNITS) * 4;
        let room = client.properties().hardware.max_shared_memory_size as u32 - rest;
        // Larger tiles are written in longer rows, but fewer of them run at a time.
        Self { items: (room / (8 * UNITS)).min(14), has_planes: has_planes(client) }
    }

    fn tile(self) -> u32 {
        self.items * UNITS
    }
}

#[derive(Clone)]
pub(super) struct Pairs {
    pub keys: Buffer<u64>,
    pub values: Buffer<u32>,
}

/// Sorts; `pairs` is used up.
pub(super) fn sort<R: Runtime>(client: &ComputeClient<R>, pairs: Pairs) -> Result<Pairs> {
    let n = pairs.keys.len();
    if n < 2 {
        return Ok(pairs);
    }
    let words = Buffer::<u32>::from_slice(client, &[0, 0]);
    differing::launch::<R>(client, cubes(n), CubeDim::new_1d(UNITS), pairs.keys.arg(), words.arg(), n as u32);
    let words = words.read(client)?;
    let differing = u64::from(words[0]) | u64::from(words[1]) << 32;

    let passes = Passes::new(client, n);
    let mut from = pairs;
    let mut to = Pairs { keys: Buffer::new(client, n), values: Buffer::new(client, n) };
    for shift in (0..64).step_by(BITS as usize).filter(|shift| differing >> shift & u64::from(DIGITS - 1) != 0) {
        passes.pairs(shift as u32, &from, &to);
        std::mem::swap(&mut from, &mut to);
    }
    Ok(from)
}

/// Whether [`order`] can sort so many codes.
pub(super) fn fits(n: usize) -> bool {
    n <= 1 << INDEX
}

/// Indices in the order of the codes' [`LEADING`] bits. `codes` are used up.
pub(super) fn order<R: Runtime>(client: &ComputeClient<R>, codes: Buffer<u64>) -> Buffer<u32> {
    let n = codes.len();
    let passes = Passes::new(client, n);
    let (mut from, mut to) = (codes, Buffer::<u64>::new(client, n));
    let order = Buffer::<u32>::new(client, n);
    passes.words(Step::First, CODE - LEADING, &from, &to);
    for shift in (INDEX..64 - BITS).step_by(BITS as usize) {
        std::mem::swap(&mut from, &mut to);
        passes.words(Step::Between, shift, &from, &to);
    }
    passes.words(Step::Last, 64 - BITS, &to, &order);
    order
}

/// What a pass over words reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// Reads codes; writes what is above the digit, and the index below.
    First,
    Between,
    /// Writes indices alone.
    Last,
}

/// The passes over so many keys.
struct Passes<'a, R: Runtime> {
    client: &'a ComputeClient<R>,
    n: u32,
    parts: u32,
    tiles_of_part: u32,
    offsets: Buffer<u32>,
    totals: Buffer<u32>,
    shape: Shape,
}

impl<'a, R: Runtime> Passes<'a, R> {
    fn new(client: &'a ComputeClient<R>, n: usize) -> Self {
        let shape = Shape::of(client);
        let tiles = n.div_ceil(shape.tile() as usize) as u32;
        let tiles_of_part = tiles.div_ceil(PARTS);
        let parts = tiles.div_ceil(tiles_of_part);
        Self {
            client,
            n: n as u32,
            parts,
            tiles_of_part,
            offsets: Buffer::new(client, (parts * DIGITS) as usize),
            totals: Buffer::new(client, DIGITS as usize),
            shape,
        }
    }

    /// Finds where each part's digits go.
    fn count(&self, keys: &Buffer<u64>, shift: u32) {
        let &Self { client, n, parts, tiles_of_part, ref offsets, ref totals, shape } = self;
        let (dim, own) = (CubeDim::new_1d(UNITS), count(parts as usize));
        // SAFETY: positions are compared with the number of keys, cubes with that of parts or digits, and digits are below DIGITS.
        unsafe {
            let (keys, counts) = (keys.arg(), offsets.arg());
            count_digits::launch_unchecked::<R>(client, own, dim, keys, counts, n, parts, tiles_of_part, shift, shape);
            let (digits, counts) = (count(DIGITS as usize), offsets.arg());
            sum_digits::launch_unchecked::<R>(client, digits, dim, counts, totals.arg(), parts, shape.has_planes);
        }
    }

    fn pairs(&self, shift: u32, from: &Pairs, to: &Pairs) {
        self.count(&from.keys, shift);
        // SAFETY: positions are compared with the number of keys, of which the offsets are sums.
        unsafe {
            scatter_pairs::launch_unchecked::<R>(
                self.client,
                count(self.parts as usize),
                CubeDim::new_1d(UNITS),
                from.keys.arg(),
                from.values.arg(),
                to.keys.arg(),
                to.values.arg(),
                self.offsets.arg(),
                self.totals.arg(),
                self.n,
                self.parts,
                self.tiles_of_part,
                shift,
                self.shape,
            );
        }
    }

    fn words<N: Int + CubeElement>(&self, step: Step, shift: u32, from: &Buffer<u64>, to: &Buffer<N>) {
        self.count(from, shift);
        // SAFETY: as above.
        unsafe {
            scatter_words::launch_unchecked::<N, R>(
                self.client,
                count(self.parts as usize),
                CubeDim::new_1d(UNITS),
                from.arg(),
                to.arg(),
                self.offsets.arg(),
                self.totals.arg(),
                self.n,
                self.parts,
                self.tiles_of_part,
                shift,
                step,
                self.shape,
            );
        }
    }
}

/// The bits in which keys differ, as two words.
#[cube(launch)]
fn differing(keys: &Array<u64>, words: &mut Array<Atomic<u32>>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i > 0 && i < n {
        let bits = keys[i as usize] ^ keys[(i - 1) as usize];
        let low = u32::cast_from(bits & 0xffff_ffffu64);
        let high = u32::cast_from(bits >> 32u64);
        // Few keys still have news: most are satisfied by a look.
        if (words[0].load() | low) != words[0].load() {
            words[0].fetch_or(low);
        }
        if (words[1].load() | high) != words[1].load() {
            words[1].fetch_or(high);
        }
    }
}

#[cube]
fn digit(key: u64, shift: u32) -> u32 {
    u32::cast_from(key >> u64::cast_from(shift)) & comptime!(DIGITS - 1)
}

/// How often each digit is in each part: digit by digit, and part by part for each.
#[cube(launch_unchecked)]
fn count_digits(
    keys: &Array<u64>,
    counts: &mut Array<u32>,
    n: u32,
    parts: u32,
    tiles_of_part: u32,
    shift: u32,
    #[comptime] shape: Shape,
) {
    let part = CUBE_POS as u32;
    if part < parts {
        let found = SharedMemory::<Atomic<u32>>::new(comptime!(DIGITS as usize));
        for k in 0..comptime!(DIGITS / UNITS) {
            found[(k * UNITS + UNIT_POS) as usize].store(0);
        }
        sync_cube();
        for tile in 0..tiles_of_part {
            let own_tile = part * tiles_of_part + tile;
            if own_tile <= (n - 1) / comptime!(shape.tile()) {
                let first = own_tile * comptime!(shape.tile());
                let len = n - first;
                let mut own = Array::<u64>::new(comptime!(shape.items as usize));
                #[unroll]
                for k in 0..shape.items {
                    let at = k * UNITS + UNIT_POS;
                    if at < len {
                        own[k as usize] = keys[(first + at) as usize];
                    }
                }
                #[unroll]
                for k in 0..shape.items {
                    let at = k * UNITS + UNIT_POS;
                    if at < len {
                        found[digit(own[k as usize], shift) as usize].fetch_add(1);
                    }
                }
            }
        }
        sync_cube();
        for k in 0..comptime!(DIGITS / UNITS) {
            let own = k * UNITS + UNIT_POS;
            counts[(own * parts + part) as usize] = found[own as usize].load();
        }
    }
}

/// A cube for each digit: for each part the sum of those before, and the sum of all.
#[cube(launch_unchecked)]
fn sum_digits(counts: &mut Array<u32>, totals: &mut Array<u32>, parts: u32, #[comptime] planes: bool) {
    let digit = CUBE_POS as u32;
    if digit < comptime!(DIGITS) {
        let mut shared = SharedMemory::<u32>::new(comptime!(UNITS as usize));
        let mut sums = SharedMemory::<u32>::new(1usize);
        if UNIT_POS == 0 {
            sums[0] = 0;
        }
        sync_cube();
        let rounds = (parts + UNITS - 1) / UNITS;
        for round in 0..rounds {
            let at = round * UNITS + UNIT_POS;
            let mut own = 0u32.runtime();
            if at < parts {
                own = counts[(digit * parts + at) as usize];
            }
            let before = sums[0] + sum_before(own, &mut shared, planes);
            if at < parts {
                counts[(digit * parts + at) as usize] = before;
            }
            sync_cube();
            if UNIT_POS == comptime!(UNITS - 1) {
                sums[0] = before + own;
            }
            sync_cube();
        }
        if UNIT_POS == 0 {
            totals[digit as usize] = sums[0];
        }
    }
}

/// What the units of a cube share while they sort tiles.
#[derive(CubeType)]
struct Room {
    keys: SharedMemory<u64>,
    /// How often each plane has each digit, and then where in the tile that digit of that plane begins.
    counts: SharedMemory<u32>,
    /// What to add to a position in the tile to get that among all keys, by the digit.
    bases: SharedMemory<u32>,
    shared: SharedMemory<u32>,
}

#[cube]
fn room(#[comptime] shape: Shape) -> Room {
    Room {
        keys: SharedMemory::<u64>::new(comptime!(shape.tile() as usize)),
        counts: SharedMemory::<u32>::new(comptime!(COUNTS as usize)),
        bases: SharedMemory::<u32>::new(comptime!(DIGITS as usize)),
        shared: SharedMemory::<u32>::new(comptime!(UNITS as usize)),
    }
}

/// Where a unit's item is in the tile: planes follow each other, so that they count one after the other.
#[cube]
fn place(#[comptime] item: u32, #[comptime] shape: Shape) -> u32 {
    UNIT_POS / 32 * comptime!(shape.items * 32) + comptime!(item * 32) + UNIT_POS % 32
}

/// Where the unit's two digits of a part begin.
#[cube]
fn begin(
    room: &mut Room,
    next: &mut Array<u32>,
    offsets: &Array<u32>,
    totals: &Array<u32>,
    part: u32,
    parts: u32,
    #[comptime] shape: Shape,
) {
    let low = 2 * UNIT_POS;
    let low_total = totals[low as usize];
    let before = sum_before(low_total + totals[(low + 1) as usize], &mut room.shared, shape.has_planes);
    next[0] = before + offsets[(low * parts + part) as usize];
    next[1] = before + low_total + offsets[((low + 1) * parts + part) as usize];
}

/// Reads a tile's keys; those beyond the end have the last digit, and so stay behind all others.
#[cube]
fn read_tile(keys: &Array<u64>, own: &mut Array<u64>, first: u32, len: u32, #[comptime] shape: Shape) {
    #[unroll]
    for k in 0..shape.items {
        let at = place(k, shape);
        own[k as usize] = 0xffff_ffff_ffff_ffffu64.runtime();
        if at < len {
            own[k as usize] = keys[(first + at) as usize];
        }
    }
}

/// Finds the place of each key in its tile, and where the tile's digits go.
#[cube]
fn rank(
    room: &mut Room,
    own: &Array<u64>,
    places: &mut Array<u32>,
    next: &mut Array<u32>,
    shift: u32,
    #[comptime] shape: Shape,
) {
    let unit = UNIT_POS;
    let own_counts = unit / 32 * DIGITS;
    let lower = (1 << (unit % 32)) - 1;
    #[unroll]
    for k in 0..COUNTS / UNITS {
        room.counts[(k * UNITS + unit) as usize] = 0;
    }
    sync_cube();
    #[unroll]
    for k in 0..shape.items {
        let found = digit(own[k as usize], shift);
        let same = peers(found, &mut room.shared, BITS, shape.has_planes);
        let below = (same & lower).count_ones();
        let slot = own_counts + found;
        let before = room.counts[slot as usize];
        sync_peers(shape.has_planes);
        if below == 0 {
            room.counts[slot as usize] = before + same.count_ones();
        }
        sync_peers(shape.has_planes);
        places[k as usize] = before + below;
    }
    sync_cube();

    // Before a plane's keys of a digit are those of the planes before, and all of lower digits.
    let low = 2 * unit;
    let mut lows = 0u32.runtime();
    let mut highs = 0u32.runtime();
    #[unroll]
    for k in 0..PLANES {
        let low_here = room.counts[(k * DIGITS + low) as usize];
        let high_here = room.counts[(k * DIGITS + low + 1) as usize];
        room.counts[(k * DIGITS + low) as usize] = lows;
        room.counts[(k * DIGITS + low + 1) as usize] = highs;
        lows += low_here;
        highs += high_here;
    }
    let start = sum_before(lows + highs, &mut room.shared, shape.has_planes);
    #[unroll]
    for k in 0..PLANES {
        room.counts[(k * DIGITS + low) as usize] += start;
        room.counts[(k * DIGITS + low + 1) as usize] += start + lows;
    }
    room.bases[low as usize] = next[0] - start;
    room.bases[(low + 1) as usize] = next[1] - start - lows;
    next[0] += lows;
    next[1] += highs;
    sync_cube();
    #[unroll]
    for k in 0..shape.items {
        places[k as usize] += room.counts[(own_counts + digit(own[k as usize], shift)) as usize];
    }
}

/// Writes keys and values to where `offsets` and `totals` say.
#[cube(launch_unchecked)]
fn scatter_pairs(
    keys: &Array<u64>,
    values: &Array<u32>,
    sorted_keys: &mut Array<u64>,
    sorted_values: &mut Array<u32>,
    offsets: &Array<u32>,
    totals: &Array<u32>,
    n: u32,
    parts: u32,
    tiles_of_part: u32,
    shift: u32,
    #[comptime] shape: Shape,
) {
    let part = CUBE_POS as u32;
    if part < parts {
        let mut room = room(shape);
        let mut next = Array::<u32>::new(2usize);
        begin(&mut room, &mut next, offsets, totals, part, parts, shape);
        for tile in 0..tiles_of_part {
            let own_tile = part * tiles_of_part + tile;
            if own_tile <= (n - 1) / comptime!(shape.tile()) {
                let first = own_tile * comptime!(shape.tile());
                let len = n - first;
                let mut own = Array::<u64>::new(comptime!(shape.items as usize));
                let mut places = Array::<u32>::new(comptime!(shape.items as usize));
                let mut goals = Array::<u32>::new(comptime!(shape.items as usize));
                read_tile(keys, &mut own, first, len, shape);
                rank(&mut room, &own, &mut places, &mut next, shift, shape);
                #[unroll]
                for k in 0..shape.items {
                    room.keys[places[k as usize] as usize] = own[k as usize];
                }
                sync_cube();
                #[unroll]
                for k in 0..shape.items {
                    let at = k * UNITS + UNIT_POS;
                    if at < len {
                        let key = room.keys[at as usize];
                        let to = room.bases[digit(key, shift) as usize] + at;
                        sorted_keys[to as usize] = key;
                        goals[k as usize] = to;
                    }
                }
                sync_cube();
                // Values go the same way.
                #[unroll]
                for k in 0..shape.items {
                    let at = place(k, shape);
                    if at < len {
                        room.keys[places[k as usize] as usize] = u64::cast_from(values[(first + at) as usize]);
                    }
                }
                sync_cube();
                #[unroll]
                for k in 0..shape.items {
                    let at = k * UNITS + UNIT_POS;
                    if at < len {
                        let to = goals[k as usize];
                        sorted_values[to as usize] = u32::cast_from(room.keys[at as usize]);
                    }
                }
                sync_cube();
            }
        }
    }
}

/// The same with words, of which `N` takes what a step writes.
#[cube(launch_unchecked)]
fn scatter_words<N: Int>(
    words: &Array<u64>,
    sorted: &mut Array<N>,
    offsets: &Array<u32>,
    totals: &Array<u32>,
    n: u32,
    parts: u32,
    tiles_of_part: u32,
    shift: u32,
    #[comptime] step: Step,
    #[comptime] shape: Shape,
) {
    let part = CUBE_POS as u32;
    if part < parts {
        let mut room = room(shape);
        let mut next = Array::<u32>::new(2usize);
        begin(&mut room, &mut next, offsets, totals, part, parts, shape);
        for tile in 0..tiles_of_part {
            let own_tile = part * tiles_of_part + tile;
            if own_tile <= (n - 1) / comptime!(shape.tile()) {
                let first = own_tile * comptime!(shape.tile());
                let len = n - first;
                let mut own = Array::<u64>::new(comptime!(shape.items as usize));
                let mut places = Array::<u32>::new(comptime!(shape.items as usize));
                read_tile(words, &mut own, first, len, shape);
                rank(&mut room, &own, &mut places, &mut next, shift, shape);
                #[unroll]
                for k in 0..shape.items {
                    let mut key = own[k as usize];
                    if comptime!(step == Step::First) {
                        // The bits below the digit are done with, and make room for where the code was in the tile.
                        let code = key >> comptime!((CODE - LEADING) as u64);
                        key = (code << comptime!(PLACE as u64)) | u64::cast_from(place(k, shape));
                    }
                    room.keys[places[k as usize] as usize] = key;
                }
                sync_cube();
                #[unroll]
                for k in 0..shape.items {
                    let at = k * UNITS + UNIT_POS;
                    if at < len {
                        let key = room.keys[at as usize];
                        if comptime!(step == Step::First) {
                            let to = room.bases[digit(key, PLACE) as usize] + at;
                            let index = u64::cast_from(first) + (key & comptime!((1u64 << PLACE) - 1));
                            let rest = key >> comptime!((PLACE + BITS) as u64);
                            sorted[to as usize] = N::cast_from((rest << comptime!(INDEX as u64)) | index);
                        } else {
                            let to = room.bases[digit(key, shift) as usize] + at;
                            let mut kept = key;
                            if comptime!(step == Step::Last) {
                                kept = key & comptime!((1u64 << INDEX) - 1);
                            }
                            sorted[to as usize] = N::cast_from(kept);
                        }
                    }
                }
                sync_cube();
            }
        }
    }
}
