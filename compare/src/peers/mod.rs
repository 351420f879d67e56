//! Other people's crates, used as their documentation says.

pub mod jsonschema;
pub mod rig;
