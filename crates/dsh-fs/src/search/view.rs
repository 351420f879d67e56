//! What people see of a finished search (F135). Functions of logged data alone.

use dsh_tools::DurableResult;
use dsh_tools::card::{ResultView, SearchView};
use serde::Serialize;

/// Room for the names and numbers around the list of a card's data.
const ENVELOPE_BYTES: u64 = 96;

/// Counts what still fits into the data of a card.
#[derive(Debug)]
pub(crate) struct Fit {
    room: u64,
    is_first: bool,
}

impl Fit {
    pub(crate) const fn new(max_bytes: u64) -> Self {
        Self {
            room: max_bytes.saturating_sub(ENVELOPE_BYTES),
            is_first: true,
        }
    }

    /// Takes an item of a list if there is room for it. The first one always fits.
    pub(crate) fn takes(&mut self, item: &impl Serialize) -> bool {
        let size = serde_json::to_string(item).map_or(u64::MAX, |json| json.len() as u64 + 1);
        let fits = self.is_first || size <= self.room;
        if fits {
            self.is_first = false;
            self.room = self.room.saturating_sub(size);
        }
        fits
    }
}

/// The card of a finished search from its meta. Nothing for failures and for data that contradicts
/// itself: it comes from a log and may be from anywhere.
pub(crate) fn card_of(
    result: &DurableResult,
    is_shape: fn(&SearchView) -> bool,
) -> Option<ResultView> {
    if result.is_error {
        return None;
    }
    let view: SearchView = result.meta.as_ref()?.decode().ok()?;
    (is_shape(&view) && is_consistent(&view)).then_some(ResultView::Search(view))
}

fn is_consistent(view: &SearchView) -> bool {
    let (kept, truncated, total) = match view {
        SearchView::Matches {
            files,
            truncated,
            total,
            ..
        } => {
            let mut matches = files.iter().flat_map(|file| &file.matches);
            if matches.any(|found| found.line_number == 0) {
                return false;
            }
            let kept: usize = files.iter().map(|file| file.matches.len()).sum();
            (kept as u64, *truncated, *total)
        }
        SearchView::Paths {
            paths,
            truncated,
            total,
            ..
        } => (paths.len() as u64, *truncated, *total),
    };
    if truncated {
        kept < total
    } else {
        kept == total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f135_the_first_item_always_fits() {
        let mut fit = Fit::new(1);
        assert!(fit.takes(&"long enough not to fit"));
        assert!(!fit.takes(&""));
        let mut fit = Fit::new(ENVELOPE_BYTES + 8);
        // Two quotes and a comma each.
        assert!(fit.takes(&"a"));
        assert!(fit.takes(&"b"));
        assert!(!fit.takes(&"c"));
    }

    #[test]
    fn f135_numbers_have_to_fit_together() {
        let check = |json: &str| {
            serde_json::from_str::<SearchView>(json).is_ok_and(|view| is_consistent(&view))
        };
        for (json, wanted) in [
            (
                r#"{"shape":"paths","paths":[],"truncated":false,"total":0}"#,
                true,
            ),
            (
                r#"{"shape":"paths","paths":["a"],"truncated":false,"total":1}"#,
                true,
            ),
            (
                r#"{"shape":"paths","paths":["a"],"truncated":true,"total":2}"#,
                true,
            ),
            (
                r#"{"shape":"paths","paths":["a"],"truncated":true,"total":1}"#,
                false,
            ),
            (
                r#"{"shape":"paths","paths":["a"],"truncated":false,"total":2}"#,
                false,
            ),
            (
                r#"{"shape":"paths","paths":["a"],"truncated":false,"total":-1}"#,
                false,
            ),
            (
                r#"{"shape":"paths","paths":"a","truncated":false,"total":1}"#,
                false,
            ),
            (
                r#"{"shape":"other","paths":[],"truncated":false,"total":0}"#,
                false,
            ),
            (r#"{"paths":[],"truncated":false,"total":0}"#, false),
            (
                r#"{"shape":"matches","files":[{"path":"a","matches":[{"lineNumber":1,"line":""}]}],"truncated":false,"total":1}"#,
                true,
            ),
            (
                r#"{"shape":"matches","files":[{"path":"a","matches":[{"lineNumber":0,"line":""}]}],"truncated":false,"total":1}"#,
                false,
            ),
        ] {
            assert_eq!(check(json), wanted, "{json}");
        }
    }
}
