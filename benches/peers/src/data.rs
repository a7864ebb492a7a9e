//! Reads points from a file: `.npy` of shape (N, 3) in f32, or Gadget-2 (format 1, all particles, positions only).
//!
//! Points are read one by one into the final array, so that reading does not hide the memory peak of an operation.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

pub type Point = [f32; 3];

/// The number of particle types of a Gadget-2 file.
const TYPES: usize = 6;

pub fn read(path: &Path) -> io::Result<Vec<Point>> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let n = if file.fill_buf()?.starts_with(b"\x93NUMPY") { npy_header(&mut file)? } else { gadget_header(&mut file)? };
    let mut points = Vec::with_capacity(n);
    let mut bytes = [0; 12];
    for _ in 0..n {
        file.read_exact(&mut bytes)?;
        points.push([0, 4, 8].map(|at| f32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))));
    }
    if let Some(at) = points.iter().position(|point: &Point| point.iter().any(|x| !x.is_finite())) {
        return Err(wrong(&format!("point {at} is not finite")));
    }
    Ok(points)
}

/// Reads up to the first coordinate and returns the number of points.
fn npy_header(file: &mut impl Read) -> io::Result<usize> {
    let mut start = [0; 10];
    file.read_exact(&mut start)?;
    let mut length = usize::from(u16::from_le_bytes([start[8], start[9]]));
    if start[6] > 1 {
        // From version 2 on, the length has four bytes.
        let mut high = [0; 2];
        file.read_exact(&mut high)?;
        length |= usize::from(u16::from_le_bytes(high)) << 16;
    }
    let mut header = vec![0; length];
    file.read_exact(&mut header)?;
    let header = String::from_utf8_lossy(&header).replace(' ', "");
    if !header.contains("'descr':'<f4'") || !header.contains("'fortran_order':False") {
        return Err(wrong("an .npy file must hold little-endian f32 in C order"));
    }
    header
        .split_once("'shape':(")
        .and_then(|(_, rest)| rest.split_once(')'))
        // Some writers append a comma to the last number.
        .and_then(|(shape, _)| shape.trim_end_matches(',').strip_suffix(",3"))
        .and_then(|n| n.parse().ok())
        .ok_or_else(|| wrong("an .npy file must have the shape (N, 3)"))
}

/// Reads up to the first coordinate and returns the number of particles.
fn gadget_header(file: &mut impl Read) -> io::Result<usize> {
    let mut record = [0; 4 + 256 + 4];
    file.read_exact(&mut record)?;
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| record[at + i])) as usize;
    if word(0) != 256 || word(260) != 256 {
        return Err(wrong("neither .npy nor little-endian Gadget-2 of format 1"));
    }
    let n: usize = (0..TYPES).map(|kind| word(4 + 4 * kind)).sum();
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    if u32::from_le_bytes(length) as usize != 12 * n {
        return Err(wrong("the positions of a Gadget-2 file must be f32"));
    }
    Ok(n)
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
