//! What is shown of many paths (F113, F114).

use std::collections::HashMap;

use crate::search::{Rest, footer_end};

/// A choice from a list of paths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page<'a> {
    pub(super) paths: Vec<&'a str>,
    /// How many top-level entries are represented, and how many there are; nothing for the first
    /// paths of the list.
    pub(super) sampled: Option<(usize, usize)>,
}

/// Chooses `max` of more paths: the first ones, or in turn from every entry directly below `root`.
pub(super) fn page<'a>(root: &str, paths: &[&'a str], max: usize, sampled: bool) -> Page<'a> {
    let head = || Page {
        paths: paths.iter().take(max).copied().collect(),
        sampled: None,
    };
    if !sampled {
        return head();
    }
    let mut groups: Vec<Vec<&'a str>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for path in paths {
        let index = *known.entry(entry_of(root, path)).or_insert(groups.len());
        if index == groups.len() {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.get_mut(index) {
            group.push(path);
        }
    }
    // A flat result: every path is an entry of its own, and in turn means in order.
    if groups.len() == paths.len() {
        return head();
    }
    let mut shares = vec![0_usize; groups.len()];
    let mut left = max;
    while left > 0 {
        let before = left;
        for (group, share) in groups.iter().zip(&mut shares) {
            if left > 0 && *share < group.len() {
                *share += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    let represented = shares.iter().filter(|&&share| share > 0).count();
    let chosen = groups.iter().zip(&shares);
    Page {
        paths: chosen
            .flat_map(|(group, &share)| group.iter().take(share).copied())
            .collect(),
        sampled: Some((represented, groups.len())),
    }
}

/// The entry directly below `root` that `path` belongs to.
fn entry_of<'a>(root: &str, path: &'a str) -> &'a str {
    let below = match root {
        "." => path,
        root => path
            .strip_prefix(root)
            .map_or(path, |below| below.trim_start_matches('/')),
    };
    below.split('/').next().unwrap_or(below)
}

impl Page<'_> {
    /// The page as text, `total` being the length of the whole list.
    pub(super) fn render(&self, total: usize, rest: Rest<'_>) -> String {
        let mut text = self.paths.join("\n");
        let shown = self.paths.len();
        text.push_str(&format!("\n\n(Showing {shown} of {total} paths"));
        if let Some((represented, entries)) = self.sampled {
            text.push_str(&format!(
                ", taken in turn from {represented} of {entries} top-level entries"
            ));
            if represented < entries {
                text.push_str("; narrow the path to see the others");
            }
        }
        text.push_str(". ");
        text.push_str(&footer_end(rest));
        text.push(')');
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths<'a>(
        root: &str,
        all: &[&'a str],
        max: usize,
    ) -> (Vec<&'a str>, Option<(usize, usize)>) {
        let page = page(root, all, max, true);
        (page.paths, page.sampled)
    }

    #[test]
    fn f114_every_entry_gets_one_slot_before_any_gets_a_second() {
        let all = ["b/1", "b/2", "b/3", "a/1", "c", "a/2", "b/4"];
        assert_eq!(
            paths(".", &all, 4),
            (vec!["b/1", "b/2", "a/1", "c"], Some((3, 3)))
        );
        assert_eq!(
            paths(".", &all, 6),
            (vec!["b/1", "b/2", "b/3", "a/1", "a/2", "c"], Some((3, 3)))
        );
        // Groups stand in the order of the full list, whatever their names.
        assert_eq!(paths(".", &all, 2), (vec!["b/1", "a/1"], Some((2, 3))));
        let below = ["x/b/1", "x/b/2", "x/a/1"];
        assert_eq!(
            paths("x", &below, 2),
            (vec!["x/b/1", "x/a/1"], Some((2, 2)))
        );
    }

    #[test]
    fn f114_without_sampling_and_for_flat_results_it_is_the_head() {
        let all = ["b/1", "b/2", "a/1"];
        let head = page(".", &all, 2, false);
        assert_eq!((head.paths, head.sampled), (vec!["b/1", "b/2"], None));
        let flat = ["c", "a", "b"];
        assert_eq!(paths(".", &flat, 2), (vec!["c", "a"], None));
    }

    #[test]
    fn f113_f114_footers() {
        let saved = crate::search::Saved {
            place: "/s/glob-results.txt".to_owned(),
            hint: "use `read` with that path".to_owned(),
        };
        let all = ["b/1", "b/2", "a/1"];
        assert_eq!(
            page(".", &all, 2, false).render(3, Rest::Lost),
            "b/1\nb/2\n\n(Showing 2 of 3 paths. The complete result could not be saved; narrow the \
             search with a more specific pattern or path.)"
        );
        assert_eq!(
            page(".", &all, 2, true).render(3, Rest::Saved(&saved)),
            "b/1\na/1\n\n(Showing 2 of 3 paths, taken in turn from 2 of 2 top-level entries. The \
             complete result is stored at /s/glob-results.txt; use `read` with that path.)"
        );
        let text = page(".", &all, 1, true).render(3, Rest::Saved(&saved));
        assert!(text.contains(
            "(Showing 1 of 3 paths, taken in turn from 1 of 2 top-level entries; narrow the path \
             to see the others. The complete result"
        ));
    }

    proptest! {
        /// Against the definition: slots are given out one at a time.
        #[test]
        fn f114_slots_are_fair(
            all in prop::collection::vec("[abc]/[xyz]", 1..20),
            max in 1..20_usize,
        ) {
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            prop_assume!(max < all.len());
            let page = page(".", &all, max, true);
            let group = |path: &str| path.chars().next();
            let mut order = Vec::new();
            for path in &all {
                if !order.contains(&group(path)) {
                    order.push(group(path));
                }
            }
            let mut wanted: Vec<Vec<&str>> = vec![Vec::new(); order.len()];
            let mut left = max;
            for round in 0.. {
                for (index, name) in order.iter().enumerate() {
                    let nth = all.iter().filter(|path| group(path) == *name).nth(round);
                    if let (Some(path), true) = (nth, left > 0) {
                        wanted[index].push(path);
                        left -= 1;
                    }
                }
                if left == 0 {
                    break;
                }
            }
            prop_assert_eq!(page.paths, wanted.concat());
        }
    }
}
