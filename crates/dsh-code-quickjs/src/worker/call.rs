//! Calls from a program to the host: namespaces, pending promises, error classes.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use dsh_schema::Document;
use rquickjs::function::{Opt, This};
use rquickjs::object::{Accessor, Property};
use rquickjs::{Ctx, Function, Object, Result, String as Text, Value};

use super::arrival;
use super::realm::Realm;
use super::run::World;
use super::walker::{self, Refusal};
use crate::frame::Report;

const LOSSY_ARGUMENT: &str = "binding arguments must be lossless JSON";
const LOSSY_RESOLUTION: &str = "binding resolution must be lossless JSON";

/// Promises of calls that are watched at a time.
const MAX_WATCHED: usize = 1024;

/// A namespace as the boot frame declares it.
pub(super) struct Declaration {
    pub(super) global: String,
    pub(super) functions: Vec<String>,
    /// Class name and member property.
    pub(super) error_class: Option<(String, String)>,
}

/// One member of a namespace, shared by its calls.
struct Member<'js> {
    namespace: u32,
    function: u32,
    /// `tools.read`, for diagnostics.
    label: String,
    errors: Errors<'js>,
}

/// How failed calls of a member look.
struct Errors<'js> {
    /// The prototype of the namespace's class.
    prototype: Option<Object<'js>>,
    class: String,
    property: String,
    member: String,
}

struct Pending<'js> {
    resolve: Function<'js>,
    reject: Function<'js>,
    member: Rc<Member<'js>>,
}

type Untouched<'js> = HashMap<Value<'js>, (u64, Rc<Member<'js>>)>;

/// The calls of one run.
pub(super) struct Calls<'js> {
    pending: RefCell<HashMap<u64, Pending<'js>>>,
    last: Cell<u64>,
    /// Promises that nobody has looked at yet, by identity.
    untouched: Rc<RefCell<Untouched<'js>>>,
    /// Between a call's promise and `Promise.prototype`: its `constructor` is read by `await`, `then` and the
    /// combinators alike, and by nothing else, which is how a call is known to be awaited (D15).
    prototype: Object<'js>,
    /// Every member that the program can call.
    members: RefCell<Vec<Rc<Member<'js>>>>,
    scratch: RefCell<String>,
}

impl<'js> Calls<'js> {
    pub(super) fn new(cx: &Ctx<'js>, realm: &Rc<Realm<'js>>) -> Result<Self> {
        let untouched = Rc::<RefCell<Untouched<'js>>>::default();
        let prototype = Object::new_proto(cx.clone(), Some(&realm.promise_prototype))?;
        let realm = Rc::downgrade(realm);
        let seen = Rc::downgrade(&untouched);
        prototype.prop(
            "constructor",
            Accessor::new_get(move |this: This<Value<'js>>| {
                let entry = seen
                    .upgrade()
                    .and_then(|seen| seen.borrow_mut().remove(&this.0));
                drop(entry);
                realm.upgrade().map(|realm| realm.promise.clone())
            }),
        )?;
        Ok(Self {
            pending: RefCell::default(),
            last: Cell::new(0),
            untouched,
            prototype,
            members: RefCell::default(),
            scratch: RefCell::default(),
        })
    }

    /// Whether the host owes an answer.
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.borrow().is_empty()
    }

    /// The calls that were never awaited, in the order in which they were made.
    pub(super) fn unawaited(&self) -> Vec<String> {
        let untouched = self.untouched.borrow();
        let mut calls: Vec<_> = untouched.values().collect();
        calls.sort_unstable_by_key(|(id, _)| *id);
        super::stray::short(calls.iter().map(|(_, member)| &member.label))
    }

    fn make(
        &self,
        cx: &Ctx<'js>,
        world: &World<'js>,
        member: &Rc<Member<'js>>,
        argument: Value<'js>,
    ) -> Result<Value<'js>> {
        let (promise, resolve, reject) = cx.promise()?;
        let promise = promise.into_value();
        let is_absent = argument.is_undefined();
        let mut json = self.scratch.take();
        json.clear();
        let written = walker::write(&world.realm, argument, &mut json, world.argument_room());
        match written {
            Ok(()) => {
                let id = self.last.get() + 1;
                self.last.set(id);
                self.watch(&promise, id, member)?;
                self.pending.borrow_mut().insert(
                    id,
                    Pending {
                        resolve,
                        reject,
                        member: Rc::clone(member),
                    },
                );
                world.push(&Report::Call {
                    id,
                    namespace: member.namespace,
                    function: member.function,
                    argument: &json,
                });
            }
            Err(Refusal::Lossy | Refusal::TooLong) => {
                let hint = "; pass an arguments object such as `{}`";
                let hint = if is_absent { hint } else { "" };
                let error =
                    member
                        .errors
                        .make(cx, &world.realm, &format!("{LOSSY_ARGUMENT}{hint}"))?;
                reject.call::<_, Value<'_>>((error,))?;
            }
        }
        // A buffer that one huge argument grew is not kept.
        if json.capacity() <= 1 << 20 {
            self.scratch.replace(json);
        }
        Ok(promise)
    }

    /// Notices whether anybody looks at a call's promise.
    fn watch(&self, promise: &Value<'js>, id: u64, member: &Rc<Member<'js>>) -> Result<()> {
        // A promise that is watched stays in memory, so a flood of calls is not.
        if self.untouched.borrow().len() < MAX_WATCHED
            && let Some(object) = promise.as_object()
        {
            object.set_prototype(Some(&self.prototype))?;
            let entry = (id, Rc::clone(member));
            self.untouched.borrow_mut().insert(promise.clone(), entry);
        }
        Ok(())
    }

    /// Settles a call with what the host returned; `None` is what did not parse. An id that is unknown or settled is
    /// ignored (C238).
    pub(super) fn resolve(
        &self,
        cx: &Ctx<'js>,
        realm: &Realm<'js>,
        id: u64,
        value: Option<&Document>,
    ) -> Result<()> {
        let Some(call) = self.take(id) else {
            return Ok(());
        };
        let Some(value) = value else {
            return call.fail(cx, realm, LOSSY_RESOLUTION);
        };
        let value = arrival::build(cx, value)?;
        call.resolve.call::<_, Value<'_>>((value,)).map(drop)
    }

    /// Settles a call with the host's refusal.
    pub(super) fn reject(
        &self,
        cx: &Ctx<'js>,
        realm: &Realm<'js>,
        id: u64,
        message: &str,
    ) -> Result<()> {
        self.take(id)
            .map_or(Ok(()), |call| call.fail(cx, realm, message))
    }

    fn take(&self, id: u64) -> Option<Pending<'js>> {
        self.pending.borrow_mut().remove(&id)
    }
}

