//! What is near.

pub(super) mod nearest;
pub(super) mod neighbors;
pub(super) mod range;
pub(super) mod visitor;

pub use nearest::Neighbors;
pub use visitor::Visitor;
