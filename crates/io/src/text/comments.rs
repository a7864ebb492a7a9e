//! Comments of a text table: the names of its columns, and a note about comments that are not used.
//!
//! In: the comments, and the number of columns. Out: the names, and a note that lists the other comments. Names are
//! found if one comment has a name for each column, or if each column has its own comment, such as `1 NUMBER` or
//! `Column 1: id`. Names may be preceded by numbers, as `1:id 2:x`, and followed by units, as `x (kpc)`.

use crate::column_names::{not_a_coordinate, quantity_and_unit};
use crate::messages::{list, shorten};
use crate::text::lines::{Line, Record, Syntax};
use crate::text::values::{is_name, is_name_with_a_number, number};

/// Words that mark comments with metadata which readers of other formats use. A note lists these comments first.
const SAID: [&str; 26] = [
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
    "length",
    "mass",
    "velocity",
    "particle",
    "cosmology",
    "omega0",
    "om0",
    "omegam",
    "omegalambda",
    "littleh",
];
/// The maximum number of comments with such words that a note lists, and of comments in total if there are fewer of
/// these.
const MAX_TELLING: usize = 8;
const MAX_LISTED: usize = 3;
/// Names that identify a comment as one that names columns.
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

/// The names of the columns found in comments.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// Empty if no comment names the columns.
    pub names: Vec<String>,
    /// A note about the comments that name the columns, or seem to.
    pub note: Option<String>,
    /// The numbers of the lines to which the note refers.
    pub lines: Vec<u64>,
}

/// Returns the names that comments assign to `width` columns.
///
/// Errors: several comments that may name the columns.
pub(super) fn names(comments: &[Line], width: usize, delimiter: u8) -> Result<Naming, String> {
    let mut found: Vec<(Vec<u64>, Vec<String>)> = vec![];
    for (number, comment) in comments {
        let text = bare(comment);
        let plain = [delimiter, b',', b'\t', b' '].into_iter().map(|delimiter| split(text, delimiter));
        let mut ways = numbered_names(text).into_iter().chain(plain).chain([with_units(text)]);
        if let Some(names) = ways.find(|names| names.len() == width && are_names(names)) {
            found.push((vec![*number], names));
        }
    }
    let is_known = |names: &[String]| names.iter().any(|name| KNOWN.contains(&base(name).as_str()));
    if let Some(numbered) = numbered(comments, width) {
        found.retain(|(lines, names)| is_known(names) && !numbered.0.contains(&lines[0]));
        found.push(numbered);
    } else if found.iter().any(|(_, names)| is_known(names)) {
        found.retain(|(_, names)| is_known(names));
    }
    found.dedup_by(|a, b| {
        let is_same = a.1 == b.1;
        if is_same {
            b.0.append(&mut a.0);
            b.0.sort_unstable();
        }
        is_same
    });
    match &mut found[..] {
        [] => Ok(seems_to_name(comments, width)),
        [(lines, names)] => {
            let (names, lines) = (std::mem::take(names), std::mem::take(lines));
            let which = match lines[..] {
                [line] => format!("the comment in line {line} names"),
                _ => format!("the comments in lines {} to {} name", lines[0], lines[lines.len() - 1]),
            };
            let note = format!("{which} the columns: {}", shorten(list(&names).as_bytes()));
            Ok(Naming { names, note: Some(note), lines })
        }
        // Prose can have the same number of words as there are columns.
        [first, .., (lines, names)]
            if !is_known(names) && names.iter().all(|name| not_a_coordinate(name).is_none()) =>
        {
            let (first, last) = (first.0[0], lines[0]);
            let note = format!("the comments in line {first} and {last} may name the columns, and are not used");
            Ok(Naming { note: Some(note), ..Naming::default() })
        }
        [(first, _), .., (last, _)] => Err(format!(
            "the comments in line {} and {} may name the columns; make one of them the first line, without #",
            first[0], last[0]
        )),
    }
}

