//! The scalars of a YAML text, each with its path of keys and list indices. Aliases are replaced by the nodes that
//! their anchors mark.
//!
//! In: text. Out: paths and scalars. Cost: the text, and the copies that aliases make. Their number is limited, so
//! that no text can exhaust memory or stack.

use std::collections::HashMap;
use std::ops::Range;

use yaml_rust2::Event;
use yaml_rust2::parser::Parser;

/// The maximum depth of nested lists and maps.
const DEEPEST: usize = 32;
/// The maximum number of nodes, and of bytes of their scalars, including copies.
const MAX_NODES: usize = 1 << 16;
const MAX_BYTES: usize = 1 << 24;

/// A scalar, preceded by the keys and list indices that lead to it.
pub(super) type Scalar = (Vec<String>, String);

/// A node, or the end of a list or map.
#[derive(Clone)]
enum Node {
    Scalar(String),
    Map,
    List,
    End,
}

/// Returns all scalars in order.
///
/// Errors: text that is not YAML, too deep or too long; aliases that make too many copies, or that refer to a node
/// which contains them.
pub(super) fn scalars(yaml: &str) -> Result<Vec<Scalar>, String> {
    paths(nodes(yaml)?)
}

/// Returns the nodes of a text, with copies for aliases.
fn nodes(yaml: &str) -> Result<Vec<Node>, String> {
    let mut parser = Parser::new_from_str(yaml);
    let mut nodes: Vec<Node> = vec![];
    let mut anchors: HashMap<usize, Range<usize>> = HashMap::new();
    // The anchors of lists and maps that have not ended, and the indices of their first nodes.
    let mut open: Vec<(usize, usize)> = vec![];
    let mut bytes = 0;
    loop {
        let (event, _) = parser.next_token().map_err(|error| format!("is not YAML: {error}"))?;
        let at = nodes.len();
        match event {
            Event::StreamEnd => return Ok(nodes),
            Event::Scalar(text, _, anchor, _) => {
                bytes += text.len();
                nodes.push(Node::Scalar(text));
                anchors.insert(anchor, at..at + 1);
            }
            Event::MappingStart(anchor, _) => {
                open.push((anchor, at));
                nodes.push(Node::Map);
            }
            Event::SequenceStart(anchor, _) => {
                open.push((anchor, at));
                nodes.push(Node::List);
            }
            Event::MappingEnd | Event::SequenceEnd => {
                nodes.push(Node::End);
                let (anchor, start) = open.pop().ok_or("is not YAML")?;
                anchors.insert(anchor, start..at + 1);
            }
            Event::Alias(anchor) => {
                let copied = anchors.get(&anchor).cloned().ok_or("has an alias of a node that contains it")?;
                let copied = nodes[copied].to_vec();
                bytes +=
                    copied.iter().map(|node| if let Node::Scalar(text) = node { text.len() } else { 0 }).sum::<usize>();
                nodes.extend(copied);
            }
            _ => {}
        }
        if open.len() > DEEPEST || nodes.len() > MAX_NODES || bytes > MAX_BYTES {
            return Err(format!("is nested deeper than {DEEPEST} or has more than {MAX_NODES} entries"));
        }
    }
}

/// Returns the scalars among nodes, with their paths.
///
/// Errors: the paths have too many bytes in total, since each scalar has a copy of the keys that lead to it.
fn paths(nodes: Vec<Node>) -> Result<Vec<Scalar>, String> {
    enum Nesting {
        Map { key: Option<String> },
        List { at: usize },
    }
    let mut nestings: Vec<Nesting> = vec![];
    let (mut found, mut bytes) = (vec![], 0);
    for node in nodes {
        let is_complete = match node {
            Node::Map => {
                nestings.push(Nesting::Map { key: None });
                false
            }
            Node::List => {
                nestings.push(Nesting::List { at: 0 });
                false
            }
            Node::End => {
                nestings.pop();
                true
            }
            Node::Scalar(text) => match nestings.last_mut() {
                Some(Nesting::Map { key: key @ None }) => {
                    *key = Some(text);
                    false
                }
                _ => {
                    let of_key = |level: &Nesting| match level {
                        Nesting::Map { key } => key.as_ref().map_or(0, String::len),
                        Nesting::List { .. } => 0,
                    };
                    bytes += nestings.iter().map(of_key).sum::<usize>();
                    if bytes > MAX_BYTES {
                        return Err(format!(
                            "has keys of more than {MAX_BYTES} bytes, counted for each entry below them"
                        ));
                    }
                    let steps = nestings.iter().map(|level| match level {
                        Nesting::Map { key } => key.clone().unwrap_or_default(),
                        Nesting::List { at } => at.to_string(),
                    });
                    found.push((steps.collect(), text));
                    true
                }
            },
        };
        if is_complete {
            match nestings.last_mut() {
                // A key that is itself a list or a map is represented by an empty name.
                Some(Nesting::Map { key: key @ None }) => *key = Some(String::new()),
                Some(Nesting::Map { key }) => *key = None,
                Some(Nesting::List { at }) => *at += 1,
                None => {}
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x]\n");
        for i in 1..20 {
            bomb += &format!("a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1);
        }
        assert!(scalars(&bomb).is_err());
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(60_000), "*a, ".repeat(2000));
        assert!(scalars(&long).is_err());
        let key = format!("? {}\n: [{}]\n", "k".repeat(60_000), "x, ".repeat(60_000));
        assert!(scalars(&key).unwrap_err().contains("keys of more than"));
        for deep in ["- ".repeat(20_000), "? ".repeat(20_000), "[".repeat(20_000), "{".repeat(20_000)] {
            assert!(scalars(&deep).is_err());
        }
        assert!(scalars("a: &a [*a]\n").is_err());
        assert!(scalars("a: *b\n").is_err());
    }

    #[test]
    fn aliases_stand_for_what_their_anchors_mark() {
        let found = scalars("x: &u !unit {unit: kpc}\ny: *u\nz: &v 1\nw: [*v, *u]\n").unwrap();
        let found: Vec<String> = found.iter().map(|(path, text)| format!("{}={text}", path.join("."))).collect();
        assert_eq!(found, ["x.unit=kpc", "y.unit=kpc", "z=1", "w.0=1", "w.1.unit=kpc"]);
    }
}
