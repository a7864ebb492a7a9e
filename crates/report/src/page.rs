//! The page: a template, with style, scripts and data in place of its placeholders.

use std::io::{self, Write};

use ropewalk::internals::format::grouped;
use ropewalk::{Error, Result};
use serde_json::json;

use crate::embed::{escaped, write_json, write_packed};
use crate::report::{Report, Section};

/// The template. Placeholders are names in double braces.
const TEMPLATE: &str = include_str!("page/report.html");
const STYLE: &str = include_str!("page/style.css");
/// The scripts, in the order in which they run.
const SCRIPTS: [&str; 8] = [
    include_str!("page/data.js"),
    include_str!("page/camera.js"),
    include_str!("page/cloud.js"),
    include_str!("page/overlay.js"),
    include_str!("page/input.js"),
    include_str!("page/view.js"),
    include_str!("page/table.js"),
    include_str!("page/main.js"),
];

impl Report<'_> {
    /// Writes the page.
    ///
    /// # Errors
    /// Fails if writing to `out` fails.
    pub fn write(&self, mut out: impl Write) -> Result<()> {
        write_page(self, &mut out).map_err(Error::write)
    }
}

/// Writes the page of a report.
fn write_page(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut rest = TEMPLATE;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, after)| Some((before, after.split_once("}}")?)))
    {
        out.write_all(before.as_bytes())?;
        fill(report, name, out)?;
        rest = after;
    }
    out.write_all(rest.as_bytes())?;
    out.flush()
}

/// Writes what replaces a placeholder.
fn fill(report: &Report<'_>, name: &str, out: &mut dyn Write) -> io::Result<()> {
    match name {
        "title" => write!(out, "{}", escaped(&report.title)),
        "subtitle" => write!(out, "{}", escaped(&report.subtitle)),
        "version" => write!(out, "{}", env!("CARGO_PKG_VERSION")),
        "style" => write!(out, "{STYLE}"),
        "scripts" => SCRIPTS.iter().try_for_each(|script| out.write_all(script.as_bytes())),
        "shown" => write!(out, "{}", escaped(&shown(report))),
        "view" => write!(out, "{}", hidden_unless(report.cloud.is_some())),
        "catalogue" => write!(out, "{}", hidden_unless(report.catalogue.is_some())),
        "figures" => write!(out, "{}", hidden_unless(!report.figures.is_empty())),
        "images" => report.figures.iter().try_for_each(|figure| figure.write(out)),
        "command" if report.command.is_empty() => Ok(()),
        "command" => write!(out, "<pre class=\"command\"><code>{}</code></pre>", escaped(&report.command)),
        "sections" => report.sections.iter().try_for_each(|section| write_section(section, out)),
        "notes" if report.notes.is_empty() => Ok(()),
        "notes" => {
            write!(out, "<h3>Notes</h3><ul class=\"notes\">")?;
            report.notes.iter().try_for_each(|note| write!(out, "<li>{}</li>", escaped(note)))?;
            write!(out, "</ul>")
        }
        "data" => write_json(out, &describe(report)),
        "points" => write_packed(out, &report.cloud.as_ref().map_or_else(Vec::new, |cloud| cloud.bytes())),
        "values" => write_packed(out, &report.catalogue.as_ref().map_or_else(Vec::new, |table| table.bytes())),
        // A name that is not a placeholder stays as it is.
        other => write!(out, "{{{{{other}}}}}"),
    }
}

/// Returns the attribute that hides an empty part of the page.
fn hidden_unless(is_shown: bool) -> &'static str {
    if is_shown { "" } else { " hidden" }
}

/// Describes which part of the points the view shows.
fn shown(report: &Report<'_>) -> String {
    let (Some(cloud), [point, _]) = (&report.cloud, &report.names) else { return String::new() };
    let (all, shown) = (cloud.n_points() as u64, cloud.n_shown() as u64);
    let plural = if all == 1 { "" } else { "s" };
    let count = match shown == all {
        true => format!("{} {point}{plural}", grouped(all)),
        false => format!("showing {} of {} {point}{plural}", grouped(shown), grouped(all)),
    };
    match cloud.of_dim() {
        0..=3 => count,
        dim => format!("{count}; the coordinates {} of {dim}", cloud.axes().join(", ")),
    }
}

