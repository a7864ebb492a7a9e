//! Columns that describe the nesting of halos and subhalos.

use ropewalk::halo::{Subhalo, Subhalos};
use ropewalk::{Error, Result};

use super::Catalog;
use crate::columns::{Column, Values};

impl Catalog {
    /// Adds columns that describe the nesting of halos, with the prefix of the others: `parent`, `host`, `level`,
    /// `n_children`, `own_count`, `peak_density` and `saddle_density`.
    ///
    /// Parents and hosts are given by their rows; the parent of a halo is -1. The catalogue must be that of
    /// [`found.nested()`](Subhalos::nested).
    ///
    /// ```
    /// use ropewalk_table::columns::Values;
    /// use ropewalk::halo::Particles;
    /// use ropewalk::AdaptaHop;
    /// use ropewalk_table::Catalog;
    ///
    /// // A wide clump that contains a narrow one.
    /// let clump = |i: u32, width: f64, x: f64| {
    ///     let (r, turn, z) = (width * f64::from(i).powf(0.5), 2.4 * f64::from(i), (0.7 * f64::from(i)).sin());
    ///     [x + r * turn.cos(), r * turn.sin(), r * z]
    /// };
    /// let positions: Vec<[f64; 3]> = (0..2000).map(|i| clump(i, 0.1, 0.0)).chain((0..200).map(|i| clump(i, 0.01, 3.0))).collect();
    /// let found = AdaptaHop::new().density_threshold(0.1).run(&positions)?;
    /// let mut catalog = Catalog::new(&found.nested(), &Particles::new(&positions))?.prefix("halo");
    /// catalog.add_subhalos(&found)?;
    /// catalog.keep(&["halo_parent"])?;
    /// assert_eq!(*catalog.columns()[0].values(), Values::Signed(vec![-1, 0]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the catalogue does not have one row per structure, or if names are taken.
    pub fn add_subhalos(&mut self, found: &Subhalos) -> Result<()> {
        let rows = found.rows();
        if rows.len() != self.halos.len() {
            return Err(Error::column_length("subhalos", rows.len(), self.halos.len()));
        }
        let mut row_of = vec![0; rows.len()];
        (0..).zip(&self.order).for_each(|(row, &halo)| row_of[halo as usize] = row);
        let place = |halo: u32| i64::from(row_of[halo as usize]);
        let whole = |value: &dyn Fn(&Subhalo) -> i64| Values::Signed(rows.iter().map(value).collect());
        let counts = |value: &dyn Fn(&Subhalo) -> u64| Values::Integers(rows.iter().map(value).collect());
        let numbers = |value: &dyn Fn(&Subhalo) -> f64| Values::Numbers(rows.iter().map(value).collect());
        let own = found.structures().iter().map(|members| members.len() as u64).collect();
        let columns = [
            ("parent", whole(&|row| row.parent.map_or(-1, place)), "row of the parent; -1 for halos"),
            ("host", whole(&|row| place(row.host)), "row of the host halo; its own row for a halo"),
            (
                "level",
                counts(&|row| row.level.into()),
                "1 for a halo, 2 for a subhalo of a halo, 3 for a subhalo of that, and so on",
            ),
            ("n_children", counts(&|row| row.n_children.into()), "number of direct subhalos"),
            ("own_count", Values::Integers(own), "number of members that belong to no subhalo"),
            (
                "peak_density",
                numbers(&|row| row.peak_density),
                "maximum density of its particles over the mean density",
            ),
            (
                "saddle_density",
                numbers(&|row| row.saddle),
                "saddle density to the parent over the mean density; for halos the density threshold; all members are denser",
            ),
        ];
        for (name, values, description) in columns {
            self.add(Column::new(self.name(name), values).description(description))?;
        }
        let in_rows = |&halo: &u32| {
            let mut row = rows[halo as usize];
            row.parent = row.parent.map(|parent| row_of[parent as usize]);
            row.host = row_of[row.host as usize];
            row
        };
        self.subhalos = self.order.iter().map(in_rows).collect();
        for (name, what) in [("tag", TAG), ("label", LABEL), ("count", COUNT), ("mass", MASS)] {
            let name = self.name(name);
            if let Some(column) = self.columns.iter_mut().find(|column| column.name == name) {
                column.description = what.into();
            }
        }
        Ok(())
    }

    /// Returns the nesting of each row, with rows as parents and hosts; empty for a catalogue without subhalos
    /// ([`Catalog::add_subhalos`]).
    pub fn subhalos(&self) -> &[Subhalo] {
        &self.subhalos
    }

    /// Returns `true` if a row is a halo that is not part of another one.
    pub fn is_host(&self, row: usize) -> bool {
        self.subhalos.get(row).is_none_or(|subhalo| subhalo.parent.is_none())
    }
}

const TAG: &str = "smallest particle id of the members that belong to no subhalo; index from 0 if there are no ids";
const LABEL: &str =
    "row of the catalogue, from 0, which is the label in labels.npy of the members that belong to no subhalo";
const COUNT: &str = "number of members, including those of all subhalos, as in the columns below";
const MASS: &str = "mass of the members, including those of all subhalos";
