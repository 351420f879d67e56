//! Scopes and layers.
#![allow(clippy::unwrap_used, reason = "a test")]

mod rig;

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use dsh_context::{EntryTable, Fiber, FiberState, Layer, Layers, NamedTable, Scope};
use pollster::block_on;

/// T124, D42: identity decides, not the label.
#[test]
fn t124_scopes_are_compared_by_identity() {
    let (one, two) = (Scope::new("agent"), Scope::new("agent"));
    assert_ne!(one, two);
    assert_ne!(one.id(), two.id());
    assert_eq!(one, one.clone());
    assert_eq!(HashSet::from([one.clone(), one, two]).len(), 2);
}

/// T125: usable immediately and synchronously.
#[test]
fn t125_a_scope_owns_what_is_registered_through_it() {
    let scope = Scope::new("agent");
    assert_eq!(scope.label(), "agent");
    assert_eq!(scope.fiber().label(), "agent");
    let effect = scope.fiber().effect("a", || ()).unwrap();
    block_on(scope.dispose());
    assert!(!effect.is_live());
    assert!(scope.fiber().effect("late", || ()).is_err(), "L13");
}

/// T132: nearest first, itself included; a root has no parent.
#[test]
fn t132_the_chain_is_nearest_first() {
    let root = Scope::new("root");
    let middle = Scope::new("middle").child_of(&root);
    let leaf = Scope::new("leaf").child_of(&middle);
    let labels = |scope: &Scope| -> Vec<String> {
        scope
            .chain()
            .map(|scope| scope.label().to_owned())
            .collect()
    };
    assert_eq!(labels(&leaf), ["leaf", "middle", "root"]);
    assert_eq!(labels(&root), ["root"]);
    assert_eq!(root.parent(), None);
    assert_eq!(leaf.parent(), Some(&middle));
}

/// T134, T135: upward only, the same scope included.
#[test]
fn t134_within_means_the_same_or_below() {
    let root = Scope::new("root");
    let left = Scope::new("left").child_of(&root);
    let right = Scope::new("right").child_of(&root);
    assert!(left.is_within(&left) && left.is_within(&root));
    assert!(!root.is_within(&left), "not downward");
    assert!(!left.is_within(&right), "not sideways");
}

/// T129, T131: a second parent makes another scope; the first relation stays what it was.
#[test]
fn t129_a_relation_never_changes() {
    let (one, two) = (Scope::new("one"), Scope::new("two"));
    let child = Scope::new("child").child_of(&one);
    let moved = child.clone().child_of(&two);
    assert_eq!(child.parent(), Some(&one));
    assert_eq!(moved.parent(), Some(&two));
    assert_ne!(child, moved);
    let own = one.clone().child_of(&one);
    assert_eq!(own.chain().count(), 2, "not a circle");
    assert_eq!(one.parent(), None);
}

/// T133: parent and owner in one creation; the parent relation is not a lifetime.
#[test]
fn t133_parent_and_owner_are_independent() {
    let (owner, preset) = (Fiber::root("owner"), Scope::new("preset"));
    let agent = Scope::owned_by(&owner, "agent").unwrap().child_of(&preset);
    block_on(preset.dispose());
    assert!(agent.fiber().is_active());
    block_on(owner.dispose());
    assert_eq!(agent.fiber().state(), FiberState::Disposed);
}

#[derive(Default)]
struct Contributions {
    named: NamedTable<u32>,
    anonymous: EntryTable<u32>,
}

impl Layer for Contributions {
    fn is_empty(&self) -> bool {
        self.named.is_empty() && self.anonymous.is_empty()
    }
}

/// T72, T148: the global layer exists from the start; reading creates nothing.
#[test]
fn t148_reading_creates_no_layer() {
    let mut layers = Layers::<Contributions>::new();
    let scope = Scope::new("agent");
    assert!(layers.global().is_empty());
    assert!(layers.exact(scope.id()).is_none());
    assert_eq!(layers.chain(Some(&scope)).count(), 0);
    assert_eq!(layers.visible(Some(&scope)).count(), 1);
    assert_eq!(layers.visible(None).count(), 1);
    assert!(layers.withdraw(scope.id(), |_| ()).is_none());
    assert_eq!(layers.scopes().count(), 0);
}

