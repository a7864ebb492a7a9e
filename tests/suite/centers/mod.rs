//! Halo centres, compared with stored results and with the definition on halos of all shapes, and invalid input.

mod bad_input;
mod definition;
mod groupings;
mod many;
mod oracle;
mod properties;
mod reference;
mod shapes;
mod space;
mod search;
