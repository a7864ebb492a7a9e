//! The rule that decides from a column's name whether it is a coordinate of a table, and the search for longitude and
//! latitude.
//!
//! In: names. Out: the reason why a column is not a coordinate; the indices of the columns of longitude and latitude.
//! All table formats use this rule. It ignores values: integers may be coordinates, and labels may be floats.

use ropewalk::units::{LengthUnit, MassUnit, VelocityUnit};

/// Last words of names of labels: the class, cluster or group of a row.
const LABELS: [&str; 26] = [
    "label",
    "labels",
    "class",
    "classes",
    "target",
    "targets",
    "cluster",
    "clusters",
    "category",
    "categories",
    "species",
    "group",
    "groups",
    "component",
    "family",
    "ytrue",
    "ypred",
    "labelled",
    "clusterid",
    "classid",
    "clusterlabel",
    "classlabel",
    "labeltrue",
    "labelpred",
    "groundtruth",
    "groupid",
];
/// Names of row numbers.
const INDEXES: [&str; 14] = [
    "",
    "index",
    "idx",
    "unnamed",
    "row",
    "rows",
    "rownum",
    "rownumber",
    "rowid",
    "rownames",
    "rowindex",
    "recno",
    "linenumber",
    "number",
];
/// Last words of names of ids.
const IDS: [&str; 15] = [
    "id",
    "ids",
    "uid",
    "uuid",
    "guid",
    "pid",
    "oid",
    "objid",
    "sourceid",
    "particleid",
    "particleids",
    "haloid",
    "objectid",
    "specobjid",
    "hosthalo",
];
/// Last words of names of weights, flags and probabilities of a row.
const QUALIFIERS: [&str; 9] =
    [WEIGHT, "weights", "flag", "flags", "mask", "masked", "probability", "probabilities", "isnoise"];
/// A statistical weight, or the weight of a body.
const WEIGHT: &str = "weight";
/// Units accepted in parentheses after names, besides those of lengths, masses and velocities.
const OTHER_UNITS: [&str; 9] = ["deg", "degree", "degrees", "rad", "arcmin", "arcsec", "mas", "pix", "pixel"];
const LONGITUDES: [&str; 7] = ["lon", "long", "lng", "longitude", "ra", "raj2000", "rightascension"];
const LATITUDES: [&str; 8] = ["lat", "latitude", "dec", "decl", "de", "dej2000", "decj2000", "declination"];

/// Returns the reason why a column with this name is not a coordinate unless it is chosen, or `None` if it may be
/// one.
pub(super) fn not_a_coordinate(name: &str) -> Option<&'static str> {
    let words = words(name);
    let whole = words.concat();
    let last = words.last().map_or("", |word| word.as_str());
    let has = |list: &[&str]| list.contains(&last) || list.contains(&whole.as_str());
    if name.starts_with("__") || INDEXES.contains(&whole.as_str()) || whole == "level" {
        return Some("an index by its name");
    }
    // Names of principal components end in a number.
    let is_numbered = last == "component" && name.trim_end().ends_with(|letter: char| letter.is_ascii_digit());
    if has(&LABELS) && !is_numbered {
        return Some("a label by its name");
    }
    if has(&IDS) {
        return Some("an id by its name");
    }
    has(&QUALIFIERS).then_some("a flag or weight by its name")
}

/// Returns `true` if a column with this name may hold weights of rows or of bodies.
pub(super) fn may_be_weight(name: &str) -> bool {
    words(name).last().is_some_and(|last| last == WEIGHT)
}

/// Returns the quantity and the unit in a name such as `x [kpc]` or `vx (km/s)`. Parentheses can also hold other
/// words, so only known units are accepted in them.
pub(super) fn quantity_and_unit(name: &str) -> Option<(&str, &str)> {
    let name = name.trim();
    let (quantity, unit, is_sure) = match name.strip_suffix(']') {
        Some(name) => name.rsplit_once('[').map(|(quantity, unit)| (quantity, unit, true)),
        None => name.strip_suffix(')')?.rsplit_once('(').map(|(quantity, unit)| (quantity, unit, false)),
    }?;
    let (quantity, unit) = (quantity.trim(), unit.trim());
    let is_known = unit.parse::<LengthUnit>().is_ok()
        || unit.parse::<MassUnit>().is_ok()
        || unit.parse::<VelocityUnit>().is_ok()
        || OTHER_UNITS.contains(&unit);
    let is_unit = unit.contains(|letter: char| letter.is_alphabetic()) && (is_sure || is_known);
    (is_unit && !quantity.is_empty()).then_some((quantity, unit))
}

/// Returns a name without its unit.
pub(super) fn quantity(name: &str) -> &str {
    quantity_and_unit(name).map_or(name, |(quantity, _)| quantity)
}

/// Returns the indices of the columns of longitude and latitude, by names such as `lon` and `lat` or `RA` and `DEC`.
/// `None` if either is missing or ambiguous.
///
/// ```
/// assert_eq!(ropewalk_io::sky_columns(&["RA".into(), "z".into(), "DEC".into()]), Some([0, 2]));
/// assert_eq!(ropewalk_io::sky_columns(&["x".into(), "y".into()]), None);
/// ```
pub fn sky_columns(names: &[String]) -> Option<[usize; 2]> {
    let names: Vec<(usize, &str)> = names.iter().map(|name| quantity(name)).enumerate().collect();
    longitude_and_latitude(&names).ok().flatten()
}

