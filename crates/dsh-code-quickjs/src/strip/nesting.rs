pub(super) const MESSAGE: &str = "the program is nested too deeply: split it into statements or functions";
pub(super) fn too_deep(_: &str) -> Option<usize> { None }
