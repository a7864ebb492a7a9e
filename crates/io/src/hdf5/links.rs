//! The links of a group, including those without an existing target, which hdf5-reader omits.
//!
//! In: a group and a name. Out: the target of the link with that name. Cost: reading the links of the group. Source:
//! HDF5 File Format Specification 3.0, sections III.B to III.D (groups of version 1) and IV.A.2.g (the link message).

use hdf5_reader::btree_v1::collect_btree_v1_leaves_storage;
use hdf5_reader::btree_v2::{BTreeV2Header, BTreeV2Record, collect_btree_v2_records_storage};
use hdf5_reader::error::Result;
use hdf5_reader::fractal_heap::FractalHeap;
use hdf5_reader::group::Group;
use hdf5_reader::io::Cursor;
use hdf5_reader::local_heap::LocalHeap;
use hdf5_reader::messages::HdfMessage;
use hdf5_reader::messages::link::{self, LinkMessage, LinkTarget};
use hdf5_reader::messages::link_info::LinkInfoMessage;
use hdf5_reader::messages::symbol_table_msg::SymbolTableMessage;
use hdf5_reader::symbol_table::SymbolTableNode;
use hdf5_reader::{FilterRegistry, Hdf5File};

/// The cache type of a symbol table entry for a soft link.
const SOFT: u32 = 2;

/// Describes the target of the link `name` of a group, which cannot be followed; `None` if there is no link with that
/// name.
pub(super) fn dead_link(hdf5: &Hdf5File, group: &Group, name: &str) -> Result<Option<String>> {
    Ok(target(hdf5, group, name)?.map(phrase))
}

fn phrase(target: LinkTarget) -> String {
    match target {
        LinkTarget::Hard { .. } => "is neither a dataset nor a link to one".into(),
        LinkTarget::Soft { path } => format!("is a soft link to {path}, which does not exist or is in another file"),
        LinkTarget::External { filename, path } => format!(
            "is an external link to {path} of the file {filename}; external links are not followed: pass that file, or \
             copy its data into this one"
        ),
    }
}

fn target(hdf5: &Hdf5File, group: &Group, name: &str) -> Result<Option<LinkTarget>> {
    Ok(links(hdf5, group)?.into_iter().find(|(own, _)| own == name).map(|(_, target)| target))
}

/// Returns the names of the soft and external links of a group, with descriptions of their targets. Some of them can
/// be followed.
pub(super) fn soft_links(hdf5: &Hdf5File, group: &Group) -> Result<Vec<(String, String)>> {
    let soft = links(hdf5, group)?.into_iter().filter(|(_, target)| !matches!(target, LinkTarget::Hard { .. }));
    Ok(soft.map(|(name, target)| (name, phrase(target))).collect())
}

/// Returns the names of the hard links of a group.
pub(super) fn hard_links(hdf5: &Hdf5File, group: &Group) -> Result<Vec<String>> {
    let hard = links(hdf5, group)?.into_iter().filter(|(_, target)| matches!(target, LinkTarget::Hard { .. }));
    Ok(hard.map(|(name, _)| name).collect())
}

/// Returns the names and targets of all links of a group.
fn links(hdf5: &Hdf5File, group: &Group) -> Result<Vec<(String, LinkTarget)>> {
    let header = hdf5.get_or_parse_header(group.address())?;
    let mut links = vec![];
    for message in &header.messages {
        match message {
            HdfMessage::Link(LinkMessage { name, target, .. }) => links.push((name.clone(), target.clone())),
            HdfMessage::LinkInfo(info) => dense(group, info, &mut links)?,
            HdfMessage::SymbolTable(table) => symbols(group, table, &mut links)?,
            _ => {}
        }
    }
    Ok(links)
}

/// Collects the links of a group that stores them in a fractal heap.
fn dense(group: &Group, info: &LinkInfoMessage, links: &mut Vec<(String, LinkTarget)>) -> Result<()> {
    let (storage, offsets, lengths) = (group.storage(), group.offset_size(), group.length_size());
    if Cursor::is_undefined_offset(info.fractal_heap_address, offsets) {
        return Ok(());
    }
    let heap = FractalHeap::parse_at_storage(storage, info.fractal_heap_address, offsets, lengths)?;
    let tree = BTreeV2Header::parse_at_storage(storage, info.btree_name_index_address, offsets, lengths)?;
    let registry = FilterRegistry::new();
    for record in collect_btree_v2_records_storage(storage, &tree, offsets, lengths, None, &[], None)? {
        let BTreeV2Record::LinkNameHash { heap_id, .. } = record else { continue };
        let bytes = heap.get_object_storage_with_registry(&heap_id, storage, offsets, lengths, Some(&registry))?;
        let link = link::parse(&mut Cursor::new(&bytes), offsets, lengths, bytes.len())?;
        links.push((link.name, link.target));
    }
    Ok(())
}

/// Collects the links of a group of version 1, which are hard or soft.
fn symbols(group: &Group, table: &SymbolTableMessage, links: &mut Vec<(String, LinkTarget)>) -> Result<()> {
    let (storage, offsets, lengths) = (group.storage(), group.offset_size(), group.length_size());
    let heap = LocalHeap::parse_at_storage(storage, table.heap_address, offsets, lengths)?;
    let nodes = collect_btree_v1_leaves_storage(storage, table.btree_address, offsets, lengths, None, &[], None)?;
    for (_, address) in nodes {
        let head = storage.read_range(address, 8)?;
        let n = head.as_ref().get(6..8).map_or(0, |n| usize::from(n[0]) + 256 * usize::from(n[1]));
        let node = storage.read_range(address, 8 + n * (2 * usize::from(offsets) + 24))?;
        for entry in SymbolTableNode::parse(&mut Cursor::new(node.as_ref()), offsets, lengths)?.entries {
            let [a, b, c, d, ..] = entry.scratch;
            let target = match entry.cache_type {
                SOFT => {
                    let at = u32::from_le_bytes([a, b, c, d]);
                    LinkTarget::Soft { path: heap.get_string_storage(u64::from(at), storage)? }
                }
                _ => LinkTarget::Hard { address: entry.object_header_address },
            };
            links.push((heap.get_string_storage(entry.link_name_offset, storage)?, target));
        }
    }
    Ok(())
}
