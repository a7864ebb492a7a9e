//! Groups, and the file that they form.

use std::io::{self, Write};

use crate::hdf5_write::object::{Header, UNDEFINED, checksum};
use crate::hdf5_write::{Dataset, Value};

const SUPERBLOCK: u64 = 48;
/// The alignment of the values in bytes.
const ALIGNMENT: u64 = 8;

/// A group of attributes, groups and data sets, each with a unique name.
#[derive(Default)]
pub struct Group<'a> {
    attributes: Vec<(String, Value)>,
    members: Vec<(String, Member<'a>)>,
}

enum Member<'a> {
    Group(Group<'a>),
    Dataset(Dataset<'a>),
}

/// A group, whose links refer to indices in a list of all objects, or a data set.
enum Object<'g, 'a> {
    Group { attributes: &'g [(String, Value)], links: Vec<(&'g str, usize)> },
    Dataset(&'g Dataset<'a>),
}

impl<'a> Group<'a> {
    pub fn attribute(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.attributes.push((name.into(), value.into()));
    }

    pub fn group(&mut self, name: impl Into<String>, group: Group<'a>) {
        self.members.push((name.into(), Member::Group(group)));
    }

    pub fn dataset(&mut self, name: impl Into<String>, dataset: Dataset<'a>) {
        self.members.push((name.into(), Member::Dataset(dataset)));
    }

    /// Writes the file whose root is this group: the superblock, all headers, then all values.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let objects = self.objects()?;
        // Addresses have a fixed size, so the length of a header does not depend on them.
        let mut addresses = vec![0; objects.len()];
        let mut end = SUPERBLOCK;
        let mut places = vec![0; objects.len()];
        for (place, object) in places.iter_mut().zip(&objects) {
            *place = end;
            end += object.header(&addresses, 0)?.len() as u64;
        }
        addresses = places;
        let mut starts = vec![0; objects.len()];
        for (start, object) in starts.iter_mut().zip(&objects) {
            if let Object::Dataset(dataset) = object {
                *start = end.next_multiple_of(ALIGNMENT);
                end = *start + dataset.bytes();
            }
        }
        let root = addresses.first().copied().unwrap_or(UNDEFINED);
        out.write_all(&superblock(root, end))?;
        let mut at = SUPERBLOCK;
        for (object, &start) in objects.iter().zip(&starts) {
            let header = object.header(&addresses, start)?;
            out.write_all(&header)?;
            at += header.len() as u64;
        }
        for (object, &start) in objects.iter().zip(&starts) {
            if let Object::Dataset(dataset) = object {
                out.write_all(&[0; ALIGNMENT as usize][..(start - at) as usize])?;
                let mut counted = Counted { out: &mut *out, bytes: 0 };
                dataset.write(&mut counted)?;
                if counted.bytes != dataset.bytes() {
                    let (is, should) = (counted.bytes, dataset.bytes());
                    return Err(io::Error::other(format!("a data set must have {should} bytes, got {is}")));
                }
                at = start + dataset.bytes();
            }
        }
        out.flush()
    }

    /// Returns this group and all objects in it, the group first. If two members of a group have the same name,
    /// returns an error.
    fn objects(&self) -> io::Result<Vec<Object<'_, 'a>>> {
        let mut objects = vec![];
        let mut groups = vec![(0, self)];
        objects.push(Object::Group { attributes: &self.attributes, links: vec![] });
        while let Some((at, group)) = groups.pop() {
            let mut links: Vec<(&str, usize)> = vec![];
            for (name, member) in &group.members {
                if links.iter().any(|(other, _)| other == name) {
                    return Err(io::Error::other(format!("two members of a group have the name {name}")));
                }
                links.push((name, objects.len()));
                match member {
                    Member::Group(inner) => {
                        groups.push((objects.len(), inner));
                        objects.push(Object::Group { attributes: &inner.attributes, links: vec![] });
                    }
                    Member::Dataset(dataset) => objects.push(Object::Dataset(dataset)),
                }
            }
            if let Some(Object::Group { links: own, .. }) = objects.get_mut(at) {
                *own = links;
            }
        }
        Ok(objects)
    }
}

impl Object<'_, '_> {
    /// Returns the header, with the addresses of all objects and the address of the values.
    fn header(&self, addresses: &[u64], values: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Dataset(dataset) => dataset.header(values),
            Self::Group { attributes, links } => {
                let mut header = Header::default();
                header.group()?;
                for (name, object) in links {
                    header.link(name, addresses.get(*object).copied().unwrap_or(UNDEFINED))?;
                }
                attributes.iter().try_for_each(|(name, value)| header.attribute(name, value))?;
                header.finish()
            }
        }
    }
}

