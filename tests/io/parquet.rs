//! Parquet tables: our own there and back, and others'.

use std::fs::File;

use ropewalk::halo::{Column, Meta, Values};
use ropewalk::io::write_parquet;
use ropewalk::units::{Quantity, Units};

use super::Folder;

fn columns(n: usize) -> Vec<Column> {
    let numbers = |shift: f64| Values::Numbers((0..n).map(|i| shift + i as f64 / 3.0).collect());
    vec![
        Column::new("id", Values::Integers((0..n as u64).map(|i| u64::MAX - i).collect())),
        Column::new("label", Values::Signed((0..n as i64).map(|i| i - 1).collect())),
        Column::new("x", numbers(0.5)).quantity(Quantity::Length).description("of the centre"),
        Column::new("mass", numbers(1.0)).quantity(Quantity::Mass),
    ]
}

fn meta() -> [(&'static str, Meta); 3] {
    [
        ("redshift", Meta::Number(0.5)),
        ("finder", Meta::Text("FOF \"b = 0.2\"".into())),
        ("files", Meta::Lines(vec!["a.0".into(), "a.1".into()])),
    ]
}

#[test]
fn written() {
    let folder = Folder::new("parquet");
    let path = folder.file("table.parquet");
    write_parquet(File::create(&path).unwrap(), &columns(1_050_000), Some(&Units::GADGET), &meta()).unwrap();
    let message = |columns: &[Column]| write_parquet(vec![], columns, None, &[]).unwrap_err().to_string();
    let mut unequal = columns(3);
    unequal.push(Column::new("y", Values::Numbers(vec![])));
    assert!(message(&unequal).contains("column y has 0 values, but the first column has 3"));
    assert!(message(&[columns(3), columns(3)].concat()).contains("two columns are named id"));
    let mut empty = vec![];
    write_parquet(&mut empty, &columns(0), None, &[]).unwrap();
    assert!(empty.starts_with(b"PAR1") && empty.ends_with(b"PAR1"));
}
