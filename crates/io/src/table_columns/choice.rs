//! Columns that are chosen by name or by number.

use crate::messages::shorten;

/// Names columns by their numbers, from 1.
pub(super) fn numbered(width: usize) -> Vec<String> {
    (1..=width).map(|column| column.to_string()).collect()
}

/// Returns the columns that are chosen by name or by number from 1.
pub(crate) fn choose(chosen: &[String], names: &[String], width: usize) -> Result<Vec<usize>, String> {
    let mut columns = Vec::with_capacity(chosen.len());
    for wanted in chosen {
        let wanted = wanted.trim();
        let mut exact = (0..names.len()).filter(|&i| names[i] == wanted);
        let (exact, is_twice) = (exact.next(), exact.next().is_some());
        let mut alike = (0..names.len()).filter(|&i| names[i].to_lowercase() == wanted.to_lowercase());
        let column = match (exact, alike.next(), wanted.parse::<usize>()) {
            (Some(column), ..) if !is_twice => column,
            (_, Some(column), _) if alike.next().is_none() => column,
            (_, None, Ok(number)) if (1..=width).contains(&number) => number - 1,
            (_, Some(_), _) => return Err(format!("has several columns named {wanted}; choose by number")),
            _ => {
                let known = if names.is_empty() { "have no names".into() } else { format!("are {}", names.join(", ")) };
                return Err(format!("has no column {wanted}; its {width} columns {}", shorten(known.as_bytes())));
            }
        };
        if columns.contains(&column) {
            return Err(format!("column {wanted} is chosen twice"));
        }
        columns.push(column);
    }
    Ok(columns)
}
