//! What a model sees is a function of the visible set: the same set gives the same bytes, in any order of registration
//! (T85, T89, T116, invariant 8).

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod rig;

use dsh_context::Scope;
use dsh_schema::Document;
use dsh_schema::spec::{self, ParameterSpec};
use dsh_tools::{Mode, Restriction, Tool};
use proptest::prelude::*;
use rig::{Rig, named};

/// A tool whose description and schemas depend on its number, with names that do not sort like numbers.
fn numbered(number: usize) -> Tool {
    let names = [
        "zeta",
        "alpha",
        "Beta",
        "a_1",
        "a-1",
        "__proto__",
        "10",
        "9",
        "ünïcödé",
        "read file",
        "class",
        "default",
    ];
    let parameters = match number % 3 {
        0 => ParameterSpec::new(),
        1 => ParameterSpec::new()
            .required("path", spec::string())
            .optional("limit", spec::integer()),
        _ => ParameterSpec::new().optional("list", spec::array(spec::number())),
    };
    Tool::new(
        names[number],
        format!("Does number {number}.\nIn two lines."),
    )
    .parameters(parameters)
    .returns(spec::object().closed().required("n", spec::integer()))
    .run(|_, _| async { Ok(Document::null()) })
    .unwrap()
}

const COUNT: usize = 12;

/// Everything model-facing that a view makes.
fn texts(rig: &Rig, scope: Option<&Scope>) -> [String; 4] {
    let view = rig.tools.view(scope);
    let known: Vec<_> = rig
        .tools
        .known_names(scope)
        .iter()
        .map(ToString::to_string)
        .collect();
    [
        view.to_json().to_string(),
        view.to_typescript().to_string(),
        view.to_python().to_string(),
        format!("{known:?} {:?}", view.names()),
    ]
}

/// Registers the tools in this order: every third in the scope, the others globally; some in one update.
fn world(order: &[usize], mode: Mode, in_updates: bool) -> (Rig, Scope) {
    let rig = Rig::new();
    let scope = Scope::new("agent");
    rig.global().mount_transport(named("run_code")).unwrap();
    rig.tools.scoped(&scope).present_as(mode).unwrap();
    let (global, scoped) = (rig.global(), rig.tools.scoped(&scope));
    for pair in order.chunks(2) {
        if in_updates {
            rig.tools
                .update(|update| {
                    pair.iter().try_for_each(|number| match number % 3 {
                        2 => update.register(&scoped, numbered(*number)),
                        _ => update.register(&global, numbered(*number)),
                    })
                })
                .unwrap();
        } else {
            for number in pair {
                match number % 3 {
                    2 => scoped.register(numbered(*number)).unwrap(),
                    _ => global.register(numbered(*number)).unwrap(),
                };
            }
        }
    }
    (rig, scope)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_order_of_registration_gives_the_same_bytes(
        order in Just((0..COUNT).collect::<Vec<_>>()).prop_shuffle(),
        churn in prop::collection::vec(0..COUNT, 0..6),
        mode in prop::sample::select(vec![Mode::Native, Mode::Code, Mode::Both]),
        in_updates in any::<bool>(),
    ) {
        let sorted: Vec<_> = (0..COUNT).collect();
        let (reference, reference_scope) = world(&sorted, mode, false);
        let (rig, scope) = world(&order, mode, in_updates);
        // Comings and goings that change nothing in the end, with reads in between.
        for number in churn {
            let restriction = rig.tools.scoped(&scope).restrict(Restriction::allow(["zeta"])).unwrap();
            let _between = texts(&rig, Some(&scope));
            let other = Scope::new("other");
            rig.tools.scoped(&other).register(numbered(number)).unwrap().dispose();
            restriction.dispose();
        }
        prop_assert_eq!(texts(&rig, Some(&scope)), texts(&reference, Some(&reference_scope)));
        prop_assert_eq!(texts(&rig, None), texts(&reference, None));
        prop_assert_eq!(texts(&rig, Some(&scope)), texts(&rig, Some(&scope)));

        // T85: `schemas` keeps the order of registration, global before the scope's own.
        let expected: Vec<_> = order.iter().filter(|number| *number % 3 != 2)
            .chain(order.iter().filter(|number| *number % 3 == 2))
            .map(|number| numbered(*number).name().to_owned())
            .chain(mode.has_transport().then(|| "run_code".to_owned()))
            .collect();
        let schemas = rig.tools.schemas(Some(&scope));
        prop_assert_eq!(schemas.iter().map(|schema| schema.name().to_owned()).collect::<Vec<_>>(), expected);
    }
}

/// T116: what is announced in each mode; the declarations are of the tools that programs call, in every mode.
#[test]
fn what_each_mode_announces() {
    let names = |json: &str| -> Vec<String> {
        let list: serde_json::Value = serde_json::from_str(json).unwrap();
        list.as_array()
            .unwrap()
            .iter()
            .map(|schema| schema["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let order: Vec<_> = (0..4).collect();
    let mut declarations = Vec::new();
    for (mode, expected) in [
        (Mode::Native, vec!["Beta", "a_1", "alpha", "zeta"]),
        (Mode::Code, vec!["run_code"]),
        (Mode::Both, vec!["Beta", "a_1", "alpha", "run_code", "zeta"]),
    ] {
        let (rig, scope) = world(&order, mode, false);
        let view = rig.tools.view(Some(&scope));
        assert_eq!(names(&view.to_json()), expected);
        assert_eq!(view.mode(), mode);
        assert_eq!(view.transport().is_some(), mode.has_transport());
        declarations.push(view.to_typescript());
    }
    assert!(
        declarations
            .iter()
            .all(|text| *text == declarations[0] && text.contains("alpha"))
    );
    assert!(!declarations[0].contains("run_code"));
}
