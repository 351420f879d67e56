//! `console`: five methods, each of which appends one log entry (C208, C209).

use std::rc::Rc;

use rquickjs::function::Rest;
use rquickjs::object::Property;
use rquickjs::{Ctx, Function, Object, Result, Value};

use super::inspect;
use super::run::World;

const METHODS: [&str; 5] = ["log", "info", "warn", "error", "debug"];

/// The object that a program sees as `console`.
pub(super) fn object<'js>(cx: &Ctx<'js>, world: &Rc<World<'js>>) -> Result<Object<'js>> {
    let console = Object::new_proto(cx.clone(), None)?;
    for name in METHODS {
        let world = Rc::downgrade(world);
        let method = Function::new(cx.clone(), move |values: Rest<Value<'js>>| {
            let Some(world) = world.upgrade() else {
                return;
            };
            // The budget keeps a huge value from being built just to be cut.
            let budget = usize::try_from(world.log_room()).unwrap_or(usize::MAX);
            let line = inspect::line(&world.realm, &values, budget, &|| world.tick());
            world.log(&line);
        })?;
        console.prop(
            name,
            Property::from(method.with_name(name)?)
                .writable()
                .enumerable()
                .configurable(),
        )?;
    }
    Ok(console)
}
