//! Comments before the rows of a text table: names of columns, and what is not read.
//!
//! In: the comments, and how many columns the rows have. Out: the names, if one comment has as many as there are columns; a sentence about
//! comments that seem to say more than is read.

use crate::io::column_names::{list, not_a_coordinate};
use crate::io::shorten;
use crate::io::text::layout::Line;
use crate::io::text::lines::{Record, Syntax};
use crate::io::text::values::{is_name, is_name_with_a_number, number};

/// Words of comments that say what readers of other formats use.
const SAID: [&str; 16] = [
    "box",
    "boxsize",
    "lbox",
    "redshift",
    "unit",
    "units",
    "omega_m",
    "omega_lambda",
    "om",
    "ol",
    "h0",
    "hubble",
    "scale_factor",
    "scalefactor",
    "comoving",
    "periodic",
];
/// Names by which a comment is known to name columns.
const KNOWN: [&str; 18] = [
    "x",
    "y",
    "z",
    "vx",
    "vy",
    "vz",
    "id",
    "mass",
    "ra",
    "dec",
    "lon",
    "lat",
    "longitude",
    "latitude",
    "label",
    "class",
    "cluster",
    "target",
];

/// The names that a comment gives to `width` columns, and a sentence about that; no names if none does.
///
/// Errors: several comments that may name the columns.
pub(super) fn names(comments: &[Line], width: usize, delimiter: u8) -> Result<(Vec<String>, Option<String>), String> {
    let mut found: Vec<(u64, Vec<String>)> = vec![];
    for (number, comment) in comments {
        let text = bare(comment);
        let ways = [delimiter, b',', b'\t', b' '].map(|delimiter| split(text, delimiter));
        if let Some(names) = ways.into_iter().find(|names| names.len() == width && are_names(names)) {
            found.push((*number, names));
        }
    }
    let is_known = |names: &[String]| names.iter().any(|name| KNOWN.contains(&base(name).as_str()));
    if found.iter().any(|(_, names)| is_known(names)) {
        found.retain(|(_, names)| is_known(names));
    }
    found.dedup_by(|a, b| a.1 == b.1);
    match &found[..] {
        [] => Ok((vec![], seems_to_name(comments, width))),
        [(number, names)] => {
            let note = format!("the comment in line {number} names the columns: {}", shorten(list(names).as_bytes()));
            Ok((names.clone(), Some(note)))
        }
        // Prose that happens to have as many words.
        [.., (number, names)] if !is_known(names) && names.iter().all(|name| not_a_coordinate(name).is_none()) => {
            let note =
                format!("the comments in line {} and {number} may name the columns, and are not used", found[0].0);
            Ok((vec![], Some(note)))
        }
        [(first, _), .., (last, _)] => Err(format!(
            "the comments in line {first} and {last} may name the columns; make one of them the first line, without #"
        )),
    }
}

/// The text of a comment.
fn bare(comment: &[u8]) -> &[u8] {
    let text = comment.trim_ascii();
    let from = text.iter().position(|&byte| byte != b'#').unwrap_or(text.len());
    text[from..].trim_ascii()
}

fn split(text: &[u8], delimiter: u8) -> Vec<String> {
    let mut fields = Record::default();
    Syntax::new(delimiter).split(text, &mut fields);
    fields.texts()
}

fn are_names(names: &[String]) -> bool {
    let is_one = |name: &String| {
        let name = name.as_bytes();
        !name.is_empty() && (is_name(name) || is_name_with_a_number(name)) && !name.ends_with(b":") && *name != *b"="
    };
    names.iter().all(is_one)
}

/// A name in lower case without a number in parentheses after it.
fn base(name: &str) -> String {
    name.split('(').next().unwrap_or_default().trim().to_lowercase()
}

/// A sentence about a comment that has names that are known, but not as many as there are columns.
fn seems_to_name(comments: &[Line], width: usize) -> Option<String> {
    comments.iter().find_map(|(number, comment)| {
        let words: Vec<String> = bare(comment)
            .split(|byte| byte.is_ascii_whitespace() || b",;|".contains(byte))
            .filter(|word| !word.is_empty())
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        let n = words.len();
        let known = words.iter().filter(|word| KNOWN.contains(&base(word).as_str())).count();
        let text = shorten(bare(comment));
        (known > 1 && 2 * known >= n).then(|| {
            format!("the comment in line {number} has {n} names for {width} columns, and is not used: '{text}'")
        })
    })
}

/// Sentences about comments that speak of the box, units or cosmology, which plain text has no place for.
pub(super) fn not_read(comments: &[Line]) -> Vec<String> {
    let speaks = |comment: &[u8]| {
        let text = String::from_utf8_lossy(bare(comment)).to_lowercase();
        let has_value = text.contains([':', '=']) || text.bytes().any(|byte| byte.is_ascii_digit());
        let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let is_scale_factor = text.starts_with("a =") && number(text[3..].trim().as_bytes()).is_some();
        is_scale_factor || (has_value && words.any(|word| SAID.contains(&word)))
    };
    let said: Vec<String> = comments
        .iter()
        .filter(|(_, comment)| speaks(comment))
        .map(|(number, comment)| format!("line {number} '{}'", shorten(bare(comment))))
        .collect();
    if said.is_empty() { vec![] } else { vec![format!("comments that are not read: {}", list(&said))] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<Line> {
        (1..).zip(texts).map(|(number, text)| (number, text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn names_in_comments() {
        let of = |texts: &[&str], width| names(&lines(texts), width, b' ').unwrap().0.join(" ");
        assert_eq!(of(&["# id x y z"], 4), "id x y z");
        assert_eq!(of(&["#id,x,y,z"], 4), "id x y z");
        assert_eq!(of(&["# made by hand", "# x y z"], 3), "x y z");
        assert_eq!(of(&["# x y z", "# made by hand"], 3), "x y z");
        assert_eq!(of(&["# id x y"], 4), "");
        assert_eq!(of(&["# 1 2 3"], 3), "");
        assert_eq!(of(&["# on and on", "# over and out"], 3), "");
        assert!(names(&lines(&["# id x y", "# x y id"]), 3, b' ').is_err());
        let note = names(&lines(&["# id x y"]), 4, b' ').unwrap().1.unwrap();
        assert!(note.contains("3 names for 4 columns"), "{note}");
    }

    #[test]
    fn comments_that_say_more() {
        let notes = not_read(&lines(&["# x y z", "#Box size: 62.5 Mpc/h", "#a = 0.5", "# made by hand"]));
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("line 2") && notes[0].contains("line 3") && !notes[0].contains("line 4"));
    }
}