/// Returns the superblock, version 2, with addresses and sizes of eight bytes.
fn superblock(root: u64, end: u64) -> Vec<u8> {
    let mut out = b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00".to_vec();
    for address in [0, UNDEFINED, end, root] {
        out.extend(address.to_le_bytes());
    }
    let sum = checksum(&out);
    out.extend(sum.to_le_bytes());
    out
}

struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use hdf5_reader::Hdf5File;

    use super::*;

    #[test]
    fn what_is_written_is_read_by_another_crate() {
        let (floats, wide) = ([0.5f32, -1.5, 3e30, 0.0, 1.0, 2.0], [u64::MAX, 7, 1 << 40]);
        let mut inner = Group::default();
        inner.dataset(
            "Coordinates",
            Dataset::pieces(vec![&floats[..3], &floats[3..]], Some(3)).attribute("unit", "Mpc"),
        );
        inner.dataset("ids", Dataset::pieces(vec![&wide], None));
        inner.dataset("none", Dataset::pieces(vec![&[0.0f64; 0]], Some(3)));
        let mut root = Group::default();
        for i in 0..40 {
            root.dataset(
                format!("column_{i}"),
                Dataset::converted(vec![&floats], None, move |x| i * (x as i32 % 1000)),
            );
        }
        root.group("PartType1", inner);
        root.attribute("BoxSize", 100.0);
        root.attribute("NumPart", &[0u32, 6][..]);
        root.attribute("names", Value::texts(&["a", "bcd \u{e4}", ""]));
        let mut bytes = vec![];
        root.write(&mut bytes).unwrap();

        let file = Hdf5File::from_vec(bytes).unwrap();
        let group = file.root_group().unwrap();
        assert_eq!(group.attribute("BoxSize").unwrap().read_scalar::<f64>().unwrap(), 100.0);
        assert_eq!(group.attribute("NumPart").unwrap().read_1d::<u32>().unwrap(), [0, 6]);
        let set = file.dataset("PartType1/Coordinates").unwrap();
        assert_eq!(set.shape(), [2, 3]);
        assert_eq!(set.read_array::<f32>().unwrap().as_slice().unwrap(), floats);
        assert_eq!(set.attribute("unit").unwrap().read_string().unwrap(), "Mpc");
        let ids = file.dataset("PartType1/ids").unwrap().read_array::<u64>().unwrap();
        assert_eq!(ids.as_slice().unwrap(), wide);
        let last = file.dataset("column_39").unwrap().read_array::<i32>().unwrap();
        assert_eq!(last.as_slice().unwrap(), [0, -39, 647 * 39, 0, 39, 78]);
    }

    #[test]
    fn names_are_taken_once() {
        let mut root = Group::default();
        root.group("a", Group::default());
        root.group("a", Group::default());
        let error = root.write(&mut vec![]).unwrap_err();
        assert_eq!(error.to_string(), "two members of a group have the name a");
    }
    /// A writer that keeps the first 4096 bytes, and counts all bytes.
    struct Beginning(Vec<u8>, u64);

    impl Write for Beginning {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = 4096 - self.0.len().min(4096);
            self.0.extend(&bytes[..bytes.len().min(room)]);
            self.1 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn more_than_32_bits_count() {
        let part = vec![0u64; 1 << 20];
        let (large, small) = (Dataset::pieces(vec![&part; 640], None), Dataset::pieces(vec![&part[..1]], None));
        let mut root = Group::default();
        root.dataset("large", large);
        root.dataset("small", small);
        let mut file = Beginning(vec![], 0);
        root.write(&mut file).unwrap();
        let Beginning(bytes, len) = file;
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert!(len > 5 << 30);
        assert_eq!(number(28), len);
        // The last message of a header is the layout: address and size.
        let ends: Vec<usize> = (0..1000).filter(|&at| bytes[at..].starts_with(b"OHDR")).collect();
        let places = ends[1..].iter().map(|&at| at + 10 + number(at + 6) as u32 as usize);
        let [large, small] = places.map(|end| (number(end - 16), number(end - 8))).collect::<Vec<_>>()[..] else {
            panic!()
        };
        assert_eq!((large.1, small), (5 << 30, (large.0 + (5 << 30), 8)));
    }
}