/// Returns the names from comments that name one column each, in order, with the numbers of their lines. `None`
/// unless every column has such a comment.
fn numbered(comments: &[Line], width: usize) -> Option<(Vec<u64>, Vec<String>)> {
    let (mut lines, mut numbers, mut names) = (vec![], vec![], vec![]);
    for (line, comment) in comments {
        if let Some((number, name)) = numbered_name(bare(comment)) {
            lines.push(*line);
            numbers.push(number);
            names.push(name);
        }
    }
    let first = *numbers.first()?;
    let is_complete = numbers.len() == width && numbers.iter().copied().eq(first..first + width);
    (width > 1 && first < 2 && is_complete).then_some((lines, names))
}

/// Parses a comment that names one column, as `1 NUMBER` or `Column 1: id`. Returns the number and the name of the
/// column.
fn numbered_name(text: &[u8]) -> Option<(usize, String)> {
    let text = std::str::from_utf8(text).ok()?;
    let of = |word: &str| {
        let (start, rest) = text.split_at_checked(word.len())?;
        start.eq_ignore_ascii_case(word).then_some(rest)
    };
    let rest = ["column", "col", "field"].into_iter().find_map(of).unwrap_or(text);
    let rest = rest.trim_start_matches([' ', '\t', '.', '#', '(', '[']);
    let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let number = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    let after = rest.trim_start();
    let marked = after.strip_prefix([':', '=', ')', ']', '.', '-']);
    let name = marked.unwrap_or(after).trim();
    let mut words = name.split_whitespace();
    let first = words.next()?;
    let bare = first.trim_end_matches([',', ';', ':']);
    // Without a mark, a description follows the name. After a mark, the name may have several words.
    let is_phrase = marked.is_some()
        && bare.len() == first.len()
        && words.next().is_some_and(|next| !next.starts_with(['[', '(', '-', '=']));
    // The unit may follow a description.
    let name = match quantity_and_unit(name) {
        _ if is_phrase => name.to_string(),
        Some((_, unit)) if quantity_and_unit(bare).is_none() => format!("{bare} [{unit}]"),
        _ => bare.to_string(),
    };
    let has_space =
        rest.starts_with([' ', '\t']) || marked.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    (has_space && !name.is_empty() && is_name(name.as_bytes())).then_some((number, name))
}

/// Prefixes of comments of other programs, recognised before the first row.
const SIGNS: [&[u8]; 3] = [b"%", b"//", b"!"];

/// Returns `true` if a line begins with a comment prefix of other programs.
pub(super) fn has_other_sign(line: &[u8]) -> bool {
    SIGNS.iter().any(|sign| line.trim_ascii().starts_with(sign))
}

/// Returns the names in a comment that numbers the columns, as `1:id 2:x`, `[1] id [2] x` or `(1) id, (2) x`. Names
/// may have several words.
fn numbered_names(text: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(text).ok()?;
    // Returns the offset of the name after a column number, which may be in brackets, at the start of a word.
    let after_number = |word: &'_ str, number: usize| -> Option<usize> {
        let rest = word.trim_start_matches(['(', '[']).strip_prefix(&number.to_string())?;
        let name = rest.trim_start_matches([':', '=', ')', ']', '.']);
        (name.is_empty() || name.len() < rest.len()).then_some(word.len() - name.len())
    };
    let start = text.split_whitespace().next()?;
    let first = [1, 0].into_iter().find(|&first| after_number(start, first).is_some())?;
    let mut names: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match (after_number(word, first + names.len()), names.last_mut()) {
            (Some(from), _) => names.push(word[from..].to_string()),
            (None, Some(name)) => *name = format!("{name} {word}"),
            (None, None) => return None,
        }
    }
    Some(names.iter().map(|name| name.trim().trim_end_matches([',', ';']).to_string()).collect())
}

/// Returns the words of a comment. A unit in brackets belongs to the word before it, as in `x (kpc)`.
fn with_units(text: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    let mut depth = 0i64;
    for word in split(text, b' ') {
        let begins = word.starts_with(['(', '[']);
        let level = |open: [char; 2]| word.matches(open).count() as i64;
        match names.last_mut().filter(|_| depth > 0 || begins) {
            Some(name) => *name = format!("{name} {word}"),
            None => names.push(word.clone()),
        }
        depth += level(['(', '[']) - level([')', ']']);
    }
    names
}