/// Returns the data of the page apart from points and values.
fn describe(report: &Report<'_>) -> serde_json::Value {
    let [point, group] = &report.names;
    json!({
        "names": { "point": point, "group": group },
        "cloud": report.cloud.as_ref().map(|cloud| cloud.describe()),
        "table": report.catalogue.as_ref().map(|table| table.describe()),
    })
}

fn write_section(section: &Section, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<section><h3>{}</h3><dl>", escaped(&section.title))?;
    for (name, value) in &section.lines {
        write!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value))?;
    }
    writeln!(out, "</dl></section>")
}

#[cfg(test)]
mod tests {
    use ropewalk::units::KnownUnits;
    use ropewalk_table::columns::{Column, Values};
    use ropewalk_table::{Points, Table};

    use super::*;
    use crate::{Catalogue, Cloud, CloudOptions, Figure, Groups};

    const ATTACK: &str = "</script><script>alert(1)</script>\"><img src=x onerror=alert(2)>{{data}}<!--";

    fn page(report: &Report<'_>) -> String {
        let mut page = vec![];
        report.write(&mut page).unwrap();
        String::from_utf8(page).unwrap()
    }

    /// A report with the text in each place that shows text.
    fn report<'a>(text: &str, columns: &'a [Column]) -> Report<'a> {
        let points = Points::F32(Table::new(2, vec![0.0, 0.0, 0.5, 0.25, 1.0, 1.0]).unwrap());
        let groups = Groups { labels: &[0, -1, 0], rows: &[0], parents: &[] };
        let axes = vec![text.into(), text.into()];
        let options = CloudOptions { axes, unit: text.into(), ..CloudOptions::default() };
        Report {
            subtitle: text.into(),
            command: text.into(),
            names: [text.into(), text.into()],
            cloud: Some(Cloud::new(&points, &groups, &options).unwrap()),
            catalogue: Some(Catalogue::new(columns, KnownUnits::default()).unwrap()),
            figures: vec![Figure { caption: text.into(), image: b"<svg/>".to_vec() }],
            sections: vec![Section { title: text.into(), lines: vec![(text.into(), text.into())] }],
            notes: vec![text.into()],
            ..Report::new(text)
        }
    }

    #[test]
    fn text_adds_no_markup() {
        let columns = |text: &str| [Column::new(text, Values::Integers(vec![2])).description(text)];
        let (plain, attack) = (columns("x"), columns(ATTACK));
        let (plain, attack) = (page(&report("x", &plain)), page(&report(ATTACK, &attack)));
        for mark in ["<script", "</script", "<img", "<!--", "id=\"report-data\""] {
            assert_eq!(attack.matches(mark).count(), plain.matches(mark).count(), "{mark}");
        }
        assert!(attack.contains("{{data}}") && !plain.contains("{{"));
    }

    #[test]
    fn the_page_names_nothing_outside_of_itself() {
        for text in SCRIPTS.iter().chain([&TEMPLATE, &STYLE]) {
            for outside in
                ["http:", "https:", "//cdn", "@import", "url(", "import(", "fetch(", "XMLHttpRequest", "eval("]
            {
                assert!(!text.contains(outside), "{outside}");
            }
        }
        for script in SCRIPTS {
            assert!(!script.contains("innerHTML") && !script.contains("</script") && !script.contains("<!--"));
        }
    }

    #[test]
    fn empty_parts_are_hidden() {
        let page = page(&Report::new("empty"));
        for id in ["view", "catalogue", "figures"] {
            assert!(page.contains(&format!("<section id=\"{id}\" hidden")), "{id}");
        }
        assert!(!page.contains("<figure>") && page.contains("\"cloud\":null"));
    }

    #[test]
    fn thinned_points_are_counted() {
        let points = Points::F32(Table::new(4, vec![0.5; 4000]).unwrap());
        let groups = Groups { labels: &[-1; 1000], rows: &[], parents: &[] };
        let options = CloudOptions { max_points: 100, ..CloudOptions::default() };
        let cloud = Some(Cloud::new(&points, &groups, &options).unwrap());
        let page = page(&Report { cloud, ..Report::new("thinned") });
        assert!(page.contains("showing 100 of 1,000 particles; the coordinates x, y, z of 4"));
    }
}
