//! LZF, the compression of PCD files and of h5py.
//!
//! In: a block of literals and references to earlier output. Out: the decoded bytes. Cost: one pass. Source: the
//! format of LibLZF by Marc Lehmann, as described in its `lzf_d.c`.

use ropewalk::internals::memory::grow;

const CUT: &str = "its LZF block is cut off";

/// Decodes `from` into `into`, which may hold at most `most` bytes.
///
/// # Errors
/// If a literal is truncated, a reference points before the first byte, or the output exceeds `most` bytes.
pub(super) fn decode(from: &[u8], into: &mut Vec<u8>, most: usize) -> Result<(), String> {
    into.clear();
    let mut rest = from;
    while let Some((&control, tail)) = rest.split_first() {
        let control = usize::from(control);
        if control < 32 {
            let (literal, tail) = tail.split_at_checked(control + 1).ok_or(CUT)?;
            make_room(into, literal.len(), most)?;
            into.extend_from_slice(literal);
            rest = tail;
            continue;
        }
        let (&more, tail) = tail.split_first().ok_or(CUT)?;
        // The value 7 in the upper three bits means that a byte of the length follows.
        let (more, low, tail) = match (control >> 5, tail.split_first()) {
            (7, Some((&low, tail))) => (usize::from(more), low, tail),
            (7, None) => return Err(CUT.into()),
            _ => (0, more, tail),
        };
        let (n, back) = ((control >> 5) + 2 + more, ((control & 31) << 8) + usize::from(low) + 1);
        let start = into.len().checked_sub(back).ok_or("its LZF block refers to bytes before its first")?;
        make_room(into, n, most)?;
        // The copy may overlap its own output.
        for at in start..start + n {
            into.push(into[at]);
        }
        rest = tail;
    }
    Ok(())
}

fn make_room(into: &mut Vec<u8>, more: usize, most: usize) -> Result<(), String> {
    if into.len() + more > most {
        return Err(format!("its LZF block has more than {most} bytes"));
    }
    grow(into, more);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(from: &[u8]) -> Result<Vec<u8>, String> {
        let mut into = vec![];
        decode(from, &mut into, 40).map(|()| into)
    }

    #[test]
    fn literals_and_references() {
        assert_eq!(decoded(&[2, 1, 2, 3]).unwrap(), [1, 2, 3]);
        // Three bytes from two bytes back, which overlap the output.
        assert_eq!(decoded(&[1, 7, 8, 0x20, 1]).unwrap(), [7, 8, 7, 8, 7]);
        // A long reference: 9 + 4 bytes.
        assert_eq!(decoded(&[0, 5, 0xe0, 4, 0]).unwrap(), [5; 14]);
        assert_eq!(decoded(&[]).unwrap(), [0u8; 0]);
        for bad in [&[2, 1, 2][..], &[0x20], &[0xe0, 1], &[0, 5, 0x20, 1], &[0, 5, 0xe0, 200, 0]] {
            assert!(decoded(bad).is_err(), "{bad:?}");
        }
    }
}