/// Returns the text of a comment without its prefix.
fn bare(comment: &[u8]) -> &[u8] {
    let text = comment.trim_ascii();
    let text = SIGNS.iter().find_map(|sign| text.strip_prefix(*sign)).unwrap_or(text);
    let from = text.iter().position(|byte| !b"#%".contains(byte)).unwrap_or(text.len());
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
        !name.is_empty()
            && (is_name(name) || is_name_with_a_number(name))
            && !name.ends_with(b":")
            && !name.ends_with(b",")
            && *name != *b"="
    };
    names.iter().all(is_one)
}

/// Returns a name in lower case, without a number or unit in brackets after it.
fn base(name: &str) -> String {
    name.split(['(', '[']).next().unwrap_or_default().trim().to_lowercase()
}

/// Returns a note about a comment with known column names whose number differs from the number of columns.
fn seems_to_name(comments: &[Line], width: usize) -> Naming {
    let found = comments.iter().find_map(|(number, comment)| {
        let words: Vec<String> = bare(comment)
            .split(|byte| byte.is_ascii_whitespace() || b",;|".contains(byte))
            .filter(|word| !word.is_empty())
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        let n = words.len();
        let known = words.iter().filter(|word| KNOWN.contains(&base(word).as_str())).count();
        let text = shorten(bare(comment));
        (known > 1 && 2 * known >= n).then(|| {
            let note =
                format!("the comment in line {number} has {n} names for {width} columns, and is not used: '{text}'");
            (note, *number)
        })
    });
    let (note, lines) = found.map_or((None, vec![]), |(note, line)| (Some(note), vec![line]));
    Naming { names: vec![], note, lines }
}

/// The comments that are not used: their number, and those that a note lists.
#[derive(Clone, Debug, Default)]
pub(super) struct UnusedComments {
    count: u64,
    /// Comments with metadata that readers of other formats use.
    telling: Vec<(u64, String)>,
    others: Vec<(u64, String)>,
}

impl UnusedComments {
    /// Adds the comment in line `number`, if it contains letters or digits.
    pub(super) fn add(&mut self, number: u64, comment: &[u8]) {
        let text = bare(comment);
        if !text.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80) {
            return;
        }
        self.count += 1;
        if self.telling.len() < MAX_TELLING && is_telling(text) {
            self.telling.push((number, shorten(text)));
        } else if self.others.len() < MAX_LISTED {
            self.others.push((number, shorten(text)));
        }
    }

    /// Returns a note about these comments; `None` if there are none.
    pub(super) fn note(&self) -> Option<String> {
        let others = MAX_LISTED.saturating_sub(self.telling.len());
        let mut shown: Vec<&(u64, String)> = self.telling.iter().chain(self.others.iter().take(others)).collect();
        shown.sort();
        let mut texts: Vec<String> = shown.iter().map(|(number, text)| format!("line {number} '{text}'")).collect();
        let more = self.count - shown.len() as u64;
        if more > 0 {
            texts.push(format!("and {more} more"));
        }
        (self.count > 0).then(|| format!("comments that are not used: {}", texts.join(", ")))
    }
}

