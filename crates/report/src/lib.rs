//! Reports of runs as one HTML file that needs neither a network nor other files.
//!
//! - an interactive view of the points, coloured by halo or cluster, drawn with WebGL2,
//! - the catalogue as a table that can be sorted and filtered, with units,
//! - the figures of the run,
//! - its settings, notes and times.
//!
//! In: points with labels ([`Cloud`]), columns ([`Catalogue`]), [`Figure`]s, and lines of text ([`Section`]). Out: the
//! bytes of a page, from [`Report::write`].
//!
//! Steps: the points are grouped by label and thinned (`groups`), and quantized to 16 bits per axis (`cloud`). Points
//! and columns are compressed and encoded as text (`embed`). `page` fills in the template in `page/`, which holds
//! the style and the scripts of the page. Titles, names and notes are escaped; figures are images without scripts.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod catalogue;
mod cloud;
mod embed;
mod errors;
mod figure;
mod groups;
mod page;
mod report;

pub use catalogue::Catalogue;
pub use cloud::{Cloud, CloudOptions};
pub use figure::Figure;
pub use groups::{Groups, MAX_POINTS};
pub use report::{Report, Section};
