//! Both ways of resolving agree with each other and, for what lies inside, with the kernel.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::fs;
use std::os::unix::fs::symlink;

use dsh_workspace::{Workspace, never};
use proptest::prelude::*;

/// One thing to create: where, and what.
#[derive(Debug, Clone)]
enum Thing {
    Directory,
    File,
    Link {
        absolute: bool,
        steps: Vec<&'static str>,
    },
}

fn steps() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(
        prop::sample::select(vec!["a", "b", "c", "..", "root"]),
        1..5,
    )
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        2 => Just(Thing::Directory),
        1 => Just(Thing::File),
        3 => (any::<bool>(), steps()).prop_map(|(absolute, steps)| Thing::Link { absolute, steps }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]
    #[test]
    fn resolution_is_the_kernels_confined(
        things in prop::collection::vec((steps(), thing()), 0..10),
        paths in prop::collection::vec(steps(), 1..12),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let root = base.join("root");
        fs::create_dir(&root).unwrap();
        for (place, thing) in things {
            let place: Vec<_> = place.into_iter().filter(|step| *step != "..").collect();
            let path = root.join(place.join("/"));
            // Whatever does not fit what is already there is left out.
            let _ = match thing {
                Thing::Directory => fs::create_dir(path),
                Thing::File => fs::File::create_new(path).map(drop),
                Thing::Link { absolute: false, steps } => symlink(steps.join("/"), path),
                Thing::Link { absolute: true, steps } => symlink(root.join(steps.join("/")), path),
            };
        }
        let quick = Workspace::open(&root).unwrap();
        let plain = quick.clone().without_openat2();
        for path in paths {
            let path = path.join("/");
            let answers = [&quick, &plain].map(|workspace| {
                workspace.resolve(&path).map_err(|error| error.to_string()).map(|target| {
                    let found = workspace.stat(&target, &never).unwrap().is_some();
                    (target.key().to_owned(), target.display().to_owned(), found)
                })
            });
            prop_assert_eq!(&answers[0], &answers[1]);
            let found = answers[0].clone().ok().filter(|answer| answer.2).map(|answer| answer.0);
            let kernel = fs::canonicalize(root.join(&path)).ok();
            prop_assert_eq!(found, kernel.filter(|path| path.starts_with(&root)), "{}", path);
        }
    }
}