/// Returns the columns of longitude and latitude among `names`, or `None` if either is missing or ambiguous.
///
/// Errors: several columns of longitude and several columns of latitude.
pub(super) fn longitude_and_latitude(names: &[(usize, &str)]) -> Result<Option<[usize; 2]>, String> {
    let find = |list: &[&str]| -> Vec<(usize, String)> {
        let of = |&(place, name): &(usize, &str)| {
            let words = words(name);
            let is_one = list.contains(&words.concat().as_str())
                || [words.first(), words.last()].into_iter().flatten().any(|word| list.contains(&word.as_str()));
            is_one.then(|| (place, name.to_string()))
        };
        names.iter().filter_map(of).collect()
    };
    let only = |list: &[&str], found: &[(usize, String)]| match found {
        [(place, _)] => Some(*place),
        // For example `ra` beside `ra_error`.
        _ => {
            let mut exact = found.iter().filter(|(_, name)| list.contains(&words(name).concat().as_str()));
            exact.next().filter(|_| exact.next().is_none()).map(|(place, _)| *place)
        }
    };
    let (longitudes, latitudes) = (find(&LONGITUDES), find(&LATITUDES));
    match (only(&LONGITUDES, &longitudes), only(&LATITUDES, &latitudes)) {
        (Some(longitude), Some(latitude)) => Ok(Some([longitude.min(latitude), longitude.max(latitude)])),
        _ if longitudes.len() > 1 && latitudes.len() > 1 => {
            let all: Vec<String> = longitudes.into_iter().chain(latitudes).map(|(_, name)| name).collect();
            Err(format!("has several columns of longitudes and latitudes: {}", all.join(", ")))
        }
        _ => Ok(None),
    }
}

/// Returns the words of a name in lower case, without trailing numbers: `haloID_2` gives `halo`, `id`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut word = String::new();
    let mut before = ' ';
    for letter in name.chars() {
        // A word begins where an upper-case letter follows a lower-case letter.
        if (letter.is_uppercase() && before.is_lowercase()) || !letter.is_alphanumeric() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    while words.len() > 1 && words.last().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
        words.pop();
    }
    if let Some(last) = words.last_mut() {
        let bare = last.trim_end_matches(|letter: char| letter.is_ascii_digit());
        if !bare.is_empty() && !last.ends_with("j2000") {
            last.truncate(bare.len());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_coordinates() {
        for name in [
            "label",
            "Class",
            "TARGET",
            "cluster_id",
            "Cluster 1",
            "true_label",
            "y_true",
            "species",
            "index",
            "",
            " ",
            "Unnamed: 0",
            "__index_level_0__",
            "level_0",
            "source_id",
            "haloID",
            "ParticleIDs",
            "objid",
            "weight",
            "is_flag",
            "row_number",
            "NUMBER",
            "hostHalo",
            "group",
            "label_2",
            "SPECOBJID",
            "HaloID",
            "component",
            "gmm_component",
        ] {
            assert!(not_a_coordinate(name).is_some(), "{name}");
        }
        for name in [
            "x",
            "petal length (cm)",
            "target_x",
            "group_x",
            "RA",
            "dec",
            "feature_1",
            "pc1",
            "humidity",
            "grid",
            "width",
            "0",
            "x1",
            "class_probability_x",
            "m200",
            "paid",
            "solid",
            "index_of_refraction",
            "principal component 1",
            "component_2",
            "atomic_number",
            "number_density",
        ] {
            assert_eq!(not_a_coordinate(name), None, "{name}");
        }
    }

    #[test]
    fn units_in_names() {
        for (name, found) in [
            ("x [kpc]", Some(("x", "kpc"))),
            ("vx(km/s)", Some(("vx", "km/s"))),
            ("sepal length (cm)", Some(("sepal length", "cm"))),
            ("q [furlong]", Some(("q", "furlong"))),
            ("x(3)", None),
            ("v[2]", None),
            ("mass (BH)", None),
            ("[kpc]", None),
            ("x", None),
        ] {
            assert_eq!(quantity_and_unit(name), found, "{name}");
        }
    }

    #[test]
    fn longitudes_and_latitudes() {
        let find = |names: &[&str]| longitude_and_latitude(&names.iter().copied().enumerate().collect::<Vec<_>>());
        assert_eq!(find(&["fare", "lat", "lon"]), Ok(Some([1, 2])));
        assert_eq!(find(&["RA", "DEC", "z"]), Ok(Some([0, 1])));
        assert_eq!(find(&["ra", "ra_error", "dec", "dec_error"]), Ok(Some([0, 2])));
        assert_eq!(find(&["sc.ra", "sc.dec"]), Ok(Some([0, 1])));
        assert_eq!(find(&["RAJ2000", "DEJ2000"]), Ok(Some([0, 1])));
        assert_eq!(find(&["lon", "x"]), Ok(None));
        assert_eq!(find(&["petal", "sepal"]), Ok(None));
        assert!(find(&["pickup_lon", "pickup_lat", "dropoff_lon", "dropoff_lat"]).is_err());
    }
}
