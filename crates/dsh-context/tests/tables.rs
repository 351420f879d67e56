//! Named and anonymous tables.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use dsh_context::{EntryTable, NamedTable};

fn listed<V: Copy>(table: &NamedTable<V>) -> Vec<(String, V)> {
    table
        .iter()
        .map(|(name, &value)| (name.to_string(), value))
        .collect()
}

/// T145: insertion order and duplicates; the rejected value comes back.
#[test]
fn t145_a_named_table_keeps_order_and_rejects_duplicates() {
    let mut table = NamedTable::new();
    let first = table.insert("b", 1).unwrap();
    table.insert("a", 2).unwrap();
    let duplicate = table.insert("b", 3).unwrap_err();
    assert_eq!(
        (&*duplicate.name, duplicate.value, duplicate.existing),
        ("b", 3, first)
    );
    assert_eq!(
        duplicate.to_string(),
        "the name `b` is already taken in this table"
    );
    assert_eq!(listed(&table), [("b".to_owned(), 1), ("a".to_owned(), 2)]);
    assert_eq!(table.get("b"), Some(&1));
    assert_eq!(table.iter().len(), 2);
}

/// T63: any text is a name.
#[test]
fn t63_any_text_is_a_name() {
    let mut table = NamedTable::new();
    for name in ["", "__proto__", "with space", "\u{0}", "名前"] {
        table.insert(name, name.len()).unwrap();
        assert!(table.contains(name));
    }
    assert_eq!(table.len(), 5);
}

/// T66, T67, T145: an undo is exact and idempotent.
#[test]
fn t67_a_stale_undo_leaves_the_newcomer() {
    let mut table = NamedTable::new();
    let stale = table.insert("a", 1).unwrap();
    table.insert("b", 2).unwrap();
    assert_eq!(table.remove(stale), Some(1));
    assert!(!table.contains("a"));
    let fresh = table.insert("a", 3).unwrap();
    assert_eq!(table.remove(stale), None);
    assert_eq!(table.get_by_id(stale), None);
    assert_eq!(table.entry("a"), Some((fresh, &3)));
    assert_eq!(
        listed(&table),
        [("b".to_owned(), 2), ("a".to_owned(), 3)],
        "a newcomer is last"
    );
}

#[test]
fn a_value_can_be_changed_in_place() {
    let mut table = NamedTable::new();
    let id = table.insert("a", 1).unwrap();
    *table.get_mut(id).unwrap() = 2;
    assert_eq!(table.get("a"), Some(&2));
}

/// A clone is a table of its own in which the ids keep their meaning.
#[test]
fn ids_hold_in_clones() {
    let mut table = NamedTable::new();
    let id = table.insert("a", 1).unwrap();
    let mut clone = table.clone();
    assert_eq!(clone.remove(id), Some(1));
    assert_eq!(table.get("a"), Some(&1));
}

/// Removal from anywhere keeps order and stays cheap with many entries.
#[test]
fn removal_from_anywhere_keeps_order() {
    let mut table = NamedTable::new();
    let ids: Vec<_> = (0..10_000)
        .map(|value| table.insert(value.to_string(), value).unwrap())
        .collect();
    for &id in ids.iter().step_by(2) {
        table.remove(id);
    }
    assert!(
        table
            .iter()
            .map(|(_, &value)| value)
            .eq((1..10_000).step_by(2))
    );
    for &id in ids.iter().rev() {
        table.remove(id);
    }
    assert!(table.is_empty());
}

/// T146: equal values are independent entries; later ones can be put in front (T157).
#[test]
fn t146_equal_values_are_independent() {
    let mut table = EntryTable::new();
    let first = table.push("same");
    let second = table.push("same");
    table.prepend("front");
    assert_eq!(table.remove(first), Some("same"));
    assert_eq!(table.remove(first), None);
    assert_eq!(table.get(second), Some(&"same"));
    assert!(table.iter().eq(&["front", "same"]));
    assert_eq!(table.len(), 2);
}

/// D8: a snapshot does not see what changes after it, and costs nothing while nothing changes.
#[test]
fn d8_snapshots_are_stable_and_shared() {
    let mut table = EntryTable::new();
    let first = table.push(1);
    let before = table.snapshot();
    assert!(Arc::ptr_eq(&before, &table.snapshot()));
    table.push(2);
    let after = table.snapshot();
    table.remove(first);
    table.prepend(3);
    assert_eq!(
        (&*before, &*after, &*table.snapshot()),
        (&[1][..], &[1, 2][..], &[3, 2][..])
    );
    let same = table.snapshot();
    assert_eq!(table.remove(first), None);
    assert!(
        Arc::ptr_eq(&same, &table.snapshot()),
        "removing nothing changes nothing"
    );
}