impl<'js> Pending<'js> {
    fn fail(&self, cx: &Ctx<'js>, realm: &Realm<'js>, message: &str) -> Result<()> {
        let error = self.member.errors.make(cx, realm, message)?;
        self.reject.call::<_, Value<'_>>((error,)).map(drop)
    }
}

impl<'js> Errors<'js> {
    /// The error of a failed call. Nothing of the program runs but a `prepareStackTrace` that it installed (C235, C241).
    fn make(&self, cx: &Ctx<'js>, realm: &Realm<'js>, message: &str) -> Result<Value<'js>> {
        let text = Text::from_str(cx.clone(), message)?;
        let prototype = self.prototype.clone();
        let error: Object<'_> = match realm.call("error", (text.clone(), prototype.clone())) {
            Ok(error) => error,
            // That hook threw: an object of the right class does as well.
            Err(_) => {
                drop(cx.catch());
                let error = Object::new_proto(cx.clone(), prototype.as_ref())?;
                error.prop("message", Property::from(text).writable().configurable())?;
                error
            }
        };
        if self.prototype.is_some() {
            error.prop(
                "name",
                Property::from(self.class.as_str())
                    .writable()
                    .configurable(),
            )?;
            let member = Property::from(self.member.as_str())
                .writable()
                .enumerable()
                .configurable();
            error.prop(self.property.as_str(), member)?;
        }
        Ok(error.into_value())
    }
}

/// The values of a namespace in scope: its object, and its error class if it has one.
pub(super) fn namespace<'js>(
    cx: &Ctx<'js>,
    world: &Rc<World<'js>>,
    index: u32,
    declaration: &Declaration,
) -> Result<(Object<'js>, Option<Value<'js>>)> {
    let class = match &declaration.error_class {
        None => None,
        Some((name, _)) => {
            let class: Object<'_> = world.realm.call("classOf", (name.as_str(),))?;
            let prototype: Object<'_> = class.get("prototype")?;
            Some((class, prototype))
        }
    };
    let object = Object::new_proto(cx.clone(), None)?;
    for (function, name) in (0_u32..).zip(&declaration.functions) {
        let (class_name, property) = declaration.error_class.clone().unwrap_or_default();
        let member = Rc::new(Member {
            namespace: index,
            function,
            label: format!("{}.{name}", declaration.global),
            errors: Errors {
                prototype: class.as_ref().map(|(_, prototype)| prototype.clone()),
                class: class_name,
                property,
                member: name.clone(),
            },
        });
        let (owner, callee) = (Rc::downgrade(world), Rc::downgrade(&member));
        world.calls.members.borrow_mut().push(member);
        let call = Function::new(
            cx.clone(),
            move |cx: Ctx<'js>, argument: Opt<Value<'js>>| {
                let (Some(world), Some(member)) = (owner.upgrade(), callee.upgrade()) else {
                    return Ok(Value::new_undefined(cx));
                };
                let argument = argument
                    .0
                    .unwrap_or_else(|| Value::new_undefined(cx.clone()));
                world.calls.make(&cx, &world, &member, argument)
            },
        )?;
        // Neither writable nor configurable (C247).
        object.prop(
            name.as_str(),
            Property::from(call.with_name(name)?).enumerable(),
        )?;
    }
    Ok((object, class.map(|(class, _)| class.into_value())))
}