/// Returns `true` if a comment mentions the box, units or cosmology, or assigns a value to a name.
fn is_telling(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_lowercase();
    let has_value = text.contains([':', '=']) || text.bytes().any(|byte| byte.is_ascii_digit());
    let said = |letters: &[char]| {
        let mut words = text.split(|letter: char| !letter.is_alphanumeric() && !letters.contains(&letter));
        words.any(|word| SAID.contains(&word))
    };
    let is_value = |mark: char| {
        let value = text.split_once(mark).and_then(|(_, rest)| rest.split_whitespace().next());
        value.is_some_and(|value| number(value.as_bytes()).is_some())
    };
    is_value('=') || is_value(':') || (has_value && (said(&[]) || said(&['_'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<Line> {
        (1..).zip(texts).map(|(number, text)| (number, text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn names_in_comments() {
        let of = |texts: &[&str], width| names(&lines(texts), width, b' ').unwrap().names.join(" ");
        assert_eq!(of(&["# id x y z"], 4), "id x y z");
        assert_eq!(of(&["#id,x,y,z"], 4), "id x y z");
        assert_eq!(of(&["# made by hand", "# x y z"], 3), "x y z");
        assert_eq!(of(&["# x y z", "# made by hand"], 3), "x y z");
        assert_eq!(of(&["# id x y"], 4), "");
        assert_eq!(of(&["# 1 2 3"], 3), "");
        for text in
            ["#1:id 2:x 3:y", "# 1 id 2 x 3 y", "# [1] id [2] x [3] y", "# (1) id, (2) x, (3) y", "#0=id 1=x 2=y"]
        {
            assert_eq!(of(&[text], 3), "id x y", "{text}");
        }
        let of_units = |text: &str| names(&lines(&[text]), 2, b' ').unwrap().names;
        assert_eq!(of_units("# halo_id x (Mpc / h)"), ["halo_id", "x (Mpc / h)"]);
        assert_eq!(of_units("# 1:id 2:x [kpc]"), ["id", "x [kpc]"]);
        assert_eq!(of_units("# id(1), x(2)"), ["id(1)", "x(2)"]);
        assert_eq!(
            (of_units("! id x"), of_units("// id x"), of_units("%id x")),
            (vec!["id".into(), "x".into()], vec!["id".into(), "x".into()], vec!["id".into(), "x".into()])
        );
        assert_eq!(of(&["# on and on", "# over and out"], 3), "");
        assert!(names(&lines(&["# id x y", "# x y id"]), 3, b' ').is_err());
        let note = names(&lines(&["# id x y"]), 4, b' ').unwrap().note.unwrap();
        assert!(note.contains("3 names for 4 columns"), "{note}");
    }

    #[test]
    fn a_comment_for_each_column() {
        let of = |texts: &[&str], width| names(&lines(texts), width, b' ').unwrap();
        for texts in [
            ["#   1 ID   Running number", "#   2 X  Position, right"],
            ["# Column 1: ID", "# Column 2: X"],
            ["# column 0 = ID (of the halo)", "# column 1 = X, in kpc"],
            ["# (1) ID", "# (2) X"],
            ["# 1. ID", "# 2. X"],
            ["# col1 ID", "# col2 X"],
        ] {
            let naming = of(&texts, 2);
            assert_eq!((naming.names.join(" "), naming.lines), ("ID X".into(), vec![1, 2]), "{texts:?}");
            assert!(names(&lines(&texts), 3, b' ').map_or(true, |naming| naming.names.is_empty()), "{texts:?}");
        }
        let units = of(&["#   1 ID   Running number  [count]", "#   2 X  Position [pixel]"], 2);
        assert_eq!(units.names, ["ID [count]", "X [pixel]"]);
        assert_eq!(of(&["# Column 1: x (kpc)", "# Column 2: y(kpc)"], 2).names, ["x [kpc]", "y(kpc)"]);
        assert_eq!(of(&["# 1: halo id", "# 2: x position"], 2).names, ["halo id", "x position"]);
        for texts in
            [["# 1.5 a", "# 2.5 b"], ["# 2 a", "# 3 b"], ["# 2 a", "# 1 b"], ["# 1 2", "# 2 3"], ["# 1", "# 2"]]
        {
            assert_eq!(of(&texts, 2).names.len(), 0, "{texts:?}");
        }
        assert!(names(&lines(&["# 1 ID", "# 2 X", "# x y"]), 2, b' ').is_err());
        assert_eq!(of(&["# 1 id", "# 2 x", "# id x"], 2).names, ["id", "x"]);
    }

    #[test]
    fn comments_that_are_not_used() {
        let note = |texts: &[&str]| {
            let mut unused = UnusedComments::default();
            lines(texts).iter().for_each(|(number, text)| unused.add(*number, text));
            unused.note()
        };
        assert_eq!(note(&["#", "# ----", "#"]), None);
        assert_eq!(note(&["# made by hand"]).unwrap(), "comments that are not used: line 1 'made by hand'");
        assert_eq!(
            note(&["# a", "# b", "# c", "# d", "# box_size = 10"]).unwrap(),
            "comments that are not used: line 1 'a', line 2 'b', line 5 'box_size = 10', and 2 more"
        );
        for text in [
            "box_size = 10",
            "z = 0.5",
            "h=0.7",
            "Particle mass: 1e10 Msun/h",
            "omega0 0.3",
            "length_unit: kpc",
            "Box size: 62.5 Mpc/h",
        ] {
            assert!(is_telling(text.as_bytes()), "{text}");
        }
        assert!(!is_telling(b"made by hand"));
    }
}