/// T149: exact reads, and chain reads farthest first with absent layers skipped.
#[test]
fn t149_chain_reads_are_farthest_first() {
    let mut layers = Layers::<Contributions>::new();
    let root = Scope::new("root");
    let middle = Scope::new("middle").child_of(&root);
    let leaf = Scope::new("leaf").child_of(&middle);
    layers.global_mut().anonymous.push(0);
    layers.contribute(&leaf, |layer| layer.anonymous.push(3));
    layers.contribute(&root, |layer| layer.anonymous.push(1));
    let values = |layers: Vec<&Contributions>| -> Vec<u32> {
        layers
            .into_iter()
            .flat_map(|layer| &layer.anonymous)
            .copied()
            .collect()
    };
    assert_eq!(values(layers.chain(Some(&leaf)).collect()), [1, 3]);
    assert_eq!(values(layers.nearest_first(Some(&leaf)).collect()), [3, 1]);
    assert_eq!(values(layers.visible(Some(&leaf)).collect()), [0, 1, 3]);
    assert_eq!(values(layers.visible(Some(&middle)).collect()), [0, 1]);
    assert_eq!(values(layers.visible(None).collect()), [0]);
    assert_eq!(values(layers.exact(leaf.id()).into_iter().collect()), [3]);
    assert!(layers.exact(middle.id()).is_none());
}

/// T149, L50: merging applies global, then the chain; a shadowing entry keeps the original position.
#[test]
fn t149_merging_shadows_in_place() {
    let mut layers = Layers::<Contributions>::new();
    let scope = Scope::new("agent");
    for (name, value) in [("a", 1), ("b", 2)] {
        layers.global_mut().named.insert(name, value).unwrap();
    }
    layers.contribute(&scope, |layer| {
        layer.named.insert("c", 3).unwrap();
        layer.named.insert("a", 4).unwrap();
    });
    let merged = |scope: Option<&Scope>| -> Vec<(String, u32)> {
        NamedTable::merge(layers.visible(scope).map(|layer| &layer.named))
            .into_iter()
            .map(|(name, &value)| (name.to_string(), value))
            .collect()
    };
    let expected = [("a", 4), ("b", 2), ("c", 3)].map(|(name, value)| (name.to_owned(), value));
    assert_eq!(merged(Some(&scope)), expected);
    assert_eq!(merged(None), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
}

/// T150: a contribution that fails or panics leaves no layer that was made for it.
#[test]
fn t150_a_failed_contribution_leaves_no_layer() {
    let mut layers = Layers::<Contributions>::new();
    let scope = Scope::new("agent");
    let refused = layers.contribute(&scope, |_| Err::<(), _>("refused"));
    assert_eq!(refused, Err("refused"));
    assert_eq!(layers.scopes().count(), 0);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        layers.contribute(&scope, |_| panic!("no"))
    }));
    assert!(panicked.is_err());
    assert_eq!(layers.scopes().count(), 0);

    layers.contribute(&scope, |layer| layer.anonymous.push(1));
    let _ = layers.contribute(&scope, |_| Err::<(), _>("refused"));
    assert_eq!(
        layers.exact(scope.id()).map(|layer| layer.anonymous.len()),
        Some(1)
    );
}

/// T151, L52: a layer goes away with the last contribution of all its tables.
#[test]
fn t151_a_layer_lives_until_all_its_tables_are_empty() {
    let mut layers = Layers::<Contributions>::new();
    let scope = Scope::new("agent");
    let (named, anonymous) = layers.contribute(&scope, |layer| {
        (layer.named.insert("a", 1).unwrap(), layer.anonymous.push(1))
    });
    layers.withdraw(scope.id(), |layer| layer.named.remove(named));
    assert!(layers.exact(scope.id()).is_some());
    layers.withdraw(scope.id(), |layer| layer.anonymous.remove(anonymous));
    assert!(layers.exact(scope.id()).is_none());
}

/// T141, L48: disposing a scope takes back everything that was contributed through it, and only that.
#[test]
fn t141_a_disposed_scope_leaves_no_residue() {
    let layers = Arc::new(Mutex::new(Layers::<Contributions>::new()));
    let (one, two) = (Scope::new("one"), Scope::new("two"));
    for scope in [&one, &two] {
        for value in 0..3 {
            let id = layers
                .lock()
                .unwrap()
                .contribute(scope, |layer| layer.anonymous.push(value));
            let (layers, key) = (Arc::clone(&layers), scope.id());
            scope
                .fiber()
                .effect("value", move || {
                    layers
                        .lock()
                        .unwrap()
                        .withdraw(key, |layer| layer.anonymous.remove(id));
                })
                .unwrap();
        }
    }
    block_on(one.dispose());
    let layers = layers.lock().unwrap();
    assert_eq!(layers.scopes().collect::<Vec<_>>(), [two.id()]);
}
