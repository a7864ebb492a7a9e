//! Halo centres: against stored answers, against the definition on halos of every shape, and on bad input.

mod bad_input;
mod definition;
mod groupings;
mod many;
mod oracle;
mod properties;
mod reference;
mod shapes;
mod space;
mod way;
